// torch.tensor and its relatives: shapes and dtypes read from nested data, elements stored without intermediate
// objects.
#include "tensor_new.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "../autograd.h"
#include "../gil.h"
#include "bind.h"
#include "box.h"
#include "cuda_array.h"
#include "operator_call.h"

namespace mt {
namespace {

OperatorName op_lift_fresh("aten::lift_fresh"), op_to_copy("aten::_to_copy"), op_clone("aten::clone"),
    op_detach("aten::detach");

// ---- arguments ----

// Keyword arguments of one call, by name; positional ones first.
class Arguments {
  public:
    Arguments(const char* function, PyObject* const* args, Py_ssize_t given, PyObject* kwnames,
              std::initializer_list<const char*> names, Py_ssize_t positional)
        : function_(function), names_(names), values_(names.size(), nullptr) {
        MT_CHECK_TYPE(given <= positional, function, "() takes ", positional, " positional argument",
                      positional == 1 ? "" : "s", " but ", given, given == 1 ? " was given" : " were given");
        for (Py_ssize_t i = 0; i < given; i++) values_[static_cast<size_t>(i)] = args[i];
        Py_ssize_t n = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
        for (Py_ssize_t k = 0; k < n; k++) {
            const char* name = utf8_of(PyTuple_GET_ITEM(kwnames, k));
            size_t i = 0;
            while (i < names_.size() && std::strcmp(names_[i], name) != 0) i++;
            MT_CHECK_TYPE(i < names_.size(), function, "() got an unexpected keyword argument '", name, "'");
            MT_CHECK_TYPE(!values_[i], function, "() got multiple values for argument '", name, "'");
            values_[i] = args[given + k];
        }
    }
    PyObject* operator[](size_t i) const { return values_[i] == Py_None ? nullptr : values_[i]; }
    PyObject* required(size_t i) const {
        MT_CHECK_TYPE(values_[i], function_, "() missing 1 required positional arguments: \"", names_[i], "\"");
        return values_[i];
    }
    DType dtype(size_t i) const { return (*this)[i] ? dtype_from_python((*this)[i]) : DType::Undefined; }
    bool device(size_t i, Device* d) const {
        if ((*this)[i]) {
            *d = device_from_python((*this)[i]);
            return true;
        }
        *d = g_thread.default_device;
        return g_thread.device_given;
    }
    bool truth(size_t i) const { return (*this)[i] && unbox_bool((*this)[i], function_, names_[i]); }

