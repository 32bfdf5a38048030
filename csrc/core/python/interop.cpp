// Exchange with NumPy through the buffer protocol, and the Tensor methods that hand data to Python.
#include <string>
#include <vector>

#include "../autograd.h"
#include "../bounds.h"
#include "../foreign.h"
#include "../gil.h"
#include "../lazy_views.h"
#include "../sparse.h"
#include "../typed_kernel.h"
#include "box.h"
#include "deferred.h"
#include "indexing.h"
#include "offered_methods.h"
#include "operator_call.h"
#include "tensor_new.h"

namespace mt {

bool warning_is_due(const char* what) {
    PyObject* module = PyImport_ImportModule("mindtorch_v2._core.warn_once");
    PyObject* due = module ? PyObject_CallMethod(module, "is_due", "s", what) : nullptr;
    Py_XDECREF(module);
    if (!due) throw PythonError();
    bool is = due == Py_True;
    Py_DECREF(due);
    return is;
}

namespace {

OperatorName op_local_scalar("aten::_local_scalar_dense"), op_detach("aten::detach"), op_to_copy("aten::_to_copy"),
    op_resolve_conj("aten::resolve_conj");

// ---- NumPy's types, without importing NumPy: an object cannot be an array before somebody has imported it ----

PyTypeObject *g_ndarray, *g_generic;

bool numpy_types() {
    if (g_ndarray) return true;
    static PyObject* name = PyUnicode_InternFromString("numpy");
    PyObject* numpy = PyImport_GetModule(name);
    if (!numpy) {
        PyErr_Clear();
        return false;
    }
    PyObject* array = PyObject_GetAttrString(numpy, "ndarray");
    PyObject* generic = array ? PyObject_GetAttrString(numpy, "generic") : nullptr;
    Py_DECREF(numpy);
    if (!generic) {
        PyErr_Clear();
        Py_XDECREF(array);
        return false;
    }
    g_generic = reinterpret_cast<PyTypeObject*>(generic);
    g_ndarray = reinterpret_cast<PyTypeObject*>(array);
    return true;
}

const char* buffer_format(DType t) {
    switch (t) {
        case DType::Bool:
            return "?";
        case DType::UInt8:
            return "B";
        case DType::Int8:
            return "b";
        case DType::Int16:
            return "h";
        case DType::UInt16:
            return "H";
        case DType::Int32:
            return "i";
        case DType::UInt32:
            return "I";
        case DType::Int64:
            return "l";
        case DType::UInt64:
            return "L";
        case DType::Float16:
            return "e";
        case DType::Float32:
            return "f";
        case DType::Float64:
            return "d";
        case DType::Complex64:
            return "Zf";
        case DType::Complex128:
            return "Zd";
        default:
            return nullptr;
    }
}

DType dtype_of_format(const char* format, int64_t size) {
    if (format[0] == '@' || format[0] == '=') format++;
    if (format[0] == '<') format++;  // this machine's order
    switch (format[0]) {
        case '?':
            return DType::Bool;
        case 'b':
        case 'h':
        case 'i':
        case 'l':
        case 'q':
            return size == 1 ? DType::Int8 : size == 2 ? DType::Int16 : size == 4 ? DType::Int32 : DType::Int64;
        case 'B':
        case 'H':
        case 'I':
        case 'L':
        case 'Q':
            return size == 1 ? DType::UInt8 : size == 2 ? DType::UInt16 : size == 4 ? DType::UInt32 : DType::UInt64;
        case 'e':
            return DType::Float16;
        case 'f':
            return DType::Float32;
        case 'd':
            return DType::Float64;
        case 'Z':
            return format[1] == 'f' ? DType::Complex64 : format[1] == 'd' ? DType::Complex128 : DType::Undefined;
        default:
            return DType::Undefined;
    }
}

[[noreturn]] void unsupported_array(PyObject* array) {
    PyErr_Clear();
    std::string name = "?";
    PyObject* dtype = PyObject_GetAttrString(array, "dtype");
    PyObject* type = dtype ? PyObject_GetAttrString(dtype, "type") : nullptr;
    if (type) name = reinterpret_cast<PyTypeObject*>(type)->tp_name;
    Py_XDECREF(type);
    Py_XDECREF(dtype);
    PyErr_Clear();
    MT_THROW(Type, "can't convert np.ndarray of type ", name,
             ". The only supported types are: float64, float32, float16, complex64, complex128, int64, int32, int16, "
             "int8, uint64, uint32, uint16, uint8, "
             "and bool.");
}

// ---- a tensor as a buffer: what NumPy makes its array from ----

struct Exporter {
    PyObject_HEAD PyObject* tensor;
    Storage* storage;
};

int exporter_getbuffer(PyObject* o, Py_buffer* view, int) {
    Tensor& t = as_tensor(reinterpret_cast<Exporter*>(o)->tensor);
    int64_t n = t.dim();
    Py_ssize_t* dims = new (std::nothrow) Py_ssize_t[static_cast<size_t>(2 * n + 1)];
    if (!dims) {
        PyErr_NoMemory();
        return -1;
    }
    for (int64_t d = 0; d < n; d++) {
        dims[d] = t.size(d);
        dims[n + d] = t.stride(d) * t.itemsize();
    }
    static char nothing[16];
    view->buf = t.numel() ? t.raw() : nothing;
    view->obj = Py_NewRef(o);
    view->len = t.numel() * t.itemsize();
    view->readonly = 0;
    view->itemsize = t.itemsize();
    view->format = const_cast<char*>(buffer_format(t.dtype));
    view->ndim = static_cast<int>(n);
    view->shape = dims;
    view->strides = dims + n;
    view->suboffsets = nullptr;
    view->internal = dims;
    return 0;
}
void exporter_releasebuffer(PyObject*, Py_buffer* view) { delete[] static_cast<Py_ssize_t*>(view->internal); }
void exporter_dealloc(PyObject* o) {
    forget_export(reinterpret_cast<Exporter*>(o)->storage);
    Py_DECREF(reinterpret_cast<Exporter*>(o)->tensor);
    PyObject_Free(o);
}
PyBufferProcs exporter_buffer = {exporter_getbuffer, exporter_releasebuffer};

PyTypeObject* exporter_type() {
    static PyTypeObject type = [] {
        PyTypeObject t = {PyVarObject_HEAD_INIT(nullptr, 0)};
        t.tp_name = "mindtorch_v2._C._TensorBuffer";
        t.tp_basicsize = sizeof(Exporter);
        t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
        t.tp_dealloc = exporter_dealloc;
        t.tp_as_buffer = &exporter_buffer;
        return t;
    }();
    if (!(type.tp_flags & Py_TPFLAGS_READY) && PyType_Ready(&type) < 0) throw PythonError();
    return &type;
}

// The buffer protocol normalises the strides of an array without elements; the array itself tells them.
void own_strides(PyObject* array, int64_t itemsize, Dims& strides) {
    PyObject* own = PyObject_GetAttrString(array, "strides");
    if (!own) throw PythonError();
    for (Py_ssize_t d = 0; PyTuple_Check(own) && d < PyTuple_GET_SIZE(own) && d < strides.size(); d++)
        strides[d] = std::max<int64_t>(0, PyLong_AsLongLong(PyTuple_GET_ITEM(own, d)) / itemsize);
    Py_DECREF(own);
}

}  // namespace

void release_buffer(void* context) {
    HoldGil held;
    Py_buffer* b = static_cast<Py_buffer*>(context);
    PyBuffer_Release(b);
    delete b;
}

bool numpy_array_check(PyObject* o) { return numpy_types() && PyObject_TypeCheck(o, g_ndarray); }
bool numpy_scalar_check(PyObject* o) {
    PyTypeObject* t = Py_TYPE(o);
    if (t == &PyLong_Type || t == &PyFloat_Type || t == &PyList_Type || t == &PyTuple_Type || t == &PyBool_Type)
        return false;
    return numpy_types() && PyType_IsSubtype(t, g_generic);
}

TensorRef tensor_from_numpy(PyObject* array, bool warn_not_writable) {
    Py_buffer* b = new Py_buffer;
    if (PyObject_GetBuffer(array, b, PyBUF_RECORDS_RO) < 0) {
        delete b;
        unsupported_array(array);
    }
    try {
        const char* format = b->format ? b->format : "B";
        MT_CHECK_VALUE(format[0] != '>' && format[0] != '!',
                       "given numpy array has byte order different from the native byte order. Conversion between byte "
                       "orders is currently not supported.");
        DType dtype = dtype_of_format(format, b->itemsize);
        if (dtype == DType::Undefined) unsupported_array(array);
        Dims sizes(b->ndim), strides(b->ndim);
        int64_t size = itemsize(dtype);
        for (int d = 0; d < b->ndim; d++) {
            sizes[d] = b->shape[d];
            int64_t bytes = b->strides ? b->strides[d] : 0;
            MT_CHECK_VALUE(bytes >= 0 || sizes[d] < 2,
                           "At least one stride in the given numpy array is negative, and tensors with negative "
                           "strides are not currently supported. (You can "
                           "probably work around this by making a copy of your array  with array.copy().) ");
            MT_CHECK_VALUE(bytes % size == 0 || sizes[d] < 2,
                           "given numpy array strides not a multiple of the element byte size. Copy the numpy array to "
                           "reallocate the memory.");
            strides[d] = bytes < 0 ? size : bytes / size;
        }
        if (b->readonly && warn_not_writable) {
            if (warning_is_due("from_numpy: not writable") &&
                PyErr_WarnEx(PyExc_UserWarning,
                             "The given NumPy array is not writable, and PyTorch does not support non-writable "
                             "tensors. This means writing to this tensor "
                             "will result in undefined behavior. You may want to copy the array to protect its data or "
                             "make it writable before converting "
                             "it to a tensor. This type of warning will be suppressed for the rest of this program.",
                             1) < 0)
                throw PythonError();
        }
        if (numel_of(sizes) == 0) own_strides(array, size, strides);
        size_t bytes = numel_of(sizes) ? storage_bytes_needed(sizes, strides, size, 0) : 0;
        Storage* storage = storage_wrap(b->buf, bytes, Device(), b, release_buffer);
        TensorRef t = from_storage(storage, 0, sizes, strides, dtype);
        storage->drop();
        return t;
    } catch (...) {
        PyBuffer_Release(b);
        delete b;
        throw;
    }
}

// The strides of an array without elements are NumPy's own, which differ from version to version. Takes `array` over.
PyObject* without_elements(PyObject* array) {
    PyObject *numpy = PyImport_ImportModule("numpy"), *shape = PyObject_GetAttrString(array, "shape"),
             *dtype = PyObject_GetAttrString(array, "dtype");
    PyObject* made = numpy && shape && dtype ? PyObject_CallMethod(numpy, "empty", "OO", shape, dtype) : nullptr;
    Py_XDECREF(numpy);
    Py_XDECREF(shape);
    Py_XDECREF(dtype);
    Py_DECREF(array);
    if (!made) throw PythonError();
    return made;
}

PyObject* tensor_to_numpy(const Tensor& t) {
    settle_all();  // what was put off would see what is written to the array
    MT_CHECK_TYPE(!is_sparse(t), "can't convert ", sparse_layout_name(layout_of(t)),
                  " layout tensor to numpy. Use Tensor.to_dense() first.");
    check_data(t);
    MT_CHECK_TYPE(t.is_cpu(), "can't convert ", device_name(t.device),
                  " device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.");
    MT_CHECK(!requires_grad(t) || !g_thread.grad_mode,  // without recording nothing is lost
             "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.");
    for (auto [key, bit, resolve] :
         {std::tuple(Key::Conjugate, "conjugate", "conj"), {Key::Negative, "negative", "neg"}})
        MT_CHECK(!t.keys.has(key), "Can't call numpy() on Tensor that has ", bit, " bit set. Use tensor.resolve_",
                 resolve, "().numpy() instead.");
    MT_CHECK_TYPE(buffer_format(t.dtype), "Got unsupported ScalarType ", dtype_class_name(t.dtype));
    check_bounds(t);
    static PyObject* asarray = nullptr;
    if (!asarray) {
        PyObject* numpy = PyImport_ImportModule("numpy");
        if (!numpy) {
            PyErr_Clear();
            MT_THROW(Runtime, "Numpy is not available");
        }
        asarray = PyObject_GetAttrString(numpy, "asarray");
        Py_DECREF(numpy);
        if (!asarray) throw PythonError();
    }
    note_export(t.storage);
    Exporter* e = PyObject_New(Exporter, exporter_type());
    if (!e) {
        forget_export(t.storage);
        throw PythonError();
    }
    e->tensor = Py_NewRef(t.py());
    e->storage = t.storage;
    e->storage->resizable = false;  // the array keeps its address
    PyObject* array = call_python(asarray, reinterpret_cast<PyObject*>(e));
    Py_DECREF(reinterpret_cast<PyObject*>(e));
    if (!array) throw PythonError();
    return t.numel() ? array : without_elements(array);
}

PyObject* item_of(const Tensor& t, int64_t at) {
    switch (t.dtype) {
        case DType::Bool:
            return PyBool_FromLong(t.words<uint8_t>()[at] != 0);
        case DType::UInt8:
            return PyLong_FromLong(t.data<uint8_t>()[at]);
        case DType::Int8:
            return PyLong_FromLong(t.data<int8_t>()[at]);
        case DType::Int16:
            return PyLong_FromLong(t.data<int16_t>()[at]);
        case DType::UInt16:
            return PyLong_FromLong(t.data<uint16_t>()[at]);
        case DType::Int32:
            return PyLong_FromLong(t.data<int32_t>()[at]);
        case DType::UInt32:
            return PyLong_FromUnsignedLong(t.data<uint32_t>()[at]);
        case DType::Int64:
            return PyLong_FromLongLong(t.data<int64_t>()[at]);
        case DType::UInt64:
            return PyLong_FromUnsignedLongLong(t.data<uint64_t>()[at]);
        case DType::Float16:
            return PyFloat_FromDouble(static_cast<float>(t.data<Half>()[at]));
        case DType::BFloat16:
            return PyFloat_FromDouble(static_cast<float>(t.data<BFloat16>()[at]));
        case DType::Float32:
            return PyFloat_FromDouble(t.data<float>()[at]);
        case DType::Float64:
            return PyFloat_FromDouble(t.data<double>()[at]);
        case DType::Complex64:
            return PyComplex_FromDoubles(t.data<c64>()[at].real(), t.data<c64>()[at].imag());
        case DType::Complex128:
            return PyComplex_FromDoubles(t.data<c128>()[at].real(), t.data<c128>()[at].imag());
        default: {
            TensorRef one = as_strided(t, IntSpan(nullptr, 0), IntSpan(nullptr, 0), t.offset + at);
            if (is_complex(t.dtype)) return item_of(*contiguous(*one, DType::Complex64), 0);
            return item_of(*contiguous(*one, DType::Float32), 0);
        }
    }
}

namespace {

PyObject* nested_list(const Tensor& t, int64_t dim, int64_t offset) {
    if (dim == t.dim()) return item_of(t, offset);
    PyObject* list = PyList_New(t.size(dim));
    if (!list) throw PythonError();
    for (int64_t i = 0; i < t.size(dim); i++) {
        PyObject* item = nested_list(t, dim + 1, offset + i * t.stride(dim));
        if (!item) {
            Py_DECREF(list);
            throw PythonError();
        }
        PyList_SET_ITEM(list, i, item);
    }
    return list;
}

// Behaviours of a thread that leave a plain tensor's number alone.
constexpr KeySet kUnconcernedByItem = kAutocastKeys | Key::Batched;

PyObject* tolist(PyObject* self, PyObject*) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        Tensor& t = as_tensor(self);
        check_data(t);
        MT_CHECK_AS(NotImplemented, !t.is_meta(), "Cannot copy out of meta tensor; no data!");
        check_bounds(t);
        if (is_lazy(t)) return nested_list(*materialized(t), 0, 0);
        if (t.is_cpu() && !is_float8(t.dtype)) return nested_list(t, 0, 0);
        Value cpu;
        cpu.tag = Tag::Device;
        TensorRef here =
            t.is_cpu() ? contiguous(t, DType::Float32) : op_to_copy({Value::of(&t), Value(), Value(), cpu});
        return nested_list(*here, 0, 0);
    });
}

