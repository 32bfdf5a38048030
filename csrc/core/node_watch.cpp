#include "node_watch.h"

#include <utility>

#include "gil.h"

namespace mt {

namespace {

thread_local PyObject* g_watch = nullptr;

void tell(PyObject* watch, Node* n, bool inner, bool begins) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);  // an end may come while an error is on its way
    PyObject* told =
        call_python(watch, reinterpret_cast<PyObject*>(n), inner ? Py_True : Py_False, begins ? Py_True : Py_False);
    if (!told) PyErr_WriteUnraisable(watch);
    Py_XDECREF(told);
    PyErr_Restore(type, value, trace);
}

}  // namespace

PyObject* set_node_watch(PyObject* watch) { return std::exchange(g_watch, watch); }

WatchedNode::WatchedNode(Node* n, bool inner) : watch_(g_watch), node_(n), inner_(inner) {
    Py_XINCREF(watch_);
    if (watch_) tell(watch_, node_, inner_, true);
}

WatchedNode::~WatchedNode() {
    if (watch_) tell(watch_, node_, inner_, false);
    Py_XDECREF(watch_);
}

}  // namespace mt