  private:
    const char* function_;
    std::vector<const char*> names_;
    std::vector<PyObject*> values_;
};

// ---- dtype of Python data ----

DType dtype_of_numpy_scalar(PyObject* o) {
    TensorRef t = tensor_from_numpy(o, false);
    return t->dtype;
}

DType dtype_of_number(PyObject* o) {
    if (PyBool_Check(o)) return DType::Bool;
    if (PyLong_CheckExact(o)) return DType::Int64;
    if (PyFloat_CheckExact(o)) return default_dtype();
    if (PyComplex_CheckExact(o)) return to_complex(default_dtype());
    if (numpy_scalar_check(o)) return dtype_of_numpy_scalar(o);
    if (PyLong_Check(o)) return DType::Int64;
    if (PyFloat_Check(o)) return default_dtype();
    if (PyComplex_Check(o)) return to_complex(default_dtype());
    return DType::Undefined;
}

DType infer_dtype(PyObject* o, int depth) {
    DType number = dtype_of_number(o);
    if (number != DType::Undefined) return number;
    if (tensor_check(o)) return as_tensor(o).dtype;
    if (numpy_array_check(o)) return dtype_of_numpy_scalar(o);
    MT_CHECK_TYPE(!PyUnicode_Check(o) && !PyBytes_Check(o), "new(): invalid data type '", Py_TYPE(o)->tp_name, "'");
    MT_CHECK(PySequence_Check(o), "Could not infer dtype of ", Py_TYPE(o)->tp_name);
    MT_CHECK(depth < 128, "torch.tensor(): the data is nested too deeply");
    PyObject* seq = PySequence_Fast(o, "not a sequence");
    if (!seq) {
        PyErr_Clear();
        MT_THROW(Runtime, "Could not infer dtype of ", Py_TYPE(o)->tp_name);
    }
    DType result = DType::Undefined;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(seq);
    try {
        // A list may be changed by what its items run when they are asked: look at each afresh.
        for (Py_ssize_t i = 0; i < n && i < PySequence_Fast_GET_SIZE(seq); i++) {
            DType one = infer_dtype(PySequence_Fast_GET_ITEM(seq, i), depth + 1);
            result = result == DType::Undefined ? one : result == one ? one : promote(result, one);
        }
    } catch (...) {
        Py_DECREF(seq);
        throw;
    }
    Py_DECREF(seq);
    return n == 0 ? default_dtype() : result;
}

// ---- shape ----

Dims infer_shape(PyObject* data) {
    Dims sizes;
    PyObject* o = Py_NewRef(data);
    struct Owner {
        PyObject*& o;
        ~Owner() { Py_XDECREF(o); }
    } owner{o};
    while (true) {
        if (tensor_check(o)) {  // in a sequence a tensor is a number, whatever its shape
            if (o == data)
                for (int64_t s : as_tensor(o).sizes()) sizes.push_back(s);
            return sizes;
        }
        // Bytes are numbers where they stand in a sequence.
        MT_CHECK_TYPE(o != data || !PyBytes_Check(o), "new(): invalid data type 'bytes'");
        MT_CHECK_VALUE(o == data || !PyUnicode_Check(o), "too many dimensions 'str'");
        if (PyUnicode_Check(o) || numpy_scalar_check(o) || !PySequence_Check(o)) return sizes;
        Py_ssize_t n = PySequence_Size(o);
        if (n < 0) throw PythonError();
        sizes.push_back(n);
        MT_CHECK_VALUE(sizes.size() <= 128, "too many dimensions '", Py_TYPE(o)->tp_name, "'");
        if (n == 0) return sizes;
        PyObject* first = PySequence_GetItem(o, 0);
        if (!first) {
            PyErr_Clear();
            MT_THROW(Value, "could not determine the shape of object type '", Py_TYPE(o)->tp_name, "'");
        }
        Py_SETREF(o, first);
    }
}

// ---- elements ----

template <class T>
bool integer_fits(long long v) {
    if constexpr (std::is_same_v<T, uint64_t>)
        return true;
    else if constexpr (std::is_unsigned_v<T>)
        // Negative numbers of the type's range wrap round.
        return v <= static_cast<long long>(std::numeric_limits<T>::max()) &&
               v >= -static_cast<long long>(std::numeric_limits<T>::max());
    else
        return v >= static_cast<long long>(std::numeric_limits<T>::min()) &&
               v <= static_cast<long long>(std::numeric_limits<T>::max());
}

double real_number(PyObject* o) {
    if (PyFloat_CheckExact(o)) return PyFloat_AS_DOUBLE(o);
    double d = PyFloat_AsDouble(o);
    if (d == -1.0 && PyErr_Occurred()) {
        if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
            PyErr_Clear();
            MT_THROW(Runtime, "value cannot be converted to type double without overflow");
        }
        throw PythonError();
    }
    return d;
}

long long whole_number(PyObject* o, DType dtype) {
    if (PyFloat_Check(o)) {
        double d = PyFloat_AS_DOUBLE(o);
        MT_CHECK(d >= -9223372036854775808.0 && d < 9223372036854775808.0, "value cannot be converted to type ",
                 dtype_name(dtype), " without overflow");
        return static_cast<long long>(d);
    }
    int overflow = 0;
    long long v = PyLong_Check(o) ? PyLong_AsLongLongAndOverflow(o, &overflow) : 0;
    if (!PyLong_Check(o)) {
        PyObject* i = PyNumber_Index(o);
        if (!i) {
            PyObject *type, *value, *trace;
            PyErr_Fetch(&type, &value, &trace);
            if (!numpy_scalar_check(o)) {
                PyErr_Restore(type, value, trace);
                throw PythonError();
            }
            Py_XDECREF(type);
            Py_XDECREF(value);
            Py_XDECREF(trace);
            i = PyNumber_Long(o);
            if (!i) throw PythonError();
        }
        v = PyLong_AsLongLongAndOverflow(i, &overflow);
        Py_DECREF(i);
    }
    MT_CHECK_VALUE(!overflow, "Overflow when unpacking long long");
    if (v == -1 && PyErr_Occurred()) throw PythonError();
    return v;
}

template <class T>
T element(PyObject* o) {
    if constexpr (std::is_same_v<T, bool>) {
        int v = PyObject_IsTrue(o);
        if (v < 0) throw PythonError();
        return v;
    } else if constexpr (std::is_same_v<T, c64> || std::is_same_v<T, c128>) {
        Py_complex z = PyComplex_AsCComplex(o);
        if (z.real == -1.0 && PyErr_Occurred()) throw PythonError();
        return T(static_cast<typename T::value_type>(z.real), static_cast<typename T::value_type>(z.imag));
    } else if constexpr (std::is_same_v<T, uint64_t>) {
        if (PyLong_Check(o)) {
            unsigned long long v = PyLong_AsUnsignedLongLongMask(o);
            return v;
        }
        return static_cast<T>(whole_number(o, DType::UInt64));
    } else if constexpr (std::is_integral_v<T>) {
        long long v = whole_number(o, dtype_of<T>::value);
        MT_CHECK(integer_fits<T>(v), "value cannot be converted to type ", dtype_name(dtype_of<T>::value),
                 " without overflow");
        return static_cast<T>(v);
    } else {
        return T(static_cast<opmath_t<T>>(real_number(o)));
    }
}

// The only number of a tensor, which may lie on another device.
template <class T>
T only_number(Tensor& t) {
    TensorRef here;
    MT_CHECK(!t.device.is_meta(), "Tensor.item() cannot be called on meta tensors");
    if (!t.is_cpu()) {
        Value cpu;
        cpu.tag = Tag::Device;
        here = op_to_copy({Value::of(op_detach({Value::of(&t)}).get()), Value(), Value(), cpu});
    }
    return *contiguous(t.is_cpu() ? t : *here, dtype_of<T>::value)->template data<T>();
}

// Walks the nested data next to the (contiguous) tensor's memory.
template <class T>
void store(T*& to, PyObject* o, const Dims& sizes, int64_t dim) {
    if (tensor_check(o)) {
        Tensor& t = as_tensor(o);
        check_data(t);
        if (dim == sizes.size()) {
            MT_CHECK_VALUE(t.numel() == 1, "only one element tensors can be converted to Python scalars");
            MT_CHECK_TYPE(!std::is_integral_v<T> || is_integer(t.dtype) || is_bool(t.dtype),
                          "only integer tensors of a single element can be converted to an index");
            *to++ = only_number<T>(t);
            return;
        }
        MT_CHECK_TYPE(t.dim() > 0, "not a sequence");
    }
    if (dim == sizes.size()) {
        MT_CHECK_VALUE(!PyUnicode_Check(o), "too many dimensions '", Py_TYPE(o)->tp_name, "'");
        *to++ = element<T>(o);
        return;
    }
    if (numpy_array_check(o)) {
        TensorRef array = tensor_from_numpy(o, false);
        bool fits = array->dim() == sizes.size() - dim;
        for (int64_t d = 0; fits && d < array->dim(); d++) fits = array->size(d) == sizes[dim + d];
        MT_CHECK_VALUE(fits, "expected sequence of length ", sizes[dim], " at dim ", dim, " (got ",
                       array->dim() ? array->size(0) : 0, ")");
        TensorRef same = contiguous(*array, dtype_of<T>::value);
        std::memcpy(static_cast<void*>(to), same->raw(), sizeof(T) * static_cast<size_t>(same->numel()));
        to += same->numel();
        return;
    }
    MT_CHECK_TYPE(tensor_check(o) || PySequence_Check(o), "not a sequence");
    PyObject* seq = PySequence_Fast(o, "not a sequence");
    if (!seq) throw PythonError();
    struct Owner {
        PyObject* o;
        ~Owner() { Py_DECREF(o); }
    } owner{seq};
    Py_ssize_t n = PySequence_Fast_GET_SIZE(seq);
    MT_CHECK_VALUE(n == sizes[dim], "expected sequence of length ", sizes[dim], " at dim ", dim, " (got ", n, ")");
    // A list may be changed by what its items run when they are converted: look at each afresh.
    for (Py_ssize_t i = 0; i < n; i++) {
        MT_CHECK_VALUE(PySequence_Fast_GET_SIZE(seq) == n, "the data changed while a tensor was made from it");
        PyObject* item = PySequence_Fast_GET_ITEM(seq, i);
        if (dim + 1 == sizes.size() && (PyLong_CheckExact(item) || PyFloat_CheckExact(item)))
            *to++ = element<T>(item);
        else
            store<T>(to, item, sizes, dim + 1);
    }
}

using StoredTypes = Types<float, double, Half, BFloat16, uint8_t, int8_t, int16_t, int32_t, int64_t, bool, c64, c128,
                          uint16_t, uint32_t, uint64_t>;

void warn(PyObject* category, const char* text) {
    if (PyErr_WarnEx(category, text, 1) < 0) throw PythonError();
}

bool array_list(PyObject* o) {
    return PyList_Check(o) && PyList_GET_SIZE(o) > 0 && numpy_array_check(PyList_GET_ITEM(o, 0));
}

TensorRef moved_to(TensorRef t, DType dtype, bool to_device, Device device) {
    if (to_device && !(t->device == device) && !(device.is_cpu() && t->is_cpu())) {
        Value where, what;
        where.tag = Tag::Device;
        where.device = device;
        if (dtype != DType::Undefined) what = Value::of(dtype);
        if (device.is_meta())
            return empty_strided(t->sizes(), t->strides(), dtype == DType::Undefined ? t->dtype : dtype, device);
        return op_to_copy({Value::of(t.get()), what, Value(), where});
    }
    if (dtype != DType::Undefined && dtype != t->dtype) return op_to_copy({Value::of(t.get()), Value::of(dtype)});
    return t;
}

void set_requires_grad(Tensor& t, bool wanted) {
    if (!wanted) return;
    check_can_require_grad(t.dtype);
    autograd_of(t).requires_grad = true;
}

TensorRef copied(Tensor& source, DType dtype, bool to_device, Device device) {
    TensorRef plain = op_detach({Value::of(&source)});
    if (to_device && !(device == source.device) && !(device.is_cpu() && source.is_cpu()))
        return moved_to(std::move(plain), dtype, true, device);
    if (dtype != DType::Undefined && dtype != source.dtype)
        return op_to_copy({Value::of(plain.get()), Value::of(dtype)});
    return op_clone({Value::of(plain.get())});
}

// tensor(data, *, dtype, device, requires_grad, pin_memory) and x.new_tensor(...) after the defaults are settled
TensorRef new_copy(PyObject* data, DType dtype, bool to_device, Device device, bool requires_grad) {
    TensorRef r;
    if (tensor_check(data)) {
        warn(PyExc_UserWarning,
             "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
             "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).");
        Tensor& source = as_tensor(data);
        r = copied(source, dtype, to_device, device);
        // The copy is a leaf: no history, whatever mode it was made in.
    } else if (has_cuda_array(data)) {
        r = copied(*tensor_from_cuda_array(data), dtype, to_device, device);
    } else {
        r = announced(moved_to(tensor_from_data(data, dtype), DType::Undefined, to_device, device));
    }
    set_requires_grad(*r, requires_grad);
    return r;
}

}  // namespace