// Whether its numbers are read as they lie in memory: other devices and modes that watch dispatch answer themselves.
bool is_read_here(const Tensor& t) {
    return t.is_cpu() && (g_thread.include - kUnconcernedByItem).empty() &&
           (t.keys & (KeySet(Key::Python) | Key::Functionalize | Key::Batched | kCodedKeys | kLazyKeys)).empty();
}

PyObject* item(PyObject* self, PyObject*) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        Tensor& t = as_tensor(self);
        const bool batched = !(t.keys & Key::Batched).empty();  // refused with words of its own
        MT_CHECK(batched || t.numel() == 1, "a Tensor with ", t.numel(), " elements cannot be converted to Scalar");
        MT_CHECK(!t.is_meta(), "Tensor.item() cannot be called on meta tensors");
        if (is_read_here(t)) {
            check_bounds(t);
            return item_of(t, 0);
        }
        Value args[1] = {Value::of(&t)}, rets[1];
        call_values(op_local_scalar.get(), args, rets);
        PyObject* r = box(rets[0]);
        if (rets[0].tag == Tag::Object || rets[0].tag == Tag::Tensor) Py_DECREF(rets[0].obj);
        return r;
    });
}

PyObject* keyword(PyObject* const* args, Py_ssize_t n, PyObject* kwnames, const char* name, Py_ssize_t position) {
    if (position >= 0 && position < n) return args[position];
    for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); k++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, k), name) == 0) return args[n + k];
    return nullptr;
}

