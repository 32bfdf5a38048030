// Functions and methods over sets of overloads, and who may take their calls over: __torch_function__ and modes.
#include <new>
#include <vector>

#include "../gil.h"
#include "bind_errors.h"
#include "operator_object.h"
#include "subclass.h"
#include "types.h"

namespace mt {

namespace {

PyObject* g_function_handler = nullptr;  // Python function deciding about __torch_function__
PyObject* g_help = nullptr;              // Python function writing the help of a function, when somebody asks for it

struct FunctionObject {
    PyObject_HEAD PyObject* dict;
    PyObject* weakrefs;
    vectorcallfunc vectorcall;
    PyObject* name;
    const char* name_text;  // of `name`
    bool takes_numbers;     // for its first tensor, add(1, 2), or for a method's second: x.copy_(1)
    Operator** ops;
    size_t nops;
};
PyTypeObject* g_function_type = nullptr;
PyTypeObject* g_method_type = nullptr;

thread_local int g_attribute_modes = 0;  // of this thread's function modes, those that see attributes

PyObject* g_torch_function;  // interned "__torch_function__"
// What stands in a class that does not want to be asked: the function, and it as a static method.
PyObject* g_disabled_impl[2] = {};

// Whether somebody's __torch_function__ or a mode wants to see this call.
bool overridden(PyObject* const* args, Py_ssize_t n) {
    if (__builtin_expect(g_thread.function_modes > 0, 0)) return true;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyTypeObject* t = Py_TYPE(args[i]);
        if (t == tensor_type() || t == parameter_type()) continue;
        if (t == &PyLong_Type || t == &PyFloat_Type || t == &PyBool_Type || t == &PyUnicode_Type || args[i] == Py_None)
            continue;
        if (PyType_IsSubtype(t, tensor_base_type())) return true;
        if ((t == &PyList_Type || t == &PyTuple_Type)) {
            Py_ssize_t size = PySequence_Fast_GET_SIZE(args[i]);
            for (Py_ssize_t k = 0; k < size; k++) {
                PyTypeObject* it = Py_TYPE(PySequence_Fast_GET_ITEM(args[i], k));
                if (it == tensor_type() || it == parameter_type() || it == &PyLong_Type || it == &PyFloat_Type)
                    continue;
                if (PyType_IsSubtype(it, tensor_base_type()) || _PyType_Lookup(it, g_torch_function)) return true;
            }
            continue;
        }
        if (_PyType_Lookup(t, g_torch_function)) return true;
    }
    return false;
}

}  // namespace

bool may_be_overridden(PyObject* const* args, Py_ssize_t n) {
    return !g_thread.function_modes_disabled && overridden(args, n);
}

namespace {

// An object that is no tensor and takes calls over all the same.
bool stands_for_tensor(PyObject* o) {
    PyTypeObject* t = Py_TYPE(o);
    return t != tensor_type() && !PyType_IsSubtype(t, tensor_base_type()) && _PyType_Lookup(t, g_torch_function);
}

PyObject* call_handler(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames, bool* handled) {
    PyObject* positional = PyTuple_New(n);
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_INCREF(args[i]);
        PyTuple_SET_ITEM(positional, i, args[i]);
    }
    PyObject* keywords = PyDict_New();
    if (kwnames)
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); k++)
            PyDict_SetItem(keywords, PyTuple_GET_ITEM(kwnames, k), args[n + k]);
    PyObject* r = call_python(g_function_handler, self, positional, keywords);
    Py_DECREF(positional);
    Py_DECREF(keywords);
    *handled = true;
    if (r == Py_NotImplemented) {
        Py_DECREF(r);
        *handled = false;
    }
    return r;
}

}  // namespace