PyObject* pinned_when_made(PyObject* made) {
    PyObject* pinned = PyObject_CallMethod(made, "_pinned_when_made", nullptr);
    Py_DECREF(made);
    return pinned;
}

namespace {

// ---- module functions ----

PyObject* py_tensor(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        if (n == 1 && !kwnames && !g_thread.device_given && !tensor_check(args[0]) && !has_cuda_array(args[0]))
            return announced(tensor_from_data(args[0], DType::Undefined)).release()->py();
        Arguments a("tensor", args, n, kwnames, {"data", "dtype", "device", "requires_grad", "pin_memory", "names"}, 1);
        Device device;
        bool to_device = a.device(2, &device);
        PyObject* made = new_copy(a.required(0), a.dtype(1), to_device, device, a.truth(3)).release()->py();
        return a.truth(4) ? pinned_when_made(made) : made;
    });
}

PyObject* new_tensor(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        Arguments a("new_tensor", args, n, kwnames,
                    {"data", "dtype", "device", "requires_grad", "layout", "pin_memory"}, 1);
        Tensor& t = as_tensor(self);
        Device device = t.device;
        if (a[2]) device = device_from_python(a[2]);
        DType dtype = a[1] ? a.dtype(1) : t.dtype;
        PyObject* data = a.required(0);
        if (tensor_check(data) && !a[1]) dtype = DType::Undefined;
        PyObject* made = new_copy(data, dtype, true, device, a.truth(3)).release()->py();
        return a.truth(5) ? pinned_when_made(made) : made;
    });
}