PyObject* numpy(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        Tensor& t = as_tensor(self);
        PyObject* force = keyword(args, n, kwnames, "force", 0);
        if (!force || !unbox_bool(force, "numpy", "force")) return tensor_to_numpy(t);
        TensorRef plain = op_detach({Value::of(&t)});
        if (!plain->is_cpu()) {
            Value cpu;
            cpu.tag = Tag::Device;
            plain = op_to_copy({Value::of(plain.get()), Value(), Value(), cpu});
        }
        if (is_lazy(*plain)) plain = materialized(*plain);
        return tensor_to_numpy(*plain);
    });
}

// __array__(dtype=None, copy=None)
PyObject* array(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        PyObject* dtype = keyword(args, n, kwnames, "dtype", 0);
        PyObject* copy = keyword(args, n, kwnames, "copy", 1);
        const int wants_copy = copy && copy != Py_None ? PyObject_IsTrue(copy) : 0;
        if (wants_copy < 0) throw PythonError();
        PyObject* plain = tensor_to_numpy(as_tensor(self));
        if (dtype && dtype != Py_None) {
            PyObject* cast = PyObject_GetAttrString(plain, "astype");
            PyObject* positional = PyTuple_Pack(1, dtype);
            PyObject* named = Py_BuildValue("{sO}", "copy", wants_copy ? Py_True : Py_False);
            PyObject* r = cast ? PyObject_Call(cast, positional, named) : nullptr;
            Py_XDECREF(cast);
            Py_XDECREF(positional);
            Py_XDECREF(named);
            Py_DECREF(plain);
            return r;
        }
        if (wants_copy) {
            PyObject* r = PyObject_CallMethod(plain, "copy", "s", "K");
            Py_DECREF(plain);
            return r;
        }
        return plain;
    });
}

