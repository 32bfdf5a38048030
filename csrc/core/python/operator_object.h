// The Python object of an operator.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace mt {

struct Operator;
Operator* operator_of(PyObject* handle);  // null if it is no operator

}  // namespace mt