PyObject* py_as_tensor(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        Arguments a("as_tensor", args, n, kwnames, {"data", "dtype", "device"}, 3);
        PyObject* data = a.required(0);
        DType dtype = a.dtype(1);
        Device device;
        bool to_device = a[2] ? a.device(2, &device) : false;
        if (tensor_check(data)) {
            TensorRef same = TensorRef::share(&as_tensor(data));
            return moved_to(std::move(same), dtype, to_device, device).release()->py();
        }
        if (has_cuda_array(data))
            return moved_to(tensor_from_cuda_array(data), dtype, to_device, device).release()->py();
        if (!a[2]) to_device = a.device(2, &device);
        if (numpy_array_check(data)) {
            TensorRef shared = tensor_from_numpy(data, true);
            return moved_to(std::move(shared), dtype, to_device, device).release()->py();
        }
        if (TensorRef shared = tensor_over_storage(data, dtype))
            return moved_to(std::move(shared), dtype, to_device, device).release()->py();
        return announced(moved_to(tensor_from_data(data, dtype), DType::Undefined, to_device, device)).release()->py();
    });
}

PyObject* from_numpy(PyObject*, PyObject* array) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        MT_CHECK_TYPE(numpy_array_check(array), "expected np.ndarray (got ", Py_TYPE(array)->tp_name, ")");
        return announced(tensor_from_numpy(array, true)).release()->py();
    });
}