PyObject* dlpack(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        Tensor& t = as_tensor(self);
        PyObject* stream = keyword(args, n, kwnames, "stream", -1);
        PyObject* version = keyword(args, n, kwnames, "max_version", -1);
        PyObject* copy = keyword(args, n, kwnames, "copy", -1);
        MT_CHECK_TYPE(!stream || stream == Py_None || PyLong_Check(stream), "stream must be ``int`` or ``none``");
        bool versioned = version && PyTuple_Check(version) && PyTuple_GET_SIZE(version) == 2 &&
                         PyLong_AsLong(PyTuple_GET_ITEM(version, 0)) >= 1;
        if (PyErr_Occurred()) throw PythonError();
        if (!t.is_cpu()) {  // what the consumer reads on its stream must be there
            PyObject* module = PyImport_ImportModule("mindtorch_v2._core.exchange");
            PyObject* done =
                module ? PyObject_CallMethod(module, "hand_over", "OO", self, stream ? stream : Py_None) : nullptr;
            Py_XDECREF(module);
            if (!done) throw PythonError();
            Py_DECREF(done);
        }
        if (copy && copy != Py_None && unbox_bool(copy, "_to_dlpack", "copy")) {
            check_exportable(t);
            TensorRef own = clone(t);
            return tensor_to_dlpack(*own, versioned);
        }
        return tensor_to_dlpack(t, versioned);
    });
}

