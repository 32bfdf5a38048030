// Subscripts and exchange with other Python objects: what the tensor type calls.
#pragma once

#include "types.h"

namespace mt {

PyObject* tensor_getitem(PyObject* self, PyObject* index);
int tensor_setitem(PyObject* self, PyObject* index, PyObject* value);
int tensor_bool(PyObject* o);
PyObject* tensor_int(PyObject* o);
PyObject* tensor_index(PyObject* o);
extern PyMethodDef interop_methods[];  // methods of Tensor: numpy, tolist, item, __dlpack__, ...

}  // namespace mt