// A 1-dim tensor over the bytes of any object with the buffer protocol.
TensorRef tensor_from_buffer(PyObject* object, DType dtype, int64_t count, int64_t offset) {
    MT_CHECK_VALUE(PyObject_CheckBuffer(object), "object does not implement Python buffer protocol.");
    Py_buffer* b = new Py_buffer;
    bool writable = PyObject_GetBuffer(object, b, PyBUF_WRITABLE) == 0;
    if (!writable) {
        PyErr_Clear();
        if (PyObject_GetBuffer(object, b, PyBUF_SIMPLE) < 0) {
            delete b;
            PyErr_Clear();
            MT_THROW(Value, "could not retrieve buffer from object");
        }
    }
    try {
        if (!writable)
            warn(PyExc_UserWarning,
                 "The given buffer is not writable, and PyTorch does not support non-writable tensors. This means you "
                 "can write to the underlying "
                 "(supposedly non-writable) buffer using the tensor. You may want to copy the buffer to protect its "
                 "data or make it writable before "
                 "converting it to a tensor. This type of warning will be suppressed for the rest of this program.");
        int64_t length = b->len, size = itemsize(dtype);
        MT_CHECK_VALUE(length > 0 && count != 0, "both buffer length (", length, ") and count (", count,
                       ") must not be 0");
        MT_CHECK_VALUE(offset >= 0 && offset < length, "offset (", offset,
                       " bytes) must be non-negative and no greater than buffer length (", length, " bytes) minus 1");
        MT_CHECK_VALUE(count > 0 || (length - offset) % size == 0, "buffer length (", length - offset,
                       " bytes) after offset (", offset, " bytes) must be a multiple of element size (", size, ")");
        int64_t n = count > 0 ? count : (length - offset) / size;
        MT_CHECK_VALUE(n <= (length - offset) / size, "requested buffer length (", n, " * ", size,
                       " bytes) after offset (", offset, " bytes) must not be greater than actual buffer length (",
                       length, " bytes)");
        char* data = static_cast<char*>(b->buf) + offset;
        Storage* storage = storage_wrap(data, static_cast<size_t>(n * size), Device(), b, release_buffer);
        int64_t one = 1;
        TensorRef t = from_storage(storage, 0, IntSpan(&n, 1), IntSpan(&one, 1), dtype);
        storage->drop();
        return t;
    } catch (...) {
        PyBuffer_Release(b);
        delete b;
        throw;
    }
}

int64_t int_argument(PyObject* o, int64_t otherwise) {
    if (!o) return otherwise;
    int64_t v = PyLong_AsLongLong(o);
    if (v == -1 && PyErr_Occurred()) throw PythonError();
    return v;
}

PyObject* frombuffer(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        Arguments a("frombuffer", args, n, kwnames, {"buffer", "dtype", "count", "offset", "requires_grad"}, 1);
        PyObject* buffer = a.required(0);
        a.required(1);
        TensorRef t = tensor_from_buffer(buffer, a.dtype(1), int_argument(a[2], -1), int_argument(a[3], 0));
        set_requires_grad(*t, a.truth(4));
        return t.release()->py();
    });
}

PyObject* from_dlpack_object(PyObject* o, bool copy, bool copy_given);

PyObject* asarray(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        Arguments a("asarray", args, n, kwnames, {"obj", "dtype", "device", "copy", "requires_grad"}, 1);
        PyObject* o = a.required(0);
        DType dtype = a.dtype(1);
        Device device;
        bool to_device = a[2] ? a.device(2, &device) : false;
        bool copy = a.truth(3), never = a[3] && !copy, wants_grad = a.truth(4), cut = a[4] && !wants_grad;
        TensorRef t;
        if (tensor_check(o)) {
            t = TensorRef::share(&as_tensor(o));
        } else if (numpy_array_check(o) || numpy_scalar_check(o)) {
            MT_CHECK(!never || numpy_array_check(o),
                     "can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. ");
            t = tensor_from_numpy(o, !copy);
        } else if (PyCapsule_CheckExact(o)) {
            t = tensor_from_dlpack(o);
        } else if (PyObject_HasAttrString(o, "__dlpack__")) {
            t = TensorRef::steal(reinterpret_cast<Tensor*>(from_dlpack_object(o, false, false)));
            if (!t) throw PythonError();
        } else if (has_cuda_array(o)) {
            t = tensor_from_cuda_array(o);
        } else if (Storage* storage = storage_of(o)) {
            DType as = dtype == DType::Undefined ? default_dtype() : dtype;
            int64_t count = static_cast<int64_t>(storage->nbytes) / itemsize(as), one = 1;
            t = from_storage(storage, 0, IntSpan(&count, 1), IntSpan(&one, 1), as);
        } else if (PyObject_CheckBuffer(o)) {
            t = tensor_from_buffer(o, dtype == DType::Undefined ? default_dtype() : dtype, -1, 0);
        } else if (TensorRef shared = tensor_over_storage(o, dtype)) {
            t = std::move(shared);
        } else {
            MT_CHECK_VALUE(!never, "can't alias arbitrary sequence into a tensor.");
            if (!a[2]) to_device = a.device(2, &device);
            t = announced(moved_to(tensor_from_data(o, dtype), DType::Undefined, to_device, device));
            set_requires_grad(*t, wants_grad);
            return t.release()->py();
        }
        bool differs =
            (dtype != DType::Undefined && dtype != t->dtype) || (to_device && !(device.type == t->device.type));
        MT_CHECK_VALUE(!(never && differs), "can't alias tensor with dtype '", dtype_name(t->dtype), "' into dtype '",
                       dtype_name(dtype == DType::Undefined ? t->dtype : dtype), "'.");
        if (differs) {
            t = moved_to(std::move(t), dtype, to_device, device);
        } else if (copy) {
            t = op_clone({Value::of(t.get())});
        }
        if (cut && requires_grad(*t)) {
            if (is_leaf(*t))
                autograd_of(*t).requires_grad = false;
            else
                t = op_detach({Value::of(t.get())});
        }
        if (!a[4] && requires_grad(*t) && warning_is_due("asarray"))
            warn(PyExc_UserWarning,
                 "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. Pass "
                 "requires_grad=False explicitly to get the old behavior and silence this warning.");
        if (wants_grad && !requires_grad(*t)) set_requires_grad(*t, true);
        return t.release()->py();
    });
}

