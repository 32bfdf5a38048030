// Anomaly mode: each node remembers where the forward made it, and which node was running then.
#include "autograd.h"

namespace mt {
namespace {

std::string joined(PyObject* lines) {
    PyObject* empty = PyUnicode_FromString("");
    PyObject* text = lines ? PyUnicode_Join(empty, lines) : nullptr;
    const char* s = text ? PyUnicode_AsUTF8(text) : nullptr;
    std::string r = s ? s : "";
    Py_XDECREF(text);
    Py_DECREF(empty);
    PyErr_Clear();
    return r;
}
void warn(const std::string& text) {
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) PyErr_Clear();
}

}  // namespace

void record_trace(Node* n) {
    PyObject* m = PyImport_ImportModule("traceback");
    PyObject* lines = m ? PyObject_CallMethod(m, "format_stack", nullptr) : nullptr;
    Py_XDECREF(m);
    if (lines) {
        PyObject* parent = current_node() ? reinterpret_cast<PyObject*>(current_node()) : Py_None;
        Py_XSETREF(n->trace, PyTuple_Pack(2, lines, parent));
        Py_DECREF(lines);
    }
    PyErr_Clear();
}

void show_trace(const Node* n) {
    PyObject *type, *value, *tb;
    PyErr_Fetch(&type, &value, &tb);
    if (!n->trace) {
        warn(concat("Error detected in ", name_of(n),
                    ". No forward pass information available. Enable detect anomaly during forward pass for more "
                    "information."));
    } else {
        warn(concat("Error detected in ", name_of(n), ". Traceback of forward call that caused the error:\n",
                    joined(PyTuple_GET_ITEM(n->trace, 0))));
    }
    // Nodes of a second backward: made while another node ran.
    for (const Node* at = n; at->trace;) {
        PyObject* parent = PyTuple_GET_ITEM(at->trace, 1);
        if (parent == Py_None) break;
        at = reinterpret_cast<const Node*>(parent);
        if (!at->trace) {
            warn(concat("\n\nPrevious calculation was induced by ", name_of(at),
                        ". No forward pass information available. Enable detect anomaly during forward pass for more "
                        "information."));
        } else {
            warn(concat("\n\nPrevious calculation was induced by ", name_of(at),
                        ". Traceback of forward call that induced the previous calculation:\n",
                        joined(PyTuple_GET_ITEM(at->trace, 0))));
        }
    }
    PyErr_Restore(type, value, tb);
}

}  // namespace mt
