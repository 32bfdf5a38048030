// The argument binder: Python arguments against a compiled schema.
#pragma once

#include "box.h"

namespace mt {

struct CallInput {
    PyObject* const* args;
    Py_ssize_t nargs;
    PyObject* kwnames;    // tuple or null
    bool method = false;  // args[0] is the tensor before the dot, which errors do not count
};

// Binds a call of a function of torch, as torch.add(...) or tensor.add(...), into c.args / c.source: `input`, `axis`
// and others are further names of arguments, sizes may be given one by one. False if the arguments do not fit; then,
// with `why`, says why.
bool bind(const Operator& op, const CallInput& in, Call& c, std::string* why);
// Binds a call of an operator, as torch.ops.aten.add(...): exactly the schema's names.
bool bind_operator(const Operator& op, const CallInput& in, Call& c, std::string& why);

// Run the first of the overloads that fits. New reference, or null with the Python exception set: TypeError for a
// function, RuntimeError for an operator.
PyObject* call_overloads(const char* name, Operator* const* ops, size_t n, const CallInput& in);
// Asked with (name, is a method, *args, **kwargs) before a call that fits no overload is refused; NotImplemented:
// refuse.
PyObject* set_deprecated_forms(PyObject*, PyObject* handler);
PyObject* call_operators(Operator* const* ops, size_t n, const CallInput& in);

// A Python number as the tensor that stands for it in promotion; null, with the exception that is set kept, if `o` is
// none.
PyObject* number_tensor(PyObject* o);

void check_inference(const Call& c);  // no writing to inference tensors outside of inference mode
bool same_name(PyObject* a, PyObject* b);

// For operators as `torch.ops` has them: a call that failed, with an object among its arguments that is no tensor but
// has a __torch_function__ (torch.fx.Proxy), is its to answer. Null, with the error as it was, if there is none.
PyObject* ask_after_failure(PyObject* function, PyObject* const* args, Py_ssize_t n, PyObject* kwnames);
// The same before the call, of classes and modes: true if one took it; `result` is then what it gave, null if it
// raised.
bool ask_overrides(PyObject* function, PyObject* const* args, Py_ssize_t n, PyObject* kwnames, PyObject** result);
// Whether a mode is active or the class of an argument may take calls over: a look at the types, to be followed up.
bool may_be_overridden(PyObject* const* args, Py_ssize_t n);
// For methods outside the operator table: true if a __torch_function__ or a mode took the call; `result` is then what
// it gave, null with the Python exception set if it raised.
bool ask_function_handler(const char* method, PyObject* const* args, Py_ssize_t n, PyObject** result);
// Whether somebody may want to answer for an attribute of a tensor; then the same for its getter, setter or deleter
// (`what`).
bool asks_for_attributes(PyObject* tensor);
bool ask_attribute(const char* name, const char* what, PyObject* tensor, PyObject* value, PyObject** result);
// The same for a method that only tells something of the tensor, `torch.Tensor.<name>`.
bool ask_method(const char* name, PyObject* tensor, PyObject* const* args, Py_ssize_t n, PyObject* kwnames,
                PyObject** result);

}  // namespace mt