PyObject* ask_after_failure(PyObject* function, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
    Py_ssize_t all = n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    if (!g_function_handler || g_thread.function_modes_disabled) return nullptr;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    bool found = false;
    for (Py_ssize_t i = 0; i < all && !found; i++) {
        found = stands_for_tensor(args[i]);
        if (PyList_CheckExact(args[i]) || PyTuple_CheckExact(args[i]))
            for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(args[i]) && !found; k++)
                found = stands_for_tensor(PySequence_Fast_GET_ITEM(args[i], k));
    }
    if (!found) {
        PyErr_Restore(type, value, traceback);
        return nullptr;
    }
    bool handled;
    PyObject* r = call_handler(function, args, n, kwnames, &handled);
    if (handled) {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        return r;
    }
    PyErr_Restore(type, value, traceback);
    return nullptr;
}

bool ask_overrides(PyObject* function, PyObject* const* args, Py_ssize_t n, PyObject* kwnames, PyObject** result) {
    const Py_ssize_t all = n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    if (__builtin_expect(g_thread.function_modes_disabled || !g_function_handler || !overridden(args, all), 1))
        return false;
    bool handled;
    PyObject* r = call_handler(function, args, n, kwnames, &handled);
    if (handled) *result = r;
    return handled;
}

bool asks_for_attributes(PyObject* tensor) {
    if (g_thread.function_modes_disabled || !g_function_handler) return false;
    if (g_attribute_modes > 0) return true;
    PyTypeObject* type = Py_TYPE(tensor);
    if (type == tensor_type() || type == parameter_type()) return false;
    PyObject* method = _PyType_Lookup(type, g_torch_function);
    return method && method != g_disabled_impl[0] && method != g_disabled_impl[1];
}

bool ask_attribute(const char* name, const char* what, PyObject* tensor, PyObject* value, PyObject** result) {
    PyObject* descriptor = PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type()), name);
    PyObject* function = descriptor ? PyObject_GetAttrString(descriptor, what) : nullptr;
    Py_XDECREF(descriptor);
    *result = nullptr;
    if (!function) return true;
    PyObject* args[] = {tensor, value};
    bool handled;
    *result = call_handler(function, args, value ? 2 : 1, nullptr, &handled);
    Py_DECREF(function);
    return handled;
}

bool ask_method(const char* name, PyObject* tensor, PyObject* const* args, Py_ssize_t n, PyObject* kwnames,
                PyObject** result) {
    PyObject* function = PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type()), name);
    *result = nullptr;
    if (!function) return true;
    bool handled = true;
    *result = guarded<PyObject*>(nullptr, [&] {
        std::vector<PyObject*> all{tensor};
        all.insert(all.end(), args, args + n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0));
        return call_handler(function, all.data(), n + 1, kwnames, &handled);
    });
    Py_DECREF(function);
    return handled;
}

bool ask_function_handler(const char* method, PyObject* const* args, Py_ssize_t n, PyObject** result) {
    if (__builtin_expect(!g_function_handler || g_thread.function_modes_disabled || !overridden(args, n), 1))
        return false;
    PyObject* function = PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type()), method);
    if (!function) {
        *result = nullptr;
        return true;
    }
    bool handled;
    PyObject* r = call_handler(function, args, n, nullptr, &handled);
    Py_DECREF(function);
    if (handled) *result = r;
    return handled;
}

