// The attributes of _C.TensorBase: what a tensor is, and its place in the graph.
#include "../autograd.h"
#include "../lazy_views.h"
#include "../sparse.h"
#include "subclass.h"
#include "tensor_type.h"
#include "types.h"

namespace mt {

int change_requires_grad(PyObject* o, PyObject* v, const char* refusal) {
    if (!v) {
        PyErr_SetString(PyExc_RuntimeError, "cannot delete requires_grad");
        return -1;
    }
    int wanted = PyObject_IsTrue(v);
    if (wanted < 0) return -1;
    return guarded<int>(-1, [&] {
        Tensor& t = as_tensor(o);
        settle_all();
        settle_pending(t);
        if (!is_leaf(t)) {  // it requires grad already
            MT_CHECK(wanted,
                     "you can only change requires_grad flags of leaf variables. If you want to use a computed "
                     "variable in a subgraph that "
                     "doesn't require differentiation use var_no_grad = var.detach().");
            return 0;
        }
        MT_CHECK(!wanted || is_differentiable(t.dtype), refusal);
        MT_CHECK(!wanted || !(t.flags & kInference) || g_thread.inference_mode,
                 "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
        if (wanted || t.autograd) autograd_of(t).requires_grad = wanted;
        return 0;
    });
}

namespace {

PyObject* get_shape(PyObject* o, void*) {
    return guarded<PyObject*>(nullptr, [&] {
        if (as_tensor(o).flags & kAsksSizes)
            if (PyObject* answer = asked(o, "sizes")) return answer;
        return size_object(as_tensor(o).sizes());
    });
}
PyObject* get_dtype(PyObject* o, void*) {
    PyObject* d = dtype_object(as_tensor(o).dtype);
    Py_INCREF(d);
    return d;
}
PyObject* get_device(PyObject* o, void*) {
    return guarded<PyObject*>(nullptr, [&] { return device_object(as_tensor(o).device); });
}
PyObject* get_layout(PyObject* o, void*) { return Py_NewRef(layout_object(layout_of(as_tensor(o)))); }
PyObject* get_is_sparse(PyObject* o, void*) { return PyBool_FromLong(as_tensor(o).keys.has(Key::SparseCPU)); }
PyObject* get_is_sparse_csr(PyObject* o, void*) { return PyBool_FromLong(layout_of(as_tensor(o)) == kSparseCsr); }
PyObject* get_is_quantized(PyObject* o, void*) { return PyBool_FromLong(as_tensor(o).quantizer != nullptr); }
PyObject* get_ndim(PyObject* o, void*) {
    return guarded<PyObject*>(nullptr, [&] {
        if (as_tensor(o).flags & kAsksSizes)
            if (PyObject* answer = asked(o, "dimensions")) return answer;
        return PyLong_FromLong(as_tensor(o).ndim);
    });
}
PyObject* get_itemsize(PyObject* o, void*) { return PyLong_FromLongLong(as_tensor(o).itemsize()); }
PyObject* get_nbytes(PyObject* o, void*) {
    return guarded<PyObject*>(nullptr, [&] {
        const Tensor& t = as_tensor(o);
        MT_CHECK(!is_sparse(t),
                 "nbytes is not defined for sparse tensors.  If you want the size of the constituent tensors, add the "
                 "nbytes of the indices and values.  If you want the size of the  equivalent dense tensor, multiply "
                 "numel() by element_size()");
        return PyLong_FromLongLong(t.itemsize() * t.numel());
    });
}
PyObject* get_requires_grad(PyObject* o, void*) { return PyBool_FromLong(requires_grad(as_tensor(o))); }
int set_requires_grad(PyObject* o, PyObject* v, void*) {
    if (v && !PyBool_Check(v)) {
        PyErr_SetString(PyExc_RuntimeError, "requires_grad must be a bool");
        return -1;
    }
    return change_requires_grad(o, v, "only Tensors of floating point and complex dtype can require gradients");
}
// The node that made a tensor. A leaf that hooks packed is taken out as another tensor, whose gradient goes to the
// leaf's own (saved.cpp): it is shown as a leaf too.
Node* shown_history(const Tensor& t) {
    Node* n = t.autograd ? t.autograd->grad_fn : nullptr;
    return n && is_accumulate(n) ? nullptr : n;
}
PyObject* get_is_leaf(PyObject* o, void*) {
    const Tensor& t = as_tensor(o);
    // A pending tensor that requires grad is a result of calls.
    return PyBool_FromLong(t.keys.has(Key::Tracer) ? !requires_grad(t)
                                                   : is_leaf(t) || (t.autograd->grad_fn && !shown_history(t)));
}
PyObject* get_grad_fn(PyObject* o, void*) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        Node* n = grad_fn_of(as_tensor(o)) ? shown_history(as_tensor(o)) : nullptr;
        PyObject* r = n ? reinterpret_cast<PyObject*>(n) : Py_None;
        Py_INCREF(r);
        return r;
    });
}
int set_grad_fn(PyObject* o, PyObject* v, void*) {
    if (v != Py_None) {
        PyErr_SetString(PyExc_RuntimeError, v ? "_grad_fn can be only set to None"
                                              : "Deletion of _grad_fn not allowed. Detach tensor instead!");
        return -1;
    }
    return guarded<int>(-1, [&] {
        Tensor& t = as_tensor(o);
        settle_pending(t);
        if (t.autograd) Py_CLEAR(t.autograd->grad_fn);
        return 0;
    });
}
PyObject* get_grad(PyObject* o, void*) {
    Tensor& t = as_tensor(o);
    if (t.autograd && t.autograd->grad_fn && !t.autograd->grad && !t.autograd->retains_grad) {
        if (PyErr_WarnEx(PyExc_UserWarning,
                         "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
                         "attribute won't be populated during "
                         "autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
                         "Tensor, use .retain_grad() on the non-leaf "
                         "Tensor. If you access the non-leaf Tensor by mistake, make sure you access the leaf Tensor "
                         "instead. See "
                         "github.com/pytorch/pytorch/pull/30531 for more informations.",
                         1) < 0)
            return nullptr;
    }
    PyObject* g = t.autograd && t.autograd->grad ? t.autograd->grad->py() : Py_None;
    Py_INCREF(g);
    return g;
}
int set_grad(PyObject* o, PyObject* v, void*) {
    return guarded<int>(-1, [&] {
        Tensor& t = as_tensor(o);
        if (!v || v == Py_None) {
            if (t.autograd) Py_CLEAR(t.autograd->grad);
            return 0;
        }
        MT_CHECK_TYPE(tensor_check(v), "assigned grad expected to be a Tensor or None but got grad of type \"",
                      Py_TYPE(v)->tp_name, "\"");
        MT_CHECK(v != o, "can't assign Variable as its own grad");
        Tensor& g = as_tensor(v);
        MT_CHECK(g.dtype == t.dtype, "attempting to assign a gradient with dtype '", dtype_name(g.dtype),
                 "' to a tensor with dtype '", dtype_name(t.dtype),
                 "'. Please ensure that the gradient and the tensor have the same dtype");
        MT_CHECK(g.device.type == t.device.type, "attempting to assign a gradient with device type '",
                 device_type_name(g.device.type), "' to a tensor with device type '", device_type_name(t.device.type),
                 "'. Please ensure that the gradient and the tensor are on the same device");
        MT_CHECK(g.sizes() == t.sizes(), "attempting to assign a gradient of size '", g.sizes(),
                 "' to a tensor of size '", t.sizes(),
                 "'. Please ensure that the gradient and the tensor are the same size");
        MT_CHECK(g.keys.has(Key::SparseCPU) || (t.keys & kSparseKeys) == (g.keys & kSparseKeys),
                 "attempting to assign a gradient to a tensor that has data of a different type");
        AutogradMeta& a = autograd_of(t);
        Py_INCREF(v);
        Tensor* old = a.grad;
        a.grad = &g;
        Py_XDECREF(old ? old->py() : nullptr);
        return 0;
    });
}
PyObject* get_data(PyObject* o, void*) {
    return guarded<PyObject*>(nullptr, [&] {
        Tensor& t = as_tensor(o);
        settle_pending(t);
        if (t.keys.has(Key::Batched) || t.keys.has(Key::Python))
            return call_tensor(g_engine_ops.detach, {Value::of(&t)}).release()->py();
        TensorRef r = t.keys.has(Key::Functionalize) || is_sparse(t) ? call_tensor(g_engine_ops.detach, {Value::of(&t)})
                                                                     : shallow_alias(t);
        r->own_version = new uint32_t(0);
        return r.release()->py();
    });
}
int set_data(PyObject* o, PyObject* v, void*) {
    return guarded<int>(-1, [&] {
        MT_CHECK(v, "Deleting tensor.data is not allowed. Delete tensor instead!");
        MT_CHECK_TYPE(tensor_check(v), "Variable data has to be a tensor, but got ", Py_TYPE(v)->tp_name);
        Tensor &t = as_tensor(o), &s = as_tensor(v);
        if (&t == &s) return 0;
        MT_CHECK(!requires_grad(t) || is_differentiable(s.dtype),
                 "data set to a tensor that requires gradients must be floating point or complex dtype");
        MT_CHECK((t.keys & kCodedKeys) == (s.keys & kCodedKeys) && t.is_meta() == s.is_meta(),
                 "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor "
                 "type.");
        settle_all();
        settle_pending(t);
        settle_pending(s);
        s.storage->retain();
        Storage* old = t.storage;
        uint32_t version = t.version();
        t.storage = s.storage;
        t.offset = s.offset;
        t.dtype = s.dtype;
        Py_XINCREF(s.quantizer);
        Py_XSETREF(t.quantizer, s.quantizer);
        t.device = s.device;
        constexpr KeySet kOfStorage = kBackendKeys | Key::Functionalize | kLazyKeys;
        t.keys = (t.keys - kOfStorage) | (s.keys & kOfStorage);
        if (!(t.keys & kAutogradKeys).empty()) t.keys = (t.keys - kAutogradKeys) | (s.keys & kAutogradKeys);
        set_sizes_strides(t, s.sizes(), s.strides());
        if (t.autograd) Py_CLEAR(t.autograd->functional);
        // The variable keeps its own version counter.
        if (!t.own_version) t.own_version = new uint32_t(version);
        // Graphs made before keep the node that knows the old sizes; the next graph makes its own.
        if (Node* n = t.autograd ? t.autograd->accumulator : nullptr) {
            const InputMeta& m = n->metas[0];
            if (m.dtype != t.dtype || !(m.device == t.device) || !(t.sizes() == IntSpan(m.sizes)))
                t.autograd->accumulator = nullptr;
        }
        old->drop();
        return 0;
    });
}
PyObject* get_version(PyObject* o, void*) {
    return guarded<PyObject*>(nullptr, [&] {
        Tensor& t = as_tensor(o);
        settle(t);
        MT_CHECK(!(t.flags & kInference), "Inference tensors do not track version counter.");
        return PyLong_FromUnsignedLong(t.version());
    });
}
PyObject* get_base(PyObject* o, void*) {
    return guarded<PyObject*>(nullptr, [&] {
        Tensor& t = as_tensor(o);
        settle_pending(t);
        return Py_NewRef(is_view(t) ? t.autograd->view->base->py() : Py_None);
    });
}
PyObject* get_output_nr(PyObject* o, void*) {
    return guarded<PyObject*>(nullptr, [&] {
        settle_pending(as_tensor(o));
        return PyLong_FromUnsignedLong(as_tensor(o).autograd ? as_tensor(o).autograd->nr : 0);
    });
}
PyObject* get_false(PyObject*, void*) { Py_RETURN_FALSE; }
PyObject* get_is_cpu(PyObject* o, void*) { return PyBool_FromLong(as_tensor(o).is_cpu()); }
PyObject* get_is_meta(PyObject* o, void*) { return PyBool_FromLong(as_tensor(o).is_meta()); }
PyObject* get_is_cuda(PyObject* o, void*) { return PyBool_FromLong(as_tensor(o).device.type == DeviceType::CUDA); }
PyObject* get_is_npu(PyObject* o, void*) { return PyBool_FromLong(as_tensor(o).device.type == DeviceType::NPU); }
PyObject* get_retains_grad(PyObject* o, void*) {
    return PyBool_FromLong(as_tensor(o).autograd && as_tensor(o).autograd->retains_grad);
}
PyObject* get_hooks(PyObject* o, void*) {
    Tensor& t = as_tensor(o);
    PyObject* h = t.autograd && t.autograd->hooks ? t.autograd->hooks : Py_None;
    Py_INCREF(h);
    return h;
}
int set_hooks(PyObject* o, PyObject* v, void*) {
    return guarded<int>(-1, [&] {
        MT_CHECK(v, "Deletion of _backwards_hooks not allowed!");
        settle_pending(as_tensor(o));
        AutogradMeta& a = autograd_of(as_tensor(o));
        PyObject* fresh = v && v != Py_None ? v : nullptr;
        Py_XINCREF(fresh);
        PyObject* old = a.hooks;
        a.hooks = fresh;
        Py_XDECREF(old);
        if (fresh && a.grad_fn) {
            Node* n = a.grad_fn;
            if (!n->tensor_hooks) n->tensor_hooks = PyList_New(0);
            PyObject* entry = Py_BuildValue("(IO)", a.nr, fresh);
            PyList_Append(n->tensor_hooks, entry);
            Py_DECREF(entry);
        }
        return 0;
    });
}
PyObject* get_post_hooks(PyObject* o, void*) {
    Tensor& t = as_tensor(o);
    PyObject* h = t.autograd && t.autograd->post_hooks ? t.autograd->post_hooks : Py_None;
    Py_INCREF(h);
    return h;
}
int set_post_hooks(PyObject* o, PyObject* v, void*) {
    return guarded<int>(-1, [&] {
        settle_pending(as_tensor(o));
        AutogradMeta& a = autograd_of(as_tensor(o));
        PyObject* fresh = v && v != Py_None ? v : nullptr;
        Py_XINCREF(fresh);
        Py_XSETREF(a.post_hooks, fresh);
        return 0;
    });
}
PyObject* get_none(PyObject*, void*) { Py_RETURN_NONE; }

}  // namespace

