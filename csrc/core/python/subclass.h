// Static methods of TensorBase that make tensors of a user's class.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace mt {

PyObject* make_subclass(PyObject*, PyObject* args, PyObject* kw);
PyObject* make_wrapper_subclass(PyObject*, PyObject* args);

}  // namespace mt