PyObject* dlpack_device(PyObject* self, PyObject*) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        Tensor& t = as_tensor(self);
        const bool known = t.is_cpu() || t.device.type == DeviceType::NPU || t.device.type == DeviceType::CUDA;
        MT_CHECK_VALUE(known, "Unknown device type ", device_type_name(t.device.type), " for Dlpack");
        auto [type, index] = dlpack_number(t.device);
        return Py_BuildValue("(ii)", type, index);
    });
}

Value local_scalar(const Tensor& self) {
    MT_CHECK(self.numel() == 1, "a Tensor with ", self.numel(), " elements cannot be converted to Scalar");
    PyObject* number = item_of(self, 0);
    if (!number) throw PythonError();
    return Value::object(number);
}

// bool(x), int(x) and x as an index: Python's Tensor has `_as_bool` and the others for what is no plain number.
template <MethodName name, MethodName by_python>
PyObject* as_number(PyObject* o, bool* plain) {
    *plain = false;
    PyObject* result;
    if (__builtin_expect(asks_for_attributes(o), 0) && ask_method(name.text, o, nullptr, 0, nullptr, &result))
        return result;
    Tensor& t = as_tensor(o);
    *plain = (Py_TYPE(o) == tensor_type() || Py_TYPE(o) == parameter_type()) && t.numel() == 1 && is_read_here(t) &&
             !is_complex(t.dtype);
    return *plain ? item(o, nullptr) : PyObject_CallMethod(o, by_python.text, nullptr);
}

}  // namespace

