// Quantized tensors: memory with whole numbers, and an object of Python's (the quantizer) that says what they stand
// for. Views are made by the native kernels and share the quantizer; other operators are written in Python
// (mindtorch_v2/_behaviours/quantized) on the whole numbers.
#include "../dtype.h"
#include "../tensor.h"
#include "types.h"

namespace mt {
namespace {

// The dtype of the whole numbers; several of those with fewer than eight bits lie in a byte.
DType plain_dtype(DType t) {
    switch (t) {
        case DType::QInt8:
            return DType::Int8;
        case DType::QInt32:
            return DType::Int32;
        default:
            return DType::UInt8;
    }
}
int64_t to_a_byte(DType t) { return t == DType::QUInt4x2 ? 2 : t == DType::QUInt2x4 ? 4 : 1; }

// _make_quantized(whole, dtype, quantizer, sizes=None): a tensor over the memory of `whole`, of the sizes of `whole`
// but where several numbers lie in a byte.
PyObject* make_quantized(PyObject*, PyObject* args) {
    PyObject *whole, *dtype, *quantizer, *size = Py_None;
    if (!PyArg_ParseTuple(args, "OOO|O:_make_quantized", &whole, &dtype, &quantizer, &size)) return nullptr;
    return guarded<PyObject*>(nullptr, [&] {
        MT_CHECK_TYPE(tensor_check(whole), "_make_quantized expects a Tensor");
        const Tensor& w = as_tensor(whole);
        const DType t = dtype_from_python(dtype);
        MT_CHECK(is_quantized(t) && plain_dtype(t) == w.dtype, "_make_quantized: whole numbers of ",
                 dtype_name(w.dtype), " for ", dtype_name(t));
        MT_CHECK(quantizer != Py_None, "_make_quantized expects a quantizer");
        TensorRef made;
        if (size == Py_None) {
            MT_CHECK(to_a_byte(t) == 1, "_make_quantized expects the sizes of a tensor of ", dtype_name(t));
            made = from_storage(w.storage, w.offset, w.sizes(), w.strides(), t);
        } else {
            MT_CHECK_TYPE(PyTuple_Check(size), "_make_quantized expects a tuple of sizes");
            Dims sizes;
            for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(size); i++) {
                const int64_t n = PyLong_AsLongLong(PyTuple_GET_ITEM(size, i));
                if (n == -1 && PyErr_Occurred()) throw PythonError();
                sizes.push_back(n);
            }
            MT_CHECK((numel_of(sizes) + to_a_byte(t) - 1) / to_a_byte(t) <= w.numel() && w.is_contiguous(),
                     "_make_quantized: ", w.numel(), " bytes for sizes ", static_cast<IntSpan>(sizes));
            made = from_storage(w.storage, w.offset, sizes, contiguous_strides(sizes), t);
        }
        made->device = w.device;
        made->quantizer = Py_NewRef(quantizer);
        made->keys = quantized_keys(made->keys);
        return made.release()->py();
    });
}

// _quantizer(tensor): the quantizer of a quantized tensor; None for others.
PyObject* quantizer_of(PyObject*, PyObject* o) {
    if (!tensor_check(o) || !as_tensor(o).quantizer) Py_RETURN_NONE;
    return Py_NewRef(as_tensor(o).quantizer);
}

// _set_quantizer(tensor, quantizer): what the whole numbers of a quantized tensor stand for from now on.
PyObject* set_quantizer(PyObject*, PyObject* args) {
    PyObject *o, *quantizer;
    if (!PyArg_ParseTuple(args, "OO:_set_quantizer", &o, &quantizer)) return nullptr;
    if (!tensor_check(o) || !as_tensor(o).quantizer || quantizer == Py_None) {
        PyErr_SetString(PyExc_TypeError, "_set_quantizer expects a quantized Tensor and a quantizer");
        return nullptr;
    }
    Py_INCREF(quantizer);
    Py_SETREF(as_tensor(o).quantizer, quantizer);
    return Py_NewRef(o);
}

// _whole(tensor): the whole numbers of a quantized tensor, over its memory; of those with several to a byte the bytes.
PyObject* whole(PyObject*, PyObject* o) {
    return guarded<PyObject*>(nullptr, [&] {
        MT_CHECK_TYPE(tensor_check(o) && as_tensor(o).quantizer, "_whole expects a quantized Tensor");
        const Tensor& t = as_tensor(o);
        const int64_t each = to_a_byte(t.dtype);
        TensorRef made;
        if (each == 1) {
            made = from_storage(t.storage, t.offset, t.sizes(), t.strides(), plain_dtype(t.dtype));
        } else {
            const int64_t bytes[] = {(t.numel() + each - 1) / each}, step[] = {1};
            made = from_storage(t.storage, t.offset / each, IntSpan(bytes, 1), IntSpan(step, 1), DType::UInt8);
        }
        made->device = t.device;
        return made.release()->py();
    });
}

PyMethodDef functions[] = {{"_make_quantized", make_quantized, METH_VARARGS, nullptr},
                           {"_quantizer", quantizer_of, METH_O, nullptr},
                           {"_set_quantizer", set_quantizer, METH_VARARGS, nullptr},
                           {"_whole", whole, METH_O, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool init_quantized_types(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace mt
