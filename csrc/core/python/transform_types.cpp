// What torch.func and forward mode are built from: tensors with mapped dimensions, and tangents.
#include "../autograd.h"
#include "types.h"

namespace mt {
namespace {

// _make_batched(physical, levels): a tensor whose leading dimensions, one a level, are hidden: each stands for a mapped
// dimension of vmap. Its memory is that of the first slice; operators are given all of it.
PyObject* make_batched(PyObject*, PyObject* args) {
    PyObject *o, *levels;
    if (!PyArg_ParseTuple(args, "OO!:_make_batched", &o, &PyTuple_Type, &levels)) return nullptr;
    return guarded<PyObject*>(nullptr, [&] {
        MT_CHECK_TYPE(tensor_check(o), "_make_batched expects a Tensor");
        Tensor& t = as_tensor(o);
        settle_pending(t);
        int64_t n = PyTuple_GET_SIZE(levels);
        MT_CHECK(!t.keys.has(Key::Batched) && n <= t.ndim && n > 0,
                 "_make_batched expects a plain tensor with a dimension for each level");
        IntSpan sizes(t.sizes().data + n, t.ndim - n), strides(t.strides().data + n, t.ndim - n);
        TensorRef r = as_strided(t, sizes, strides, t.offset);
        r->keys = (t.keys & kBackendKeys) | Key::Batched;
        r->flags |= t.flags & kWrappedNumber;
        AutogradMeta& a = autograd_of(*r);
        Py_INCREF(o);
        Py_INCREF(levels);
        a.physical = &t;
        a.batch_levels = levels;
        return r.release()->py();
    });
}
// _rebatch(tensor, physical): has the tensor that vmap made stand for another physical one of as many levels, as the
// in-place forms of transpose and others do.
PyObject* rebatch(PyObject*, PyObject* args) {
    PyObject *o, *other;
    if (!PyArg_ParseTuple(args, "OO:_rebatch", &o, &other)) return nullptr;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        MT_CHECK_TYPE(tensor_check(o) && tensor_check(other) && as_tensor(o).keys.has(Key::Batched),
                      "_rebatch expects a tensor that vmap made, and a plain one");
        Tensor &t = as_tensor(o), &physical = as_tensor(other);
        AutogradMeta& a = *t.autograd;
        int64_t n = PyTuple_GET_SIZE(a.batch_levels);
        MT_CHECK(!physical.keys.has(Key::Batched) && n <= physical.ndim, "_rebatch expects a dimension for each level");
        IntSpan sizes = physical.sizes(), strides = physical.strides();
        set_sizes_strides(t, IntSpan(sizes.data + n, sizes.size - n), IntSpan(strides.data + n, strides.size - n));
        Py_INCREF(other);
        Tensor* before = a.physical;
        a.physical = &physical;
        Py_DECREF(before->py());
        Py_RETURN_NONE;
    });
}
// _batched_parts(tensor) -> (physical, levels), or None for a tensor that vmap did not make.
PyObject* batched_parts(PyObject*, PyObject* o) {
    if (!tensor_check(o) || !as_tensor(o).keys.has(Key::Batched)) Py_RETURN_NONE;
    const AutogradMeta& a = *as_tensor(o).autograd;
    return PyTuple_Pack(2, a.physical->py(), a.batch_levels);
}

