// Hooks run user code between two steps of backward: what they return is checked before the engine goes on with it, and
// whatever they may drop is held while they run.
#include "hooks.h"

#include "composing.h"
#include "gil.h"
#include "python/types.h"
#include "python_keys.h"
#include "sparse.h"

namespace mt {

PyObject* referent(PyObject* weak) {
#if PY_VERSION_HEX >= 0x030D0000
    PyObject* o = nullptr;
    if (PyWeakref_GetRef(weak, &o) < 0) throw PythonError();
    return o;
#else
    PyObject* o = PyWeakref_GetObject(weak);
    return o == Py_None ? nullptr : Py_NewRef(o);
#endif
}
namespace {

struct Reference {
    PyObject* object;
    ~Reference() { Py_XDECREF(object); }
};

std::string name_of_hook(PyObject* hook) {
    Reference name{PyObject_GetAttrString(hook, "__name__")};
    const char* text = name.object && PyUnicode_Check(name.object) ? PyUnicode_AsUTF8(name.object) : nullptr;
    PyErr_Clear();
    return text ? text : "<unknown>";
}

std::string type_text(const Tensor& t) {
    const char* where = t.is_cpu() ? "" : device_type_name(t.device.type);
    return concat("torch.", where, *where ? "." : "", dtype_class_name(t.dtype), "Tensor");
}

// Puts what a hook returned for one gradient in its place; None stands for no gradient where a tuple was returned.
void replace(TensorRef& grad, PyObject* r, PyObject* hook) {
    if (r == Py_None) {
        grad = TensorRef();
        return;
    }
    MT_CHECK(grad, "can't replace a None gradient with a non-None value");
    MT_CHECK_TYPE(tensor_check(r), "expected Variable, but hook returned '", Py_TYPE(r)->tp_name, "'");
    Tensor* fresh = reinterpret_cast<Tensor*>(r);
    MT_CHECK(fresh->dtype == grad->dtype && fresh->device.type == grad->device.type, "hook '", name_of_hook(hook),
             "' has changed the type of value (was ", type_text(*grad), " got ", type_text(*fresh), ")");
    MT_CHECK(fresh->sizes() == grad->sizes(), "hook '", name_of_hook(hook), "' has changed the size of value");
    grad = TensorRef::share(fresh);
}

void replace_all(Gradients& grads, PyObject* r, PyObject* hook) {
    MT_CHECK_TYPE(PyTuple_Check(r), "expected tuple, but hook returned '", Py_TYPE(r)->tp_name, "'");
    const Py_ssize_t expected = static_cast<Py_ssize_t>(grads.size());
    MT_CHECK(PyTuple_GET_SIZE(r) == expected, "hook '", name_of_hook(hook),
             "' has returned an incorrect number of values (got ", PyTuple_GET_SIZE(r), ", but expected ", expected,
             ")");
    for (Py_ssize_t i = 0; i < expected; i++) replace(grads[static_cast<size_t>(i)], PyTuple_GET_ITEM(r, i), hook);
}

// use(hook) for each hook that stands in the dict now: hooks may add hooks, and remove themselves.
template <class F>
void for_each_hook(PyObject* dict, F use) {
    if (!dict || PyDict_Size(dict) == 0) return;
    Reference hooks{PyDict_Values(dict)};
    if (!hooks.object) throw PythonError();
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(hooks.object); i++) use(PyList_GET_ITEM(hooks.object, i));
}

// A gradient that nothing flowed into comes to its hooks as None.
void run_gradient_hooks(PyObject* dict, TensorRef& grad) {
    for_each_hook(dict, [&](PyObject* hook) {
        ProgramsOwn own;
        Reference r{call_python(hook, grad ? grad->py() : Py_None)};
        if (!r.object) throw PythonError();
        if (r.object != Py_None) replace(grad, r.object, hook);
    });
}

TensorRef tensor_of(PyObject* weak) {
    PyObject* o = referent(weak);
    return o ? TensorRef::steal(reinterpret_cast<Tensor*>(o)) : TensorRef();
}

// Adds to the gradient that a tensor retains. Addition runs user code where tensors are watched: what is there is held.
void retain(Tensor& target, Tensor& grad) {
    AutogradMeta& a = autograd_of(target);
    TensorRef old = TensorRef::share(a.grad);
    Value contiguous;
    contiguous.tag = Tag::MemoryFormat;
    contiguous.i = static_cast<int64_t>(MemoryFormat::Contiguous);
    TensorRef fresh = old               ? engine_add(*old, grad)
                      : is_sparse(grad) ? call_tensor(g_engine_ops.clone, {Value::of(&grad)})
                                        : call_tensor(g_engine_ops.clone, {Value::of(&grad), contiguous});
    Tensor* before = std::exchange(a.grad, fresh.release());
    Py_XDECREF(before ? before->py() : nullptr);
}

// The place of a tensor among those that retain gradients of a node; -1 if it is none of them.
Py_ssize_t retained_at(Node* n, const Tensor& t) {
    for (Py_ssize_t i = 0; n->retains && i < PyList_GET_SIZE(n->retains); i++)
        if (tensor_of(PyTuple_GET_ITEM(PyList_GET_ITEM(n->retains, i), 1)).get() == &t) return i;
    return -1;
}

void add_retained(Node* n, uint32_t nr, Tensor& t) {
    if (!n->retains) n->retains = PyList_New(0);
    Reference entry{Py_BuildValue("(IN)", nr, PyWeakref_NewRef(t.py(), nullptr))};
    if (!n->retains || !entry.object || PyList_Append(n->retains, entry.object) < 0) throw PythonError();
}

}  // namespace

