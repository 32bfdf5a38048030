#include "late_operators.h"

namespace mt {
namespace {
PyObject* g_reader = nullptr;
}

void set_late_operators(PyObject* reader) {
    PyObject* before = g_reader;
    g_reader = Py_XNewRef(reader);
    Py_XDECREF(before);
}

bool read_late_operators() {
    if (!g_reader) return false;
    PyObject* reader = Py_NewRef(g_reader);
    PyObject *type, *value, *trace;  // an error that is on its way outlives the rows' code
    PyErr_Fetch(&type, &value, &trace);
    PyObject* more = PyObject_CallNoArgs(reader);
    Py_DECREF(reader);
    if (!more) {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(trace);
        throw PythonError();
    }
    const bool found = more == Py_True;
    Py_DECREF(more);
    PyErr_Restore(type, value, trace);
    return found;
}

}  // namespace mt