PyObject* py_set_tangent(PyObject*, PyObject* args) {
    PyObject *t, *value;
    long long level;
    if (!PyArg_ParseTuple(args, "OLO:_set_tangent", &t, &level, &value)) return nullptr;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        MT_CHECK_TYPE(tensor_check(t) && (value == Py_None || tensor_check(value)),
                      "_set_tangent(tensor, level, tangent or None)");
        settle_all();
        settle_pending(as_tensor(t));
        if (value != Py_None) settle_pending(as_tensor(value));
        set_tangent(as_tensor(t), level, value == Py_None ? nullptr : &as_tensor(value));
        Py_RETURN_NONE;
    });
}
PyObject* py_tangent(PyObject*, PyObject* args) {
    PyObject* t;
    long long level;
    if (!PyArg_ParseTuple(args, "OL:_tangent", &t, &level)) return nullptr;
    return guarded<PyObject*>(nullptr, [&] {
        if (tensor_check(t)) has_tangent(as_tensor(t));  // of its base, too
        Tensor* g = tensor_check(t) ? tangent_of(as_tensor(t), level) : nullptr;
        PyObject* r = g ? g->py() : Py_None;
        Py_INCREF(r);
        return r;
    });
}
PyObject* py_has_tangent(PyObject*, PyObject* o) {
    return guarded<PyObject*>(nullptr, [&] { return PyBool_FromLong(tensor_check(o) && has_tangent(as_tensor(o))); });
}
PyObject* py_tangent_levels(PyObject*, PyObject* o) {
    PyObject* l = PyList_New(0);
    if (tensor_check(o) && has_tangent(as_tensor(o)))
        for (int64_t level : g_forward_levels)
            if (tangent_of(as_tensor(o), level)) {
                PyObject* v = PyLong_FromLongLong(level);
                PyList_Append(l, v);
                Py_DECREF(v);
            }
    return l;
}
PyObject* py_without_tangents(PyObject*, PyObject* args) {
    PyObject* t;
    long long level;
    if (!PyArg_ParseTuple(args, "OL:_without_tangents", &t, &level)) return nullptr;
    return guarded<PyObject*>(nullptr, [&] {
        MT_CHECK_TYPE(tensor_check(t), "_without_tangents expects a Tensor");
        return without_tangents(as_tensor(t), level).release()->py();
    });
}
PyObject* enter_level(PyObject*, PyObject*) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        static int64_t next = 0;
        g_forward_levels.push_back(next);
        return PyLong_FromLongLong(next++);
    });
}
PyObject* forward_levels(PyObject*, PyObject*) {
    return PyLong_FromSize_t(g_forward_mode ? g_forward_levels.size() : 0);
}
PyObject* exit_level(PyObject*, PyObject* o) {
    long long level = PyLong_AsLongLong(o);
    if (level == -1 && PyErr_Occurred()) return nullptr;
    if (g_forward_levels.empty() || g_forward_levels.back() != level) {
        PyErr_Format(PyExc_RuntimeError, "Trying to exit a forward AD level that is not the innermost one: level %lld",
                     level);
        return nullptr;
    }
    g_forward_levels.pop_back();
    Py_RETURN_NONE;
}
PyObject* set_forward_mode(PyObject*, PyObject* o) {
    bool before = g_forward_mode;
    g_forward_mode = PyObject_IsTrue(o) == 1;
    return PyBool_FromLong(before);
}
PyObject* is_forward_mode(PyObject*, PyObject*) { return PyBool_FromLong(g_forward_mode); }

PyMethodDef functions[] = {
    {"_make_batched", make_batched, METH_VARARGS, nullptr},
    {"_rebatch", rebatch, METH_VARARGS, nullptr},
    {"_batched_parts", batched_parts, METH_O, nullptr},
    {"_set_tangent", py_set_tangent, METH_VARARGS, nullptr},
    {"_tangent", py_tangent, METH_VARARGS, "_tangent(tensor, level): a Tensor or None."},
    {"_has_tangent", py_has_tangent, METH_O, nullptr},
    {"_tangent_levels", py_tangent_levels, METH_O, nullptr},
    {"_without_tangents", py_without_tangents, METH_VARARGS, nullptr},
    {"_enter_forward_level", enter_level, METH_NOARGS, nullptr},
    {"_forward_levels", forward_levels, METH_NOARGS, "How many levels of forward mode are alive."},
    {"_exit_forward_level", exit_level, METH_O, nullptr},
    {"_set_fwd_grad_enabled", set_forward_mode, METH_O, nullptr},
    {"_is_fwd_grad_enabled", is_forward_mode, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool init_transform_types(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace mt
