// Operators whose rows are read when the first of them is asked for.
#pragma once

#include "registry.h"

namespace mt {

// `reader` defines them when it is called, and says whether there may be more than before; null where all are defined.
void set_late_operators(PyObject* reader);
// Defines them if that has not been done; whether a name that was not found is worth another look.
bool read_late_operators();

}  // namespace mt
