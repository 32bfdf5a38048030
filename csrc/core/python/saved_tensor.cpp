// grad_fn._raw_saved_self and its like: one tensor that a node keeps, to hang hooks on.
#include "custom_function.h"
#include "types.h"

namespace mt {
namespace {

struct SavedTensorObject {
    PyObject_HEAD PyObject* node;
    int place;
};
PyTypeObject* g_type = nullptr;

Saved& saved_of(PyObject* o) {
    SavedTensorObject* s = reinterpret_cast<SavedTensorObject*>(o);
    return reinterpret_cast<Node*>(s->node)->saved[s->place];
}

// register_hooks(pack, unpack): what is kept goes through pack now, and through unpack when backward asks for it.
PyObject* register_hooks(PyObject* o, PyObject* args) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        PyObject* pack = PyTuple_GET_SIZE(args) == 2 ? PyTuple_GET_ITEM(args, 0) : Py_None;
        PyObject* unpack_hook = PyTuple_GET_SIZE(args) == 2 ? PyTuple_GET_ITEM(args, 1) : Py_None;
        MT_CHECK_TYPE(PyCallable_Check(pack) && PyCallable_Check(unpack_hook),
                      "register_hooks(): incompatible function arguments. The following argument types are supported:\n"
                      "    1. (self: torch._C._autograd.SavedTensor, arg0: collections.abc.Callable, arg1: "
                      "collections.abc.Callable) -> None");
        Node* owner = reinterpret_cast<Node*>(reinterpret_cast<SavedTensorObject*>(o)->node);
        Saved& s = saved_of(o);
        MT_CHECK(!owner->released,
                 "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the "
                 "graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need "
                 "to backward through the graph a second time or if you need to access saved variables after calling "
                 "backward.");
        MT_CHECK(s.kind != Saved::Packed,
                 "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of "
                 "hooks is allowed at a time.");
        MT_CHECK(s.kind == Saved::Input || s.kind == Saved::Output,
                 "Calling register_hooks on a saved tensor with value None is forbidden");
        Tensor& t = *reinterpret_cast<Tensor*>(s.object);
        pack_saved(s, t, pack, unpack_hook);
        Py_RETURN_NONE;
    });
}
PyObject* get_data(PyObject* o, void*) {
    return guarded<PyObject*>(nullptr, [&] {
        Node* owner = reinterpret_cast<Node*>(reinterpret_cast<SavedTensorObject*>(o)->node);
        check_not_released(owner);
        return unpack(saved_of(o), owner);
    });
}
void dealloc(PyObject* o) {
    PyTypeObject* type = Py_TYPE(o);
    Py_XDECREF(reinterpret_cast<SavedTensorObject*>(o)->node);
    type->tp_free(o);
    Py_DECREF(type);
}

PyObject* refuse_new(PyTypeObject*, PyObject*, PyObject*) {
    PyErr_SetString(PyExc_RuntimeError,
                    "Trying to create a SavedTensor object from Python is forbidden: a node makes it when it saves");
    return nullptr;
}

PyMethodDef methods[] = {{"register_hooks", register_hooks, METH_VARARGS, "register_hooks(pack, unpack)"},
                         {nullptr, nullptr, 0, nullptr}};
PyGetSetDef getset[] = {{"data", get_data, nullptr, "The tensor.", nullptr},
                        {nullptr, nullptr, nullptr, nullptr, nullptr}};
#define SLOT(id, fn) {id, reinterpret_cast<void*>(fn)}
PyType_Slot slots[] = {SLOT(Py_tp_dealloc, dealloc),
                       SLOT(Py_tp_new, refuse_new),
                       SLOT(Py_tp_methods, methods),
                       SLOT(Py_tp_getset, getset),
                       {0, nullptr}};
PyType_Spec spec = {"mindtorch_v2._C.SavedTensor", sizeof(SavedTensorObject), 0, Py_TPFLAGS_DEFAULT, slots};

}  // namespace

PyObject* saved_tensor_object(Node* n, int place) {
    SavedTensorObject* s = reinterpret_cast<SavedTensorObject*>(g_type->tp_alloc(g_type, 0));
    if (!s) throw PythonError();
    s->node = Py_NewRef(reinterpret_cast<PyObject*>(n));
    s->place = place;
    return reinterpret_cast<PyObject*>(s);
}

bool init_saved_tensor(PyObject* module) {
    g_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    return g_type && PyModule_AddObjectRef(module, "SavedTensor", reinterpret_cast<PyObject*>(g_type)) == 0;
}

}  // namespace mt
