// Numbers, texts and tuples between CPython's C interface and C++, by PyTorch's names.
#pragma once

#include <mindtorch/python.h>

#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace mindtorch MINDTORCH_HIDDEN {

// NumPy's scalars, without NumPy.
inline bool scalar_of_numpy(PyObject* o) { return std::strncmp(Py_TYPE(o)->tp_name, "numpy.", 6) == 0; }
// What a conversion of Python's gave, unless it set an error.
template <class T>
T unless_error(T value) {
    if (value == static_cast<T>(-1) && PyErr_Occurred()) throw python_error();
    return value;
}
template <class T>
T narrowed(int64_t value, const char* what) {
    TORCH_CHECK_VALUE(value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max(),
                      "Overflow when unpacking ", what);
    return static_cast<T>(value);
}

}  // namespace mindtorch MINDTORCH_HIDDEN

// ---- numbers ----

inline bool THPUtils_checkLongExact(PyObject* o) { return PyLong_CheckExact(o) != 0; }
inline bool THPUtils_checkLong(PyObject* o) {
    if (PyLong_CheckExact(o)) return true;
    if (PyBool_Check(o)) return false;
    return PyLong_Check(o) != 0 || (mindtorch::scalar_of_numpy(o) && PyIndex_Check(o) && PyNumber_Check(o) &&
                                    std::strncmp(Py_TYPE(o)->tp_name, "numpy.bool", 10) != 0);
}
inline bool THPUtils_checkBool(PyObject* o) {
    return PyBool_Check(o) || std::strncmp(Py_TYPE(o)->tp_name, "numpy.bool", 10) == 0;
}
inline bool THPUtils_checkDouble(PyObject* o) {
    return PyFloat_Check(o) || PyLong_Check(o) ||
           (mindtorch::scalar_of_numpy(o) &&
            (PyIndex_Check(o) || std::strncmp(Py_TYPE(o)->tp_name, "numpy.float", 11) == 0));
}
inline bool THPUtils_checkScalar(PyObject* o) {
    return THPUtils_checkDouble(o) || PyComplex_Check(o) || THPUtils_checkBool(o);
}
inline int64_t THPUtils_unpackLong(PyObject* o) {
    int overflow = 0;
    py::object held;
    if (!PyLong_Check(o)) {
        held = py::reinterpret_steal<py::object>(PyNumber_Index(o));
        if (!held) throw python_error();
        o = held.ptr();
    }
    const long long value = PyLong_AsLongLongAndOverflow(o, &overflow);
    TORCH_CHECK_VALUE(overflow == 0, "Overflow when unpacking long long");
    return mindtorch::unless_error<int64_t>(value);
}
inline int THPUtils_unpackInt(PyObject* o) { return mindtorch::narrowed<int>(THPUtils_unpackLong(o), "long"); }
inline uint32_t THPUtils_unpackUInt32(PyObject* o) {
    const uint64_t value = mindtorch::unless_error<uint64_t>(PyLong_AsUnsignedLongLong(o));
    TORCH_CHECK_VALUE(value <= std::numeric_limits<uint32_t>::max(), "Overflow when unpacking long long");
    return static_cast<uint32_t>(value);
}
inline uint64_t THPUtils_unpackUInt64(PyObject* o) {
    return mindtorch::unless_error<uint64_t>(PyLong_AsUnsignedLongLong(o));
}
inline c10::DeviceIndex THPUtils_unpackDeviceIndex(PyObject* o) {
    return mindtorch::narrowed<c10::DeviceIndex>(THPUtils_unpackLong(o), "DeviceIndex");
}
template <class T>
T THPUtils_unpackInteger(PyObject* o) {
    return static_cast<T>(THPUtils_unpackLong(o));
}
template <>
inline uint64_t THPUtils_unpackInteger<uint64_t>(PyObject* o) {
    return THPUtils_unpackUInt64(o);
}
inline int64_t THPUtils_unpackIndex(PyObject* o) { return THPUtils_unpackLong(o); }
inline bool THPUtils_checkIndex(PyObject* o) { return !PyBool_Check(o) && (PyLong_Check(o) || PyIndex_Check(o)); }
inline bool THPUtils_unpackBool(PyObject* o) {
    TORCH_CHECK(o == Py_True || o == Py_False, "couldn't convert python object to boolean");
    return o == Py_True;
}
inline double THPUtils_unpackDouble(PyObject* o) { return mindtorch::unless_error(PyFloat_AsDouble(o)); }
inline c10::complex<double> THPUtils_unpackComplexDouble(PyObject* o) {
    const Py_complex z = PyComplex_AsCComplex(o);
    mindtorch::unless_error(z.real);
    return {z.real, z.imag};
}
inline bool THPUtils_unpackNumberAsBool(PyObject* o) { return mindtorch::unless_error(PyObject_IsTrue(o)) != 0; }
inline PyObject* THPUtils_packInt32(int32_t value) { return PyLong_FromLong(value); }
inline PyObject* THPUtils_packInt64(int64_t value) { return PyLong_FromLongLong(value); }
inline PyObject* THPUtils_packUInt32(uint32_t value) { return PyLong_FromUnsignedLong(value); }
inline PyObject* THPUtils_packUInt64(uint64_t value) { return PyLong_FromUnsignedLongLong(value); }
inline PyObject* THPUtils_packDoubleAsInt(double value) { return PyLong_FromDouble(value); }
inline PyObject* THPUtils_packDeviceIndex(c10::DeviceIndex value) { return PyLong_FromLong(value); }