PyGetSetDef tensor_attributes[] = {
    {"shape", get_shape, nullptr, "torch.Size: the length of each dimension.", nullptr},
    {"dtype", get_dtype, nullptr, "The element type.", nullptr},
    {"device", get_device, nullptr, "Where the data lives.", nullptr},
    {"layout", get_layout, nullptr, "torch.strided, or one of the sparse layouts.", nullptr},
    {"ndim", get_ndim, nullptr, "Number of dimensions.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes per element.", nullptr},
    {"nbytes", get_nbytes, nullptr, "Bytes of all elements.", nullptr},
    {"requires_grad", get_requires_grad, set_requires_grad, "Whether operations on this tensor are recorded.", nullptr},
    {"is_leaf", get_is_leaf, nullptr, "Whether no recorded operation made this tensor.", nullptr},
    {"grad_fn", get_grad_fn, nullptr, "The node that made this tensor, None for leaves.", nullptr},
    {"_grad_fn", get_grad_fn, set_grad_fn, nullptr, nullptr},
    {"grad", get_grad, set_grad, "The accumulated gradient, or None.", nullptr},
    {"_grad", get_grad, set_grad, nullptr, nullptr},
    {"data", get_data, set_data, "The same data without history.", nullptr},
    {"_version", get_version, nullptr, "How often the data was written in place.", nullptr},
    {"_base", get_base, nullptr, "The tensor that this one is a view of, or None.", nullptr},
    {"output_nr", get_output_nr, nullptr, "Which output of grad_fn this is.", nullptr},
    {"retains_grad", get_retains_grad, nullptr, "Whether a non-leaf keeps its gradient.", nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"_backward_hooks", get_hooks, set_hooks, nullptr, nullptr},
    {"_post_accumulate_grad_hooks", get_post_hooks, set_post_hooks, nullptr, nullptr},
    {"is_cpu", get_is_cpu, nullptr, "Whether the data lives in host memory.", nullptr},
    {"is_meta", get_is_meta, nullptr, "Whether the tensor has sizes and no data.", nullptr},
    {"is_npu", get_is_npu, nullptr, "Whether the data lives on an Ascend NPU.", nullptr},
    {"is_cuda", get_is_cuda, nullptr, "Whether the data lives on an NVIDIA GPU.", nullptr},
    {"is_mps", get_false, nullptr, "False: there are no devices of the kind mps.", nullptr},
    {"is_xpu", get_false, nullptr, "False: there are no devices of the kind xpu.", nullptr},
    {"is_xla", get_false, nullptr, "False: there are no devices of the kind xla.", nullptr},
    {"is_hpu", get_false, nullptr, "False: there are no devices of the kind hpu.", nullptr},
    {"is_ipu", get_false, nullptr, "False: there are no devices of the kind ipu.", nullptr},
    {"is_maia", get_false, nullptr, "False: there are no devices of the kind maia.", nullptr},
    {"is_vulkan", get_false, nullptr, "False: there are no devices of the kind vulkan.", nullptr},
    {"is_mtia", get_false, nullptr, "False: there are no devices of the kind mtia.", nullptr},
    {"is_mkldnn", get_false, nullptr, "False: there are no tensors in oneDNN's own layouts.", nullptr},
    {"is_sparse", get_is_sparse, nullptr, "Whether the layout is torch.sparse_coo.", nullptr},
    {"is_sparse_csr", get_is_sparse_csr, nullptr, "Whether the layout is torch.sparse_csr.", nullptr},
    {"is_quantized", get_is_quantized, nullptr,
     "Whether whole numbers stand for the elements, by a scale and a zero point.", nullptr},
    {"is_nested", get_false, nullptr, "False: there are no nested tensors.", nullptr},
    {"name", get_none, nullptr, "None.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

}  // namespace mt