// What torch.Tensor(...), torch.LongTensor(...) and x.new(...) do with their arguments: sizes, or data, or nothing. The
// default device is not theirs.
TensorRef legacy(DType dtype, PyObject* given) {
    Py_ssize_t count = PyTuple_GET_SIZE(given);
    if (count == 0) {
        int64_t zero = 0;
        return empty(IntSpan(&zero, 1), dtype, Device());
    }
    PyObject* first = PyTuple_GET_ITEM(given, 0);
    if (count == 1 && tensor_check(first)) {
        // An alias of the same data, as the constructor has always given.
        return op_detach({Value::of(&as_tensor(first))});
    }
    // A torch.Size gives sizes, a plain tuple data.
    bool is_size = count == 1 && PyTuple_Check(first) && !PyTuple_CheckExact(first);
    PyObject* sizes_from = is_size ? first : given;
    bool all_integers = is_size || !numpy_array_check(first);
    for (Py_ssize_t i = 0; all_integers && !is_size && i < count; i++) {
        PyObject* item = PyTuple_GET_ITEM(given, i);
        all_integers = (PyLong_Check(item) && !PyBool_Check(item)) || (numpy_scalar_check(item) && PyIndex_Check(item));
    }
    if (all_integers) {
        Dims sizes;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sizes_from); i++) {
            int64_t s = PyNumber_AsSsize_t(PyTuple_GET_ITEM(sizes_from, i), PyExc_OverflowError);
            if (s == -1 && PyErr_Occurred()) throw PythonError();
            MT_CHECK(s >= 0, "Trying to create tensor with negative dimension ", s, ": [", s, "]");
            sizes.push_back(s);
        }
        return announced(empty(sizes, dtype, Device()));
    }
    MT_CHECK_TYPE(count == 1,
                  "new() received an invalid combination of arguments: expected sizes or one sequence of data");
    MT_CHECK_TYPE(!PyUnicode_Check(first), "new(): invalid data type 'str'");
    if (TensorRef shared = tensor_over_storage(first, dtype)) return shared;
    MT_CHECK_TYPE(PySequence_Check(first), "new(): data must be a sequence (got ", Py_TYPE(first)->tp_name, ")");
    return announced(tensor_from_data(first, dtype));
}

// _legacy_new(dtype, args): x.new(...) and torch.LongTensor(...)
PyObject* legacy_new(PyObject*, PyObject* const* args, Py_ssize_t n) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        MT_CHECK_TYPE(n == 2 && PyTuple_Check(args[1]), "_legacy_new(): expected a dtype and a tuple of arguments");
        return legacy(dtype_from_python(args[0]), args[1]).release()->py();
    });
}

// ---- DLPack ----

// A producer on a GPU is told the stream that will read, so that it can let it wait.
void add_stream_of_reader(PyObject* producer, PyObject* kwargs) {
    PyObject* device = PyObject_CallMethod(producer, "__dlpack_device__", nullptr);
    if (!device) return PyErr_Clear();  // from before the protocol asked for it
    PyObject* module = PyImport_ImportModule("mindtorch_v2._core.exchange");
    PyObject* stream = module ? PyObject_CallMethod(module, "stream_of_reader", "(O)", device) : nullptr;
    Py_XDECREF(module);
    Py_DECREF(device);
    if (!stream) throw PythonError();
    const int failed = stream == Py_None ? 0 : PyDict_SetItemString(kwargs, "stream", stream);
    Py_DECREF(stream);
    if (failed) throw PythonError();
}

PyObject* from_dlpack_object(PyObject* o, bool copy, bool copy_given) {
    if (PyCapsule_CheckExact(o)) return tensor_from_dlpack(o).release()->py();
    PyObject* export_ = PyObject_GetAttrString(o, "__dlpack__");
    if (!export_) {
        PyErr_Clear();
        MT_THROW(Runtime,
                 "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so "
                 "you might have already "
                 "constructed a tensor from it once.");
    }
    struct Owned {
        PyObject *function, *no_args, *kwargs;
        ~Owned() {
            Py_DECREF(function);
            Py_XDECREF(no_args);
            Py_XDECREF(kwargs);
        }
    } owned{export_, PyTuple_New(0), nullptr};
    PyObject*& kwargs = owned.kwargs;
    kwargs = copy_given ? Py_BuildValue("{s(ii)sO}", "max_version", 1, 0, "copy", copy ? Py_True : Py_False)
                        : Py_BuildValue("{s(ii)}", "max_version", 1, 0);
    if (!owned.no_args || !kwargs) throw PythonError();
    add_stream_of_reader(o, kwargs);
    PyObject* capsule = PyObject_Call(export_, owned.no_args, kwargs);
    if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {
        // An exporter from before the protocol had versions.
        PyErr_Clear();
        capsule = call_python(export_);
    }
    if (!capsule) throw PythonError();
    TensorRef t;
    try {
        t = tensor_from_dlpack(capsule);
    } catch (...) {
        Py_DECREF(capsule);
        throw;
    }
    Py_DECREF(capsule);
    return t.release()->py();
}