namespace {

PyObject* function_call(PyObject* o, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
    FunctionObject* f = reinterpret_cast<FunctionObject*>(o);
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    if (__builtin_expect(g_function_handler && !g_thread.function_modes_disabled &&
                             overridden(args, n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0)),
                         0)) {
        bool handled;
        PyObject* r = call_handler(o, args, n, kwnames, &handled);
        if (handled) return r;
    }
    CallInput in{args, n, kwnames, Py_TYPE(o) == g_method_type};
    PyObject* r = call_overloads(f->name_text, f->ops, f->nops, in);
    if (__builtin_expect(!r && f->takes_numbers && PyErr_ExceptionMatches(PyExc_TypeError), 0)) {
        const Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
        // Where that tensor stands: it may have been named.
        const Py_ssize_t wanted = in.method ? 1 : 0;
        Py_ssize_t first = n > wanted ? wanted : n + named;
        for (Py_ssize_t i = 0; i < named && n <= wanted; i++) {
            PyObject* name = PyTuple_GET_ITEM(kwnames, i);
            for (const char* meant : {in.method ? "src" : "input", in.method ? "other" : "self"})
                if (PyUnicode_CompareWithASCIIString(name, meant) == 0) first = n + i;
        }
        PyObject* number = first < n + named ? number_tensor(args[first]) : nullptr;
        if (number) {
            PyErr_Clear();
            r = guarded<PyObject*>(nullptr, [&] {
                std::vector<PyObject*> all(args, args + n + named);
                all[static_cast<size_t>(first)] = number;
                return call_overloads(f->name_text, f->ops, f->nops, {all.data(), n, kwnames, in.method});
            });
            Py_DECREF(number);
        }
    }
    return r;
}
PyObject* take_numbers(PyObject* o, PyObject*) {
    reinterpret_cast<FunctionObject*>(o)->takes_numbers = true;
    Py_RETURN_NONE;
}

void function_dealloc(PyObject* o) {
    FunctionObject* f = reinterpret_cast<FunctionObject*>(o);
    if (f->weakrefs) PyObject_ClearWeakRefs(o);
    Py_CLEAR(f->dict);
    Py_CLEAR(f->name);
    delete[] f->ops;
    PyTypeObject* type = Py_TYPE(o);
    type->tp_free(o);
    Py_DECREF(type);
}

PyObject* function_new(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject *name, *handles;
    if (!PyArg_ParseTuple(args, "UO", &name, &handles)) return nullptr;
    if (!PyUnicode_AsUTF8(name)) return nullptr;  // calls read it
    PyObject* seq = PySequence_Fast(handles, "expected a sequence of operators");
    if (!seq) return nullptr;
    bool fits = PySequence_Fast_GET_SIZE(seq) > 0;
    for (Py_ssize_t i = 0; fits && i < PySequence_Fast_GET_SIZE(seq); i++)
        fits = operator_of(PySequence_Fast_GET_ITEM(seq, i)) != nullptr;
    if (!fits) {
        Py_DECREF(seq);
        PyErr_SetString(PyExc_TypeError, "expected a sequence of operators");
        return nullptr;
    }
    const auto count = static_cast<size_t>(PySequence_Fast_GET_SIZE(seq));
    auto** ops = new (std::nothrow) Operator*[count];
    auto* f = ops ? reinterpret_cast<FunctionObject*>(type->tp_alloc(type, 0)) : nullptr;
    if (!f) {
        delete[] ops;
        Py_DECREF(seq);
        return PyErr_NoMemory();
    }
    f->vectorcall = function_call;
    Py_INCREF(name);
    f->name = name;
    f->name_text = PyUnicode_AsUTF8(name);
    f->nops = count;
    f->ops = ops;
    for (size_t i = 0; i < f->nops; i++)
        f->ops[i] = operator_of(PySequence_Fast_GET_ITEM(seq, static_cast<Py_ssize_t>(i)));
    Py_DECREF(seq);
    return reinterpret_cast<PyObject*>(f);
}
PyObject* function_repr(PyObject* o) {
    bool method = Py_TYPE(o) == g_method_type;
    return PyUnicode_FromFormat(
        method ? "<method '%U' of 'torch._C.TensorBase' objects>" : "<built-in method %U of type object>",
        reinterpret_cast<FunctionObject*>(o)->name);
}
PyObject* function_name(PyObject* o, void*) {
    PyObject* n = reinterpret_cast<FunctionObject*>(o)->name;
    Py_INCREF(n);
    return n;
}
PyObject* function_qualified_name(PyObject* o, void*) {
    if (Py_TYPE(o) != g_method_type) return function_name(o, nullptr);
    return PyUnicode_FromFormat("TensorBase.%U", reinterpret_cast<FunctionObject*>(o)->name);
}
PyObject* function_signature(PyObject* o, void*) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        FunctionObject* f = reinterpret_cast<FunctionObject*>(o);
        std::string s;
        for (size_t i = 0; i < f->nops; i++)
            s += std::string(i ? "\n" : "") + PyUnicode_AsUTF8(f->name) + python_signature(*f->ops[i]);
        return PyUnicode_FromString(s.c_str());
    });
}
// `what` is "text" or "signature".
PyObject* function_help(PyObject* o, void* what) {
    if (!g_help) Py_RETURN_NONE;
    return PyObject_CallFunction(g_help, "Os", o, static_cast<const char*>(what));
}
PyObject* function_operators(PyObject* o, void*) {
    FunctionObject* f = reinterpret_cast<FunctionObject*>(o);
    PyObject* t = PyTuple_New(static_cast<Py_ssize_t>(f->nops));
    for (size_t i = 0; i < f->nops; i++) {
        PyObject* h = f->ops[i]->handle ? f->ops[i]->handle : Py_None;
        Py_INCREF(h);
        PyTuple_SET_ITEM(t, static_cast<Py_ssize_t>(i), h);
    }
    return t;
}
PyObject* method_get(PyObject* self, PyObject* obj, PyObject*) {
    if (!obj || obj == Py_None) {
        Py_INCREF(self);
        return self;
    }
    return PyMethod_New(self, obj);
}
PyObject* self_itself(PyObject* o, PyObject*) {
    Py_INCREF(o);
    return o;
}

