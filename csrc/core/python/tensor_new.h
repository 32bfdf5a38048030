// Tensors from Python data: nested sequences, buffers, NumPy arrays, numbers.
#pragma once

#include "types.h"

namespace mt {

extern PyMethodDef
    tensor_new_methods[];  // tensor, as_tensor, asarray, from_numpy, frombuffer, from_dlpack, _legacy_new

// What a tensor made from `data` gets: `dtype` Undefined infers it from the data.
TensorRef tensor_from_data(PyObject* data, DType dtype, bool copy_numpy = true);
// The tensor that shares a storage's memory; nothing for what is no storage. A typed one is refused unless it is of
// `dtype`, or of the default one.
TensorRef tensor_over_storage(PyObject* o, DType dtype);
// A tensor made of data, as modes that watch dispatch (capture, functionalization) want it: they see it through an
// operator.
TensorRef announced(TensorRef t);
// A 0-dim tensor from a Python number or NumPy scalar; false if `o` is neither.
bool number_from_python(PyObject* o, Value* value);
// The element type and a view of an object that exports NumPy's buffer; null without an exception if it is no ndarray.
bool numpy_array_check(PyObject* o);
bool numpy_scalar_check(PyObject* o);
TensorRef tensor_from_numpy(PyObject* array, bool warn_not_writable);
void release_buffer(void* buffer);  // deleter of a storage over a Py_buffer, on any thread
// The tensor of a factory that was told pin_memory=True, for the one that it made, which is let go; null with an
// exception.
PyObject* pinned_when_made(PyObject* made);
PyObject* new_tensor_method(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames);
PyObject* tensor_to_numpy(const Tensor& t);
PyObject* item_of(const Tensor& t, int64_t element_offset);  // the element as a Python number

// Capsules of the DLPack protocol.
std::pair<int32_t, int32_t> dlpack_number(Device d);  // (type, index) that DLPack has for a device
void check_exportable(const Tensor& t);               // BufferError if its memory cannot be handed over
PyObject* tensor_to_dlpack(Tensor& t, bool versioned);
TensorRef tensor_from_dlpack(PyObject* capsule);
PyObject* dlpack_exchange_api();  // a capsule of C functions, which other libraries look for on the class

// Whether a warning that comes once in a process is to come now; torch.set_warn_always makes it come each time.
bool warning_is_due(const char* what);

}  // namespace mt