PyMethodDef interop_methods[] = {
    {"numpy", FASTCALL((offered_fastcall<"numpy", numpy>)),
     "numpy($self, /, *, force=False)\n"
     "--\n"
     "\n"
     "An array over the tensor's memory; with `force`, detached and on the host.\n"
     "\n"
     "Raises RuntimeError for a tensor that requires gradients, TypeError for one of another device.\n"
     "\n"
     "    >>> torch.tensor([1, 2]).numpy()\n"
     "    array([1, 2])"},
    {"tolist", FASTCALL((offered_method<"tolist", tolist>)),
     "tolist($self, /)\n"
     "--\n"
     "\n"
     "The elements as nested Python lists; a 0-dim tensor gives its number.\n"
     "\n"
     "    >>> torch.tensor([[1, 2], [3, 4]]).tolist()\n"
     "    [[1, 2], [3, 4]]"},
    {"item", FASTCALL((offered_method<"item", item>)),
     "item($self, /)\n"
     "--\n"
     "\n"
     "The only element as a Python number.\n"
     "\n"
     "Raises RuntimeError where there are more, or none.\n"
     "\n"
     "    >>> torch.tensor([1.5]).item()\n"
     "    1.5"},
    {"new_tensor", FASTCALL((offered_fastcall<"new_tensor", new_tensor_method>)),
     "new_tensor($self, /, data, *, dtype=None, device=None, requires_grad=False)\n"
     "--\n"
     "\n"
     "A tensor of `data`, like torch.tensor's, with this tensor's dtype and device.\n"
     "\n"
     "    >>> torch.ones(2, dtype=torch.float64).new_tensor([1, 2])\n"
     "    tensor([1., 2.], dtype=torch.float64)"},
    {"__array__", FASTCALL((offered_fastcall<"__array__", array>)), "The data as a NumPy array."},
    {"__dlpack__", FASTCALL((offered_fastcall<"__dlpack__", dlpack>)),
     "__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)\n\nA DLPack capsule over the memory."},
    {"__dlpack_device__", FASTCALL((offered_method<"__dlpack_device__", dlpack_device>)),
     "(DLPack device type, device index)"},
    {nullptr, nullptr, 0, nullptr},
};

int tensor_bool(PyObject* o) {
    bool plain;
    PyObject* number = as_number<"__bool__", "_as_bool">(o, &plain);
    const int truth = number ? PyObject_IsTrue(number) : -1;
    Py_XDECREF(number);
    return truth;
}
PyObject* tensor_int(PyObject* o) {
    bool plain;
    PyObject* number = as_number<"__int__", "_as_int">(o, &plain);
    if (!number || !plain || PyLong_CheckExact(number)) return number;
    PyObject* whole = PyNumber_Long(number);
    Py_DECREF(number);
    return whole;
}
PyObject* tensor_index(PyObject* o) {
    bool plain;
    PyObject* number = as_number<"__index__", "_as_index">(o, &plain);
    if (!number || !plain || PyLong_CheckExact(number)) return number;
    Py_DECREF(number);
    return PyObject_CallMethod(o, "_as_index", nullptr);
}

KERNELS
{
    direct<local_scalar>("_local_scalar_dense");
}

}  // namespace mt
