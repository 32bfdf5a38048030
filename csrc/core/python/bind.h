// The argument binder: Python arguments against a compiled schema.
#pragma once

#include "box.h"

namespace mt {

struct CallInput {
    PyObject* const* args;
    Py_ssize_t nargs;
    PyObject* kwnames;  // tuple or null
};

// Binds into c.args / c.source. False if the arguments do not fit; then, with `why`, says why.
bool bind(const Operator& op, const CallInput& in, BindMode mode, Call& c, std::string* why);
std::string python_signature(const Operator& op);

// Runs the first of the overloads that fits. New reference, or null with the Python exception set.
PyObject* call_overloads(const char* name, Operator* const* ops, size_t n, const CallInput& in, BindMode mode);

// For methods outside the operator table: true if a __torch_function__ or a mode took the call; `result` is then what
// it gave, null with the Python exception set if it raised.
bool ask_function_handler(const char* method, PyObject* const* args, Py_ssize_t n, PyObject** result);

}  // namespace mt