PyObject* from_dlpack(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        Arguments a("from_dlpack", args, n, kwnames, {"ext_tensor", "device", "copy"}, 1);
        PyObject* r = from_dlpack_object(a.required(0), a.truth(2), a[2] != nullptr);
        if (!r || !a[1]) return r;
        TensorRef t = TensorRef::steal(reinterpret_cast<Tensor*>(r));
        return moved_to(std::move(t), DType::Undefined, true, device_from_python(a[1])).release()->py();
    });
}

}  // namespace

namespace {

// Objects that are neither numbers nor the usual sequences, and may be storages.
bool may_be_storage(PyObject* o) {
    return !PyList_Check(o) && !PyTuple_Check(o) && !PyFloat_Check(o) && !PyLong_Check(o) && !PyUnicode_Check(o);
}

}  // namespace

TensorRef tensor_over_storage(PyObject* o, DType dtype) {
    if (!may_be_storage(o)) return TensorRef();
    DType own = dtype;
    PyObject* bytes = Py_NewRef(o);
    struct Owner {
        PyObject*& o;
        ~Owner() { Py_XDECREF(o); }
    } owner{bytes};
    if (!storage_of(o)) {
        if (PyObject* inner = PyObject_GetAttrString(o, "_untyped_storage")) {
            Py_SETREF(bytes, inner);
        } else {
            PyErr_Clear();
            return TensorRef();
        }
        PyObject* typed = PyObject_GetAttrString(o, "dtype");
        if (!typed) throw PythonError();
        own = dtype_from_python(typed);
        Py_DECREF(typed);
    }
    Storage* storage = storage_of(bytes);
    if (!storage) return TensorRef();
    if (dtype == DType::Undefined) dtype = bytes == o ? DType::Int64 : default_dtype();
    if (own == DType::Undefined) own = dtype;
    MT_CHECK(dtype == own, "Expected a Storage of type ", dtype_class_name(dtype), " or an UntypedStorage, but got ",
             dtype_class_name(own));
    int64_t count = static_cast<int64_t>(storage->nbytes) / itemsize(own), one = 1;
    return from_storage(storage, 0, IntSpan(&count, 1), IntSpan(&one, 1), own);
}

TensorRef announced(TensorRef t) {
    if (g_thread.include.empty()) return t;
    return op_lift_fresh({Value::of(t.get())});
}

TensorRef tensor_from_data(PyObject* data, DType dtype, bool copy_numpy) {
    if (numpy_array_check(data) || (numpy_scalar_check(data) && !PyFloat_CheckExact(data))) {
        TensorRef shared = tensor_from_numpy(data, false);
        DType want = dtype == DType::Undefined ? shared->dtype : dtype;
        if (want == shared->dtype && !copy_numpy) return shared;
        TensorRef r = empty_like(*shared, want);
        copy_into(*r, *shared);
        return r;
    }
    MT_CHECK_TYPE(!PyUnicode_Check(data), "new(): invalid data type '", Py_TYPE(data)->tp_name, "'");
    if (TensorRef shared = tensor_over_storage(data, dtype)) return shared;  // not copied, as in PyTorch
    if (array_list(data))
        warn(PyExc_UserWarning,
             "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list "
             "to a single numpy.ndarray with "
             "numpy.array() before converting to a tensor.");
    if (is_float8(dtype) || dtype == DType::Complex32) {  // these are made by rounding
        TensorRef wide = tensor_from_data(data, is_complex(dtype) ? DType::Complex64 : DType::Float32);
        TensorRef r = empty_like(*wide, dtype);
        copy_into(*r, *wide);
        return r;
    }
    Dims sizes = infer_shape(data);
    if (dtype == DType::Undefined) dtype = infer_dtype(data, 0);
    TensorRef r = empty(sizes, dtype);
    int64_t count = r->numel();
    bool real = true;
    if (count > 0) {
        visit(StoredTypes{}, dtype, "tensor", [&]<class T>() {
            T* to = r->data<T>();
            store<T>(to, data, sizes, 0);
            real = to == r->data<T>() + count;
        });
    } else if (sizes.size() > 1) {
        float nothing = 0;
        float* to = &nothing;
        store<float>(to, data, sizes, 0);  // checks the lengths of nested empty sequences
    }
    MT_CHECK_VALUE(real, "the data does not have the shape of its first elements");
    return r;
}

