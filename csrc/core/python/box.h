// Values of the core as Python objects and back.
#pragma once

#include "../registry.h"

namespace mt {

// Converts what was given for argument `a` of a function of torch; false if it does not fit. Lists live in the call's
// arena. Operators called as such convert by operator_values.h.
bool unbox(PyObject* o, const Argument& a, Call& c, Value* v);
bool unbox_int(PyObject* o, int64_t* v);
// A Python int of 64 bits, with or without a sign; OverflowError if it has more.
Value value_of_integer(PyObject* o);
// A bool for an argument of a function that no schema describes; TypeError for anything else.
bool unbox_bool(PyObject* o, const char* function, const char* argument);
// An item of the list `a`: a number that no int64 holds is a TypeError that names the argument.
bool unbox_size(PyObject* o, int64_t* to, const Argument& a, Call& c);
// Fills `v` from a Python result of a kernel; the reference is stolen.
void unbox_result(Value& v, PyObject* o, const Argument& spec, const Operator& op);

PyObject* box(const Value& v);                 // new reference
PyObject* box_argument(const Call& c, int i);  // new reference; the caller's own object where there is one
// Whether argument i is its default, as a caller who left it out has it.
bool left_out(const Call& c, int i);
PyObject* box_results(Call& c);  // steals c.rets; tuple (or namedtuple) unless there is one result

// Ints and what is a number by the index protocol (NumPy's scalars among them); not tensors.
bool index_like(PyObject* o);
// By its name only: NumPy need not be importable to ask.
bool numpy_named(PyObject* o);

}  // namespace mt
