// The base of the Python classes that stand for operators: calling one goes straight to the binder.
#include <algorithm>
#include <memory>
#include <new>

#include "bind.h"
#include "operator_object.h"
#include "types.h"

namespace mt {
namespace {

struct CallableObject {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject* handles;  // a tuple of operators, tried in this order
};

PyObject* call(PyObject* o, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
    PyObject* handles = reinterpret_cast<CallableObject*>(o)->handles;
    if (!handles || PyTuple_GET_SIZE(handles) == 0) {
        PyErr_SetString(PyExc_TypeError, "this object stands for no operator");
        return nullptr;
    }
    PyObject* taken = nullptr;
    if (ask_overrides(o, args, PyVectorcall_NARGS(nargsf), kwnames, &taken)) return taken;
    Py_ssize_t n = PyTuple_GET_SIZE(handles);
    Operator* one;
    std::unique_ptr<Operator*[]> several;
    Operator** ops = &one;
    if (n == 1) {
        one = operator_of(PyTuple_GET_ITEM(handles, 0));
    } else {
        several.reset(ops = new (std::nothrow) Operator*[static_cast<size_t>(n)]);
        if (!ops) return PyErr_NoMemory();
        for (Py_ssize_t i = 0; i < n; i++) ops[i] = operator_of(PyTuple_GET_ITEM(handles, i));
    }
    Py_INCREF(handles);  // a kernel may change what the object stands for
    PyObject* r = call_operators(ops, static_cast<size_t>(n), {args, PyVectorcall_NARGS(nargsf), kwnames});
    Py_DECREF(handles);
    if (__builtin_expect(!r, 0)) r = ask_after_failure(o, args, PyVectorcall_NARGS(nargsf), kwnames);
    return r;
}

PyObject* make(PyTypeObject* type, PyObject*, PyObject*) {
    PyObject* o = type->tp_alloc(type, 0);
    if (o) reinterpret_cast<CallableObject*>(o)->vectorcall = call;
    return o;
}
void dealloc(PyObject* o) {
    PyTypeObject* type = Py_TYPE(o);
    Py_CLEAR(reinterpret_cast<CallableObject*>(o)->handles);
    type->tp_free(o);
    Py_DECREF(type);
}
PyObject* set_operators(PyObject* o, PyObject* handles) {
    bool fits = PyTuple_Check(handles);
    for (Py_ssize_t i = 0; fits && i < PyTuple_GET_SIZE(handles); i++)
        fits = operator_of(PyTuple_GET_ITEM(handles, i)) != nullptr;
    if (!fits) {
        PyErr_SetString(PyExc_TypeError, "expected a tuple of operators");
        return nullptr;
    }
    Py_XSETREF(reinterpret_cast<CallableObject*>(o)->handles, Py_NewRef(handles));
    Py_RETURN_NONE;
}
// A class of Python's does not inherit the fast call before 3.12. Only for classes that define no __call__.
PyObject* call_fast(PyObject*, PyObject* type) {
    PyTypeObject* t = reinterpret_cast<PyTypeObject*>(type);
    if (!PyType_Check(type) || t->tp_call != PyVectorcall_Call || t->tp_vectorcall_offset <= 0) {
        PyErr_SetString(PyExc_TypeError, "expected a class derived from OperatorCallable that defines no __call__");
        return nullptr;
    }
    t->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
    return Py_NewRef(type);
}

PyMethodDef methods[] = {{"_set_operators", set_operators, METH_O, "The operators that a call tries, a tuple."},
                         {nullptr, nullptr, 0, nullptr}};
PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(CallableObject, vectorcall), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(make)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                       {Py_tp_methods, methods},
                       {Py_tp_members, members},
                       {0, nullptr}};
PyType_Spec spec = {"mindtorch_v2._C.OperatorCallable", sizeof(CallableObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL, slots};
PyMethodDef functions[] = {{"_call_fast", call_fast, METH_O, "A decorator of subclasses of OperatorCallable."},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool init_callable_type(PyObject* module) {
    PyObject* type = PyType_FromSpec(&spec);
    return type && PyModule_AddObjectRef(module, "OperatorCallable", type) == 0 &&
           PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace mt
