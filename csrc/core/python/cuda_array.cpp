// CUDA's array interface, read: the dictionary's keys are shape, typestr, data (address, whether it is read-only),
// strides in bytes.
#include "cuda_array.h"

#include <string>

#include "../device_memory.h"
#include "../foreign.h"
#include "../gil.h"

namespace mt {
namespace {

struct Owned {
    PyObject* o;
    explicit Owned(PyObject* object) : o(object) {
        if (!o) throw PythonError();
    }
    ~Owned() { Py_XDECREF(o); }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
};

DType dtype_of_typestr(const std::string& text) {
    struct Known {
        const char* text;
        DType dtype;
    };
    constexpr Known known[] = {
        {"f2", DType::Float16},  {"f4", DType::Float32},   {"f8", DType::Float64},     {"i1", DType::Int8},
        {"i2", DType::Int16},    {"i4", DType::Int32},     {"i8", DType::Int64},       {"u1", DType::UInt8},
        {"u2", DType::UInt16},   {"u4", DType::UInt32},    {"u8", DType::UInt64},      {"b1", DType::Bool},
        {"V2", DType::BFloat16}, {"c8", DType::Complex64}, {"c16", DType::Complex128},
    };
    const bool native = text.size() > 1 && (text[0] == '<' || text[0] == '|' || text[0] == '=');
    for (const Known& each : known)
        if (native && text.compare(1, std::string::npos, each.text) == 0) return each.dtype;
    MT_THROW(Value, "__cuda_array_interface__: the typestr '", text, "' stands for no dtype here");
}

Dims numbers(PyObject* sequence, const char* what) {
    Dims r;
    Owned items(PySequence_Fast(sequence, "__cuda_array_interface__: a sequence of numbers was expected"));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.o); i++) {
        const long long number = PyLong_AsLongLong(PySequence_Fast_GET_ITEM(items.o, i));
        if (number == -1 && PyErr_Occurred()) throw PythonError();
        MT_CHECK_VALUE(number >= 0, "__cuda_array_interface__: ", what, " must not be negative, but one is ",
                       static_cast<int64_t>(number));
        r.push_back(number);
    }
    return r;
}

PyObject* entry(PyObject* dict, const char* key) {
    PyObject* value = PyDict_GetItemString(dict, key);
    MT_CHECK_VALUE(value, "__cuda_array_interface__ has no '", key, "'");
    return value;
}

}  // namespace

bool has_cuda_array(PyObject* o) {
    // Numbers and the usual sequences first: a name that is looked up in vain costs more than a small tensor.
    if (PyFloat_Check(o) || PyLong_Check(o) || PyList_Check(o) || PyTuple_Check(o) || PyUnicode_Check(o)) return false;
    return PyObject_HasAttrString(o, "__cuda_array_interface__");
}

TensorRef tensor_from_cuda_array(PyObject* o) {
    Owned dict(PyObject_GetAttrString(o, "__cuda_array_interface__"));
    MT_CHECK_TYPE(PyDict_Check(dict.o), "`__cuda_array_interface__` must be a dict");
    MT_CHECK_TYPE(PyUnicode_Check(entry(dict.o, "typestr")), "`typestr` must be a str");
    const char* text = PyUnicode_AsUTF8(entry(dict.o, "typestr"));
    if (!text) throw PythonError();
    const DType dtype = dtype_of_typestr(text);
    const Dims sizes = numbers(entry(dict.o, "shape"), "sizes");
    PyObject* data = entry(dict.o, "data");
    MT_CHECK_TYPE(PyTuple_Check(data) && PyTuple_GET_SIZE(data) == 2, "`data` must be a 2-tuple of (int, bool)");
    void* address = PyLong_AsVoidPtr(PyTuple_GET_ITEM(data, 0));
    const int read_only = PyErr_Occurred() ? -1 : PyObject_IsTrue(PyTuple_GET_ITEM(data, 1));
    if (read_only < 0) throw PythonError();
    MT_CHECK_TYPE(!read_only, "the read only flag is not supported, should always be False");
    Dims strides = contiguous_strides(sizes);
    PyObject* given = PyDict_GetItemString(dict.o, "strides");
    if (given && given != Py_None) {
        strides = numbers(given, "strides");
        MT_CHECK_TYPE(strides.size() == sizes.size(), "strides must be a sequence of the same length as shape");
        for (int64_t& stride : strides) {
            MT_CHECK_VALUE(stride % itemsize(dtype) == 0,
                           "given array strides not a multiple of the element byte size. Make a copy of the array to "
                           "reallocate the memory.");
            stride /= itemsize(dtype);
        }
    }
    int64_t count = 1;
    bool fits = true;
    for (int64_t s : sizes) fits = !__builtin_mul_overflow(count, s, &count) && fits;
    MT_CHECK_VALUE(fits, "__cuda_array_interface__: too many elements, the shape is ", IntSpan(sizes));
    MT_CHECK_VALUE(count == 0 || address, "__cuda_array_interface__: ", count, " elements at the address 0");
    Device device{DeviceType::CUDA, current_device_index(DeviceType::CUDA)};
    load_device(device);
    const size_t bytes = count ? storage_bytes_needed(sizes, strides, itemsize(dtype), 0) : 0;
    Storage* storage = storage_wrap(address, bytes, device, Py_NewRef(o), [](void* owner) {
        HoldGil held;
        Py_DECREF(static_cast<PyObject*>(owner));
    });
    TensorRef t = from_storage(storage, 0, sizes, strides, dtype);
    storage->drop();
    return t;
}

}  // namespace mt
