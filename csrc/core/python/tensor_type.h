// What the files of _C.TensorBase share.
#pragma once

#include <Python.h>

namespace mt {

extern PyGetSetDef tensor_attributes[];
PyObject* operator_attribute(PyObject*, PyObject* args);  // (name, get, set or None, doc): a descriptor

// requires_grad = v: -1 with the exception set if that cannot be. `refusal`: what to say of dtypes without gradients;
// the attribute and the method say it differently.
int change_requires_grad(PyObject* tensor, PyObject* v, const char* refusal);

}  // namespace mt