// What PyTorch's functions are: programs ask isinstance(torch.add, types.BuiltinFunctionType), and inspect.isbuiltin.
PyObject* class_of_builtins(PyObject*, void*) { return Py_NewRef(reinterpret_cast<PyObject*>(&PyCFunction_Type)); }

#define SHARED_GETSET                                                                             \
    {"__name__", function_name, nullptr, nullptr, nullptr},                                       \
        {"__qualname__", function_qualified_name, nullptr, nullptr, nullptr},                     \
        {"signatures", function_signature, nullptr, "Every overload, one a line.", nullptr},      \
        {"overloads", function_operators, nullptr, "The operators behind this name.", nullptr}, { \
        "__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr            \
    }
PyGetSetDef function_getset[] = {SHARED_GETSET,
                                 {"__class__", class_of_builtins, nullptr, nullptr, nullptr},
                                 {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyGetSetDef method_getset[] = {SHARED_GETSET, {nullptr, nullptr, nullptr, nullptr, nullptr}};
#undef SHARED_GETSET
// The types have texts of their own, which pydoc would find first.
char help_text[] = "text", help_signature[] = "signature";
PyGetSetDef help_getset[] = {{"__doc__", function_help, nullptr, nullptr, help_text},
                             {"__text_signature__", function_help, nullptr, nullptr, help_signature}};
PyMethodDef function_methods[] = {{"_take_numbers", take_numbers, METH_NOARGS, "Take a number for the first tensor."},
                                  {"__copy__", self_itself, METH_NOARGS, nullptr},
                                  {"__deepcopy__", self_itself, METH_O, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};
PyMemberDef function_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(FunctionObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(FunctionObject, weakrefs), READONLY, nullptr},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(FunctionObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
// The function itself, as a function of Python's core gives: it binds to no object, and inspect takes it for a routine.
PyObject* function_get(PyObject* self, PyObject*, PyObject*) { return Py_NewRef(self); }

PyType_Slot function_slots[] = {
    SLOT(Py_tp_new, function_new),         SLOT(Py_tp_dealloc, function_dealloc), SLOT(Py_tp_repr, function_repr),
    SLOT(Py_tp_call, PyVectorcall_Call),   SLOT(Py_tp_getset, function_getset),   SLOT(Py_tp_members, function_members),
    SLOT(Py_tp_methods, function_methods), SLOT(Py_tp_descr_get, function_get),   {0, nullptr}};
PyType_Slot method_slots[] = {
    SLOT(Py_tp_new, function_new),         SLOT(Py_tp_dealloc, function_dealloc), SLOT(Py_tp_repr, function_repr),
    SLOT(Py_tp_call, PyVectorcall_Call),   SLOT(Py_tp_getset, method_getset),     SLOT(Py_tp_members, function_members),
    SLOT(Py_tp_methods, function_methods), SLOT(Py_tp_descr_get, method_get),     {0, nullptr}};
PyType_Spec function_spec = {"mindtorch_v2._C.Function", sizeof(FunctionObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, function_slots};
PyType_Spec method_spec = {"mindtorch_v2._C.Method", sizeof(FunctionObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
                           method_slots};

// ---- module functions ----

PyObject* py_set_disabled(PyObject*, PyObject* args) {
    PyObject *function, *as_static;
    if (!PyArg_ParseTuple(args, "OO:_set_disabled_torch_function", &function, &as_static)) return nullptr;
    Py_XSETREF(g_disabled_impl[0], Py_NewRef(function));
    Py_XSETREF(g_disabled_impl[1], Py_NewRef(as_static));
    Py_RETURN_NONE;
}
PyObject* py_set_handler(PyObject*, PyObject* handler) {
    Py_XSETREF(g_function_handler, Py_NewRef(handler));
    Py_RETURN_NONE;
}
PyObject* py_set_help(PyObject*, PyObject* help) {
    Py_XSETREF(g_help, Py_NewRef(help));
    Py_RETURN_NONE;
}
PyObject* py_function_modes(PyObject*, PyObject* args) {
    int change, attributes;
    if (!PyArg_ParseTuple(args, "ii:_change_function_modes", &change, &attributes)) return nullptr;
    g_thread.function_modes += change;
    g_attribute_modes += attributes;
    return PyLong_FromLong(g_thread.function_modes);
}
PyObject* py_disable_function(PyObject*, PyObject* o) {
    bool before = g_thread.function_modes_disabled;
    g_thread.function_modes_disabled = PyObject_IsTrue(o) == 1;
    return PyBool_FromLong(before);
}

PyMethodDef functions[] = {{"_set_deprecated_forms", set_deprecated_forms, METH_O, nullptr},
                           {"_set_function_handler", py_set_handler, METH_O, nullptr},
                           {"_set_disabled_torch_function", py_set_disabled, METH_VARARGS, nullptr},
                           {"_set_help", py_set_help, METH_O, nullptr},
                           {"_change_function_modes", py_function_modes, METH_VARARGS, nullptr},
                           {"_set_asker", set_asker, METH_O, nullptr},
                           {"_disable_function_overrides", py_disable_function, METH_O, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool init_function_types(PyObject* module) {
    g_torch_function = PyUnicode_InternFromString("__torch_function__");
    g_function_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&function_spec));
    g_method_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&method_spec));
    if (!g_function_type || !g_method_type) return false;
    for (PyTypeObject* type : {g_function_type, g_method_type}) {
        for (PyGetSetDef& each : help_getset) {
            PyObject* descriptor = PyDescr_NewGetSet(type, &each);
            const bool set = descriptor && PyDict_SetItemString(type->tp_dict, each.name, descriptor) == 0;
            Py_XDECREF(descriptor);
            if (!set) return false;
        }
        PyType_Modified(type);
    }
    PyModule_AddObjectRef(module, "Function", reinterpret_cast<PyObject*>(g_function_type));
    PyModule_AddObjectRef(module, "Method", reinterpret_cast<PyObject*>(g_method_type));
    return PyModule_AddFunctions(module, functions) == 0 && init_overridable(module);
}

}  // namespace mt
