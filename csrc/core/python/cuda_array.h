// CUDA's array interface: a dictionary by which libraries without DLPack hand arrays on GPUs over.
#pragma once

#include "../tensor.h"
#include "box.h"

namespace mt {

bool has_cuda_array(PyObject* o);
// A tensor over the memory of an object with `__cuda_array_interface__`, which it keeps alive.
TensorRef tensor_from_cuda_array(PyObject* o);

}  // namespace mt
