// Static methods of TensorBase that make tensors of a user's class.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "../tensor.h"

namespace mt {

// Bits of Tensor::flags beside those of TensorFlag: the class is asked about its strides; about its sizes as well.
constexpr uint8_t kAsksStrides = 64;
constexpr uint8_t kAsksSizes = 128;

// What the class of a tensor answers about its "sizes", "strides", "contiguity" and so on, by its __torch_dispatch__;
// null where it leaves that to the tensor.
PyObject* asked(PyObject* tensor, const char* what, PyObject* more = nullptr);

PyObject* make_subclass(PyObject*, PyObject* args, PyObject* kw);
PyObject* make_wrapper_subclass(PyObject*, PyObject* args);
PyObject* keep_class(PyObject* tensor, PyObject*);
PyObject* ask_class(PyObject*, PyObject* args);      // _ask_class(tensor, "sizes" or "strides")
PyObject* set_asker(PyObject*, PyObject* function);  // _set_asker: function(tensor, what, more or None)

}  // namespace mt