bool number_from_python(PyObject* o, Value* value) {
    if (PyBool_Check(o)) {
        *value = Value::of(o == Py_True);
    } else if (PyLong_Check(o)) {
        int overflow = 0;
        long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
        MT_CHECK_VALUE(!overflow, "Overflow when unpacking long long");
        *value = Value::of(static_cast<int64_t>(v));
    } else if (PyFloat_Check(o)) {
        *value = Value::of(PyFloat_AS_DOUBLE(o));
    } else if (PyComplex_Check(o)) {
        *value = Value::of(c128(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o)));
    } else if (PyIndex_Check(o) && numpy_scalar_check(o)) {
        PyObject* i = PyNumber_Index(o);
        if (!i) throw PythonError();
        *value = Value::of(static_cast<int64_t>(PyLong_AsLongLong(i)));
        Py_DECREF(i);
    } else {
        return false;
    }
    return true;
}

PyObject* new_tensor_method(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
    return new_tensor(self, args, n, kwnames);
}

// The name of a function of this module, as a template's argument.
template <size_t N>
struct Spelled {
    char text[N];
    constexpr Spelled(const char (&name)[N]) { std::copy_n(name, N, text); }
};

// A function that takes no tensors to override by: an active mode is asked first, as of any other.
template <Spelled Name, auto Function>
PyObject* offered(PyObject* module, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
    if (__builtin_expect(g_thread.function_modes != 0, 0) && !g_thread.function_modes_disabled) {
        PyObject *result = nullptr, *own = PyObject_GetAttrString(module, Name.text);
        if (!own) return nullptr;
        bool taken = ask_overrides(own, args, n, kwnames, &result);
        Py_DECREF(own);
        if (taken) return result;
    }
    return Function(module, args, n, kwnames);
}

PyMethodDef tensor_new_methods[] = {
    {"tensor", FASTCALL((offered<"tensor", py_tensor>)),
     "tensor($module, data, *, dtype=None, device=None, requires_grad=False, pin_memory=False)\n"
     "--\n"
     "\n"
     "A new tensor with a copy of `data`: a number, a (nested) sequence, a NumPy array or a tensor.\n"
     "\n"
     "Without `dtype` it is the data's: int64 for ints, the default dtype for floats. Raises ValueError for a ragged "
     "sequence.\n"
     "\n"
     "    >>> torch.tensor([[1, 2], [3, 4]])\n"
     "    tensor([[1, 2],\n"
     "            [3, 4]])"},
    {"as_tensor", FASTCALL((offered<"as_tensor", py_as_tensor>)),
     "as_tensor($module, data, dtype=None, device=None)\n"
     "--\n"
     "\n"
     "A tensor of `data` that shares memory with tensors and NumPy arrays where it can.\n"
     "\n"
     "It copies where dtype or device differ, and sequences always.\n"
     "\n"
     "    >>> x = torch.ones(2)\n"
     "    >>> torch.as_tensor(x) is x\n"
     "    True"},
    {"asarray", FASTCALL((offered<"asarray", asarray>)),
     "asarray($module, obj, *, dtype=None, device=None, copy=None, requires_grad=None)\n"
     "--\n"
     "\n"
     "A tensor from a tensor, array, buffer, DLPack object, number or sequence.\n"
     "\n"
     "`copy`: True copies always, False raises ValueError where it would have to, None shares where it can.\n"
     "\n"
     "    >>> torch.asarray([1.0, 2.0])\n"
     "    tensor([1., 2.])"},
    {"from_numpy", from_numpy, METH_O,
     "from_numpy($module, ndarray, /)\n"
     "--\n"
     "\n"
     "A tensor over the array's memory.\n"
     "\n"
     "Writes to one are seen in the other. Raises TypeError for dtypes that tensors do not have.\n"
     "\n"
     "    >>> import numpy\n"
     "    >>> torch.from_numpy(numpy.array([1, 2, 3]))\n"
     "    tensor([1, 2, 3])"},
    {"frombuffer", FASTCALL(frombuffer),
     "frombuffer($module, buffer, *, dtype, count=-1, offset=0, requires_grad=False)\n"
     "--\n"
     "\n"
     "A 1-dim tensor over the bytes of an object.\n"
     "\n"
     "`count` elements from the byte `offset` on; -1 takes all. Raises ValueError where the bytes are no whole "
     "elements.\n"
     "\n"
     "    >>> torch.frombuffer(bytearray(b'abc'), dtype=torch.uint8)\n"
     "    tensor([97, 98, 99], dtype=torch.uint8)"},
    {"from_dlpack", FASTCALL(from_dlpack),
     "from_dlpack(ext_tensor, *, device=None, copy=None) -> Tensor\n\nA tensor over another library's memory."},
    {"_legacy_new", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(legacy_new)), METH_FASTCALL,
     "_legacy_new(dtype, args) -> Tensor\n\nSizes, or one sequence of data, as torch.Tensor(...) takes them."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
