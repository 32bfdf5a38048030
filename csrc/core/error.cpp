// The exception in flight, as Python sees it.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <new>
#include <stdexcept>

#include "error.h"

namespace mt {
namespace {
PyObject* linalg_error() {
    static PyObject* type = [] {
        PyObject* m = PyImport_ImportModule("mindtorch_v2._C");
        PyObject* t = m ? PyObject_GetAttrString(m, "_LinAlgError") : nullptr;
        Py_XDECREF(m);
        PyErr_Clear();
        return t ? t : PyExc_RuntimeError;
    }();
    return type;
}
PyObject* python_type(ErrorKind k) {
    switch (k) {
        case ErrorKind::Type:
            return PyExc_TypeError;
        case ErrorKind::Value:
            return PyExc_ValueError;
        case ErrorKind::Index:
            return PyExc_IndexError;
        case ErrorKind::NotImplemented:
            return PyExc_NotImplementedError;
        case ErrorKind::Memory:
            return PyExc_MemoryError;
        case ErrorKind::Attribute:
            return PyExc_AttributeError;
        case ErrorKind::Key:
            return PyExc_KeyError;
        case ErrorKind::Overflow:
            return PyExc_OverflowError;
        case ErrorKind::ZeroDivision:
            return PyExc_ZeroDivisionError;
        case ErrorKind::LinAlg:
            return linalg_error();
        default:
            return PyExc_RuntimeError;
    }
}
}  // namespace

std::string concat_parts(std::initializer_list<Part> parts) {
    std::string text;
    for (const Part& part : parts) part.append_to(text);
    return text;
}

void raise(ErrorKind kind, std::initializer_list<Part> message) { throw Error(kind, concat_parts(message)); }

void raise_to_python() noexcept {
    try {
        throw;
    } catch (const PythonError&) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "an operator failed without saying why");
    } catch (const Error& e) {
        // Texts quote what the caller gave, which need not be UTF-8.
        PyObject* text =
            PyUnicode_DecodeUTF8(e.text.data(), static_cast<Py_ssize_t>(e.text.size()), "backslashreplace");
        if (!text) return;
        PyErr_SetObject(python_type(e.kind), text);
        Py_DECREF(text);
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::exception& e) {
        PyErr_SetString(PyExc_RuntimeError, e.what());
    }
}
}  // namespace mt