void retain_grad(Tensor& t) {
    MT_CHECK(requires_grad(t), "can't retain_grad on Tensor that has requires_grad=False");
    if (is_leaf(t) || t.autograd->retains_grad) return;
    Node* n = grad_fn_of(t);
    add_retained(n, t.autograd->nr, t);
    t.autograd->retains_grad = true;
}

void move_retained(Tensor& t, Node* old, Node* fresh, uint32_t nr) {
    AutogradMeta& a = *t.autograd;
    Py_CLEAR(a.hooks);
    if (!a.retains_grad) return;
    const Py_ssize_t at = retained_at(old, t);
    if (at < 0) return;
    if (PySequence_DelItem(old->retains, at) < 0) throw PythonError();
    add_retained(fresh, nr, t);
}

void run_tensor_hooks(Node* n, Gradients& grads) {
    if (is_accumulate(n)) {
        AutogradMeta* a = n->extra ? reinterpret_cast<Tensor*>(n->extra)->autograd : nullptr;
        if (a && !grads.empty()) run_gradient_hooks(a->hooks, grads[0]);
        return;
    }
    for (Py_ssize_t i = 0; n->tensor_hooks && i < PyList_GET_SIZE(n->tensor_hooks); i++) {
        PyObject* entry = PyList_GET_ITEM(n->tensor_hooks, i);
        size_t nr = PyLong_AsSize_t(PyTuple_GET_ITEM(entry, 0));
        if (nr < grads.size()) run_gradient_hooks(PyTuple_GET_ITEM(entry, 1), grads[nr]);
    }
    for (Py_ssize_t i = 0; n->retains && i < PyList_GET_SIZE(n->retains); i++) {
        PyObject* entry = PyList_GET_ITEM(n->retains, i);
        size_t nr = PyLong_AsSize_t(PyTuple_GET_ITEM(entry, 0));
        TensorRef target = tensor_of(PyTuple_GET_ITEM(entry, 1));
        if (nr < grads.size() && grads[nr] && target) retain(*target, *grads[nr]);
    }
}

void run_pre_hooks(Node* n, Gradients& grads) {
    for_each_hook(n->pre_hooks, [&](PyObject* hook) {
        Reference given{tuple_of(grads)};
        ProgramsOwn own;
        Reference r{call_python(hook, given.object)};
        if (!r.object) throw PythonError();
        if (r.object != Py_None) replace_all(grads, r.object, hook);
    });
}

void run_post_hooks(Node* n, const Gradients& grads, Gradients& out) {
    for_each_hook(n->post_hooks, [&](PyObject* hook) {
        Reference computed{tuple_of(out)}, given{tuple_of(grads)};
        ProgramsOwn own;
        Reference r{call_python(hook, computed.object, given.object)};
        if (!r.object) throw PythonError();
        if (r.object != Py_None) replace_all(out, r.object, hook);
    });
}

}  // namespace mt