// ---- texts ----

inline bool THPUtils_checkString(PyObject* o) { return PyBytes_Check(o) || PyUnicode_Check(o); }
// Lives as long as the object does.
inline std::string_view THPUtils_unpackStringView(PyObject* o) {
    if (PyBytes_Check(o)) return {PyBytes_AsString(o), static_cast<size_t>(PyBytes_Size(o))};
    TORCH_CHECK(PyUnicode_Check(o), "unpackString: expected bytes or unicode object");
    Py_ssize_t n = 0;
    const char* text = PyUnicode_AsUTF8AndSize(o, &n);
    TORCH_CHECK(text, "error unpacking string as utf-8");
    return {text, static_cast<size_t>(n)};
}
inline std::string THPUtils_unpackString(PyObject* o) { return std::string(THPUtils_unpackStringView(o)); }
inline PyObject* THPUtils_packString(const char* text) { return PyUnicode_FromString(text); }
inline PyObject* THPUtils_packString(const std::string& text) {
    return PyUnicode_FromStringAndSize(text.c_str(), static_cast<Py_ssize_t>(text.size()));
}
inline PyObject* THPUtils_internString(const std::string& text) { return PyUnicode_InternFromString(text.c_str()); }
inline void THPUtils_internStringInPlace(PyObject** o) { PyUnicode_InternInPlace(o); }

// ---- tuples and what else there is ----

inline PyObject* THPUtils_packInt64Array(size_t n, const int64_t* numbers) {
    auto tuple = py::reinterpret_steal<py::object>(PyTuple_New(static_cast<Py_ssize_t>(n)));
    if (!tuple) throw python_error();
    for (size_t i = 0; i < n; i++) {
        PyObject* const item = THPUtils_packInt64(numbers[i]);
        if (!item || PyTuple_SetItem(tuple.ptr(), static_cast<Py_ssize_t>(i), item) != 0) throw python_error();
    }
    return tuple.release().ptr();
}
inline bool THPUtils_checkIntTuple(PyObject* o) {
    if (!PyTuple_Check(o)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_Size(o); i++)
        if (!THPUtils_checkLong(PyTuple_GetItem(o, i))) return false;
    return true;
}
inline std::vector<int> THPUtils_unpackIntTuple(PyObject* o) {
    TORCH_CHECK(THPUtils_checkIntTuple(o), "Couldn't unpack int tuple");
    std::vector<int> numbers;
    for (Py_ssize_t i = 0; i < PyTuple_Size(o); i++) numbers.push_back(THPUtils_unpackInt(PyTuple_GetItem(o, i)));
    return numbers;
}
inline const char* THPUtils_typename(PyObject* o) { return Py_TYPE(o)->tp_name; }
#define THPUtils_setError(...) PyErr_Format(PyExc_RuntimeError, __VA_ARGS__)
inline void THPUtils_addPyMethodDefs(std::vector<PyMethodDef>& all, const PyMethodDef* more) {
    if (!all.empty()) all.pop_back();  // what ended it
    for (; more->ml_name; more++) all.push_back(*more);
    all.push_back(PyMethodDef{});
}
