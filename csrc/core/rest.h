// The "..." of a schema: arguments and results of whatever number and type, behind those that the schema names.
//
// The core has one more argument for them, called "...": its value lists the tensors among them, which take part in
// dispatch as those of a Tensor[] do, and its source is the tuple of all. One more result holds the list of the rest.
#pragma once

#include "registry.h"

namespace mt {

inline bool is_rest(const Argument& a) { return a.name == "..."; }
inline bool has_rest(const Operator& op) { return op.schema.vararg; }
inline bool gives_rest(const Operator& op) { return op.schema.varret; }

// Adds the argument and the result to a schema that says "...".
void add_rest(Schema& s);
// Fills the argument from objects, of which `c` keeps a reference.
void bind_rest(PyObject* const* given, Py_ssize_t n, Call& c);
// A tuple of the arguments behind the schema's: new reference. Tensors are the ones in the value, which the core may
// have put in the place of others.
PyObject* rest_of(const Call& c);
// Takes what a kernel gave: one object for one result, a tuple or list for several, None for none.
void take_with_rest(Call& c, PyObject* result);
// The results as a caller sees them: None, the only one, or a tuple. Takes the references.
PyObject* box_with_rest(Call& c);

}  // namespace mt
