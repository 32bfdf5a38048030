// Functions written in Python of which a class or a mode may take calls over: what `@overridable` makes of them.
#include "bind.h"
#include "types.h"

namespace mt {

namespace {

PyObject* g_offer = nullptr;  // Python function that offers a call to modes and classes

// A function, called as it is unless somebody may want the call: then `offer(this, args, kwargs)` comes first. It adds
// no frame of Python's, so tracebacks and the stack levels of warnings are those of the function alone; and it looks
// like the function, which it is to everybody who asks for its attributes.
struct Overridable {
    PyObject_HEAD PyObject* function;
    vectorcallfunc run;  // of the function
    PyObject* weakrefs;
    vectorcallfunc vectorcall;
};

PyObject* offer(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
    PyObject* positional = PyTuple_New(n);
    PyObject* keywords = PyDict_New();
    bool made = positional && keywords;
    for (Py_ssize_t i = 0; made && i < n; i++) PyTuple_SET_ITEM(positional, i, Py_NewRef(args[i]));
    for (Py_ssize_t k = 0; made && kwnames && k < PyTuple_GET_SIZE(kwnames); k++)
        made = PyDict_SetItem(keywords, PyTuple_GET_ITEM(kwnames, k), args[n + k]) == 0;
    PyObject* result = nullptr;
    if (made) {
        PyObject* all[] = {self, positional, keywords};
        result = PyObject_Vectorcall(g_offer, all, 3, nullptr);
    }
    Py_XDECREF(positional);
    Py_XDECREF(keywords);
    return result;
}

PyObject* overridable_call(PyObject* o, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    if (__builtin_expect(g_offer && may_be_overridden(args, n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0)), 0)) {
        PyObject* result = offer(o, args, n, kwnames);
        if (result != Py_NotImplemented) return result;
        Py_DECREF(result);
    }
    Overridable* self = reinterpret_cast<Overridable*>(o);
    return self->run(self->function, args, nargsf, kwnames);
}

PyObject* overridable_new(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject* function;
    if (!PyArg_ParseTuple(args, "O!:overridable", &PyFunction_Type, &function)) return nullptr;
    Overridable* made = reinterpret_cast<Overridable*>(type->tp_alloc(type, 0));
    if (!made) return nullptr;
    made->function = Py_NewRef(function);
    made->run = PyVectorcall_Function(function);
    made->vectorcall = overridable_call;
    return reinterpret_cast<PyObject*>(made);
}

int overridable_traverse(PyObject* o, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(o));
    Py_VISIT(reinterpret_cast<Overridable*>(o)->function);
    return 0;
}

int overridable_clear(PyObject* o) {
    Py_CLEAR(reinterpret_cast<Overridable*>(o)->function);
    return 0;
}

void overridable_dealloc(PyObject* o) {
    PyObject_GC_UnTrack(o);
    if (reinterpret_cast<Overridable*>(o)->weakrefs) PyObject_ClearWeakRefs(o);
    overridable_clear(o);
    PyTypeObject* type = Py_TYPE(o);
    type->tp_free(o);
    Py_DECREF(type);
}

// What is asked of it is asked of the function: its name, documentation, code, defaults, annotations, class.
PyObject* overridable_getattr(PyObject* o, PyObject* name) {
    bool own = PyDict_Contains(Py_TYPE(o)->tp_dict, name) == 1;
    return own ? PyObject_GenericGetAttr(o, name) : PyObject_GetAttr(reinterpret_cast<Overridable*>(o)->function, name);
}

int overridable_setattr(PyObject* o, PyObject* name, PyObject* value) {
    return PyObject_SetAttr(reinterpret_cast<Overridable*>(o)->function, name, value);
}

PyObject* overridable_repr(PyObject* o) { return PyObject_Repr(reinterpret_cast<Overridable*>(o)->function); }

PyObject* overridable_get(PyObject* self, PyObject* object, PyObject*) {
    return !object || object == Py_None ? Py_NewRef(self) : PyMethod_New(self, object);
}

// A pickle names it, as it does any function.
PyObject* overridable_reduce(PyObject* o, PyObject*) {
    return PyObject_GetAttrString(reinterpret_cast<Overridable*>(o)->function, "__qualname__");
}

PyObject* overridable_function(PyObject* o, void*) { return Py_NewRef(reinterpret_cast<Overridable*>(o)->function); }

PyObject* asked_of_function(PyObject* o, void* name) {
    return PyObject_GetAttrString(reinterpret_cast<Overridable*>(o)->function, static_cast<const char*>(name));
}

// A type has these of its own, and some programs ask past `getattr`: pydoc does.
char doc_name[] = "__doc__", module_name[] = "__module__";
PyGetSetDef of_function[] = {{doc_name, asked_of_function, nullptr, nullptr, doc_name},
                             {module_name, asked_of_function, nullptr, nullptr, module_name}};

PyGetSetDef getset[] = {{"_function", overridable_function, nullptr, "The function, which nobody takes over.", nullptr},
                        {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef methods[] = {{"__reduce__", overridable_reduce, METH_NOARGS, nullptr},
                         {"__reduce_ex__", overridable_reduce, METH_O, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(Overridable, weakrefs), READONLY, nullptr},
                         {"__vectorcalloffset__", T_PYSSIZET, offsetof(Overridable, vectorcall), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};
PyType_Slot slots[] = {SLOT(Py_tp_new, overridable_new),
                       SLOT(Py_tp_dealloc, overridable_dealloc),
                       SLOT(Py_tp_traverse, overridable_traverse),
                       SLOT(Py_tp_clear, overridable_clear),
                       SLOT(Py_tp_repr, overridable_repr),
                       SLOT(Py_tp_call, PyVectorcall_Call),
                       SLOT(Py_tp_getattro, overridable_getattr),
                       SLOT(Py_tp_setattro, overridable_setattr),
                       SLOT(Py_tp_descr_get, overridable_get),
                       SLOT(Py_tp_getset, getset),
                       SLOT(Py_tp_members, members),
                       SLOT(Py_tp_methods, methods),
                       {0, nullptr}};
PyType_Spec spec = {"mindtorch_v2._C.Overridable", sizeof(Overridable), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
                    slots};

PyObject* set_offer(PyObject*, PyObject* offer) {
    Py_XSETREF(g_offer, Py_NewRef(offer));
    Py_RETURN_NONE;
}

PyMethodDef functions[] = {{"_set_offer", set_offer, METH_O, "Give the function that offers calls of Overridables."},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool init_overridable(PyObject* module) {
    PyObject* type = PyType_FromSpec(&spec);
    if (!type) return false;
    PyTypeObject* made = reinterpret_cast<PyTypeObject*>(type);
    for (PyGetSetDef& each : of_function) {
        PyObject* descriptor = PyDescr_NewGetSet(made, &each);
        if (!descriptor || PyDict_SetItemString(made->tp_dict, each.name, descriptor) < 0) return false;
        Py_DECREF(descriptor);
    }
    PyType_Modified(made);
    return PyModule_AddObject(module, "Overridable", type) == 0 && PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace mt
