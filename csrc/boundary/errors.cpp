// Errors that cross the boundary: a class, a text, and Python's exception where there is one.
#include <string>

#include "boundary/boundary.h"

namespace mt::boundary {
namespace {

struct Kept {
    int kind = 0;
    std::string text;
    PyObject* exception = nullptr;
};
thread_local Kept g_kept;

PyObject* raised() {  // the exception that is set, which is cleared
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace && value) PyException_SetTraceback(value, trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return value;
}

void keep(int kind, std::string text, PyObject* exception) {
    g_kept.kind = kind;
    g_kept.text = std::move(text);
    Py_XSETREF(g_kept.exception, exception);
}

std::string text_of(PyObject* exception) {
    PyObject* s = PyObject_Str(exception);
    const char* c = s ? PyUnicode_AsUTF8(s) : nullptr;
    std::string text = c ? c : Py_TYPE(exception)->tp_name;
    Py_XDECREF(s);
    PyErr_Clear();
    return text;
}

void set_error(int kind, const char* text, size_t length, mt_object exception) {
    Locked locked;
    keep(exception ? MT_ERROR_PYTHON : kind, std::string(text, length), Py_XNewRef(object(exception)));
}

int take_error(const char** text, size_t* length, mt_object* exception) {
    Locked locked;
    *text = g_kept.text.data();
    *length = g_kept.text.size();
    *exception = handle(std::exchange(g_kept.exception, nullptr));
    return g_kept.kind;
}

int warn(const char* text, const char* category, const char* file, int line) {
    return reported([&] {
        PyObject* type = PyDict_GetItemString(PyEval_GetBuiltins(), category);  // borrowed
        if (!type) type = PyExc_UserWarning;
        // As PyTorch: attributed to the Python code that is running, with the place in C++ behind the text.
        std::string all = concat(text, " (Triggered internally at ", file, ":", line, ".)");
        if (PyErr_WarnEx(type, all.c_str(), 1) < 0) throw PythonError();
    });
}

// Of a library that is being loaded. Who loads libraries takes it from the hook; where the interpreter's own import
// does, it stays set and the import fails with it.
void load_failed(int kind, const char* message) {
    Locked locked;
    if (PyErr_Occurred()) return;  // the first one says most
    try {
        throw Error(kind <= MT_ERROR_LINALG ? static_cast<ErrorKind>(kind) : ErrorKind::Runtime, message);
    } catch (...) {
        raise_to_python();
    }
    PyObject* exception = raised();
    bool taken = false;
    try {
        Owned answer(call_hook("load_failed", {exception}));
        taken = answer.get() == Py_True;
    } catch (...) {
        PyErr_Clear();
    }
    if (!taken) {
        // An interpreter may put a SystemError without a cause in its place.
        PySys_FormatStderr("%s: %S\n", Py_TYPE(exception)->tp_name, exception);
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception);
    }
    Py_DECREF(exception);
}

}  // namespace

void keep_error() noexcept {
    try {
        throw;
    } catch (const Error& e) {
        keep(static_cast<int>(e.kind), e.text, nullptr);
    } catch (...) {
        raise_to_python();
        PyObject* exception = raised();
        keep(MT_ERROR_PYTHON, exception ? text_of(exception) : "unknown error", exception);
    }
}

void throw_kept_error() {
    if (g_kept.exception) {
        PyObject* e = std::exchange(g_kept.exception, nullptr);
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(e)), e);
        Py_DECREF(e);
        throw PythonError();
    }
    throw Error(g_kept.kind <= MT_ERROR_LINALG ? static_cast<ErrorKind>(g_kept.kind) : ErrorKind::Runtime,
                std::move(g_kept.text));
}

void fill_errors(mt_boundary& t) {
    t.set_error = set_error;
    t.take_error = take_error;
    t.warn = warn;
    t.load_failed = load_failed;
}

}  // namespace mt::boundary
