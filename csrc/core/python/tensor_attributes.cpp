// The attributes of _C.TensorBase: what a tensor is, and its place in the graph.
#include <string>

#include "../autograd.h"
#include "../lazy_views.h"
#include "../sparse.h"
#include "bind.h"
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
    if (v == Py_True && !is_leaf(as_tensor(o))) {  // the method takes it: nothing changes
        PyErr_SetString(PyExc_RuntimeError, "you can only change requires_grad flags of leaf variables.");
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

// Modes, and classes with a __torch_function__ of their own, are asked for attributes: `torch.Tensor.data.__get__` is
// the function.
template <PyObject* (*Get)(PyObject*, void*)>
PyObject* offered(PyObject* o, void* name) {
    PyObject* result;
    if (__builtin_expect(asks_for_attributes(o), 0) &&
        ask_attribute(static_cast<const char*>(name), "__get__", o, nullptr, &result))
        return result;
    return Get(o, nullptr);
}
template <int (*Set)(PyObject*, PyObject*, void*)>
int offered_set(PyObject* o, PyObject* value, void* name) {
    PyObject* result;
    if (__builtin_expect(asks_for_attributes(o), 0) &&
        ask_attribute(static_cast<const char*>(name), value ? "__set__" : "__delete__", o, value, &result)) {
        Py_XDECREF(result);
        return result ? 0 : -1;
    }
    return Set(o, value, nullptr);
}
void* named(const char* name) { return const_cast<char*>(name); }

// An attribute that is an operator, whose functions are Python's.
struct OperatorAttribute {
    std::string name, doc;
    PyObject *get, *set;  // strong; set: None where the attribute is not to be written
    PyGetSetDef definition;
};
PyObject* get_by_operator(PyObject* o, void* closure) {
    const auto* a = static_cast<OperatorAttribute*>(closure);
    PyObject* result;
    if (__builtin_expect(asks_for_attributes(o), 0) && ask_attribute(a->name.c_str(), "__get__", o, nullptr, &result))
        return result;
    return PyObject_CallOneArg(a->get, o);
}
int set_by_operator(PyObject* o, PyObject* value, void* closure) {
    const auto* a = static_cast<OperatorAttribute*>(closure);
    PyObject* result;
    if (__builtin_expect(asks_for_attributes(o), 0) &&
        ask_attribute(a->name.c_str(), value ? "__set__" : "__delete__", o, value, &result)) {
        Py_XDECREF(result);
        return result ? 0 : -1;
    }
    if (!value) {
        PyErr_Format(PyExc_AttributeError, "attribute '%s' of 'torch._C.TensorBase' objects cannot be deleted",
                     a->name.c_str());
        return -1;
    }
    PyObject* nothing = PyObject_CallFunctionObjArgs(a->set, o, value, nullptr);
    Py_XDECREF(nothing);
    return nothing ? 0 : -1;
}

}  // namespace

PyObject* operator_attribute(PyObject*, PyObject* args) {
    const char *name, *doc;
    PyObject *get, *set;
    if (!PyArg_ParseTuple(args, "sOOs:_operator_attribute", &name, &get, &set, &doc)) return nullptr;
    auto* a = new OperatorAttribute{name, doc, Py_NewRef(get), Py_NewRef(set), {}};  // the descriptor is never freed
    a->definition = {a->name.c_str(), get_by_operator, set == Py_None ? nullptr : set_by_operator, a->doc.c_str(), a};
    return PyDescr_NewGetSet(tensor_base_type(), &a->definition);
}

PyGetSetDef tensor_attributes[] = {
    {"shape", offered<get_shape>, nullptr, "torch.Size: the length of each dimension.", named("shape")},
    {"dtype", offered<get_dtype>, nullptr, "The element type.", named("dtype")},
    {"device", offered<get_device>, nullptr, "Where the data lives.", named("device")},
    {"layout", offered<get_layout>, nullptr, "torch.strided, or one of the sparse layouts.", named("layout")},
    {"ndim", offered<get_ndim>, nullptr, "Number of dimensions.", named("ndim")},
    {"itemsize", offered<get_itemsize>, nullptr, "Bytes per element.", named("itemsize")},
    {"nbytes", offered<get_nbytes>, nullptr, "Bytes of all elements.", named("nbytes")},
    {"requires_grad", offered<get_requires_grad>, offered_set<set_requires_grad>,
     "Whether operations on this tensor are recorded.", named("requires_grad")},
    {"is_leaf", offered<get_is_leaf>, nullptr, "Whether no recorded operation made this tensor.", named("is_leaf")},
    {"grad_fn", offered<get_grad_fn>, nullptr, "The node that made this tensor, None for leaves.", named("grad_fn")},
    {"_grad_fn", offered<get_grad_fn>, offered_set<set_grad_fn>, nullptr, named("_grad_fn")},
    {"grad", offered<get_grad>, offered_set<set_grad>, "The accumulated gradient, or None.", named("grad")},
    {"_grad", offered<get_grad>, offered_set<set_grad>, nullptr, named("_grad")},
    {"data", offered<get_data>, offered_set<set_data>, "The same data without history.", named("data")},
    {"_version", offered<get_version>, nullptr, "How often the data was written in place.", named("_version")},
    {"_base", offered<get_base>, nullptr, "The tensor that this one is a view of, or None.", named("_base")},
    {"output_nr", offered<get_output_nr>, nullptr, "Which output of grad_fn this is.", named("output_nr")},
    {"retains_grad", offered<get_retains_grad>, nullptr, "Whether a non-leaf keeps its gradient.",
     named("retains_grad")},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"_backward_hooks", offered<get_hooks>, offered_set<set_hooks>, nullptr, named("_backward_hooks")},
    {"_post_accumulate_grad_hooks", offered<get_post_hooks>, offered_set<set_post_hooks>, nullptr,
     named("_post_accumulate_grad_hooks")},
    {"is_cpu", offered<get_is_cpu>, nullptr, "Whether the data lives in host memory.", named("is_cpu")},
    {"is_meta", offered<get_is_meta>, nullptr, "Whether the tensor has sizes and no data.", named("is_meta")},
    {"is_npu", offered<get_is_npu>, nullptr, "Whether the data lives on an Ascend NPU.", named("is_npu")},
    {"is_cuda", offered<get_is_cuda>, nullptr, "Whether the data lives on an NVIDIA GPU.", named("is_cuda")},
    {"is_mps", offered<get_false>, nullptr, "False: there are no devices of the kind mps.", named("is_mps")},
    {"is_xpu", offered<get_false>, nullptr, "False: there are no devices of the kind xpu.", named("is_xpu")},
    {"is_xla", offered<get_false>, nullptr, "False: there are no devices of the kind xla.", named("is_xla")},
    {"is_hpu", offered<get_false>, nullptr, "False: there are no devices of the kind hpu.", named("is_hpu")},
    {"is_ipu", offered<get_false>, nullptr, "False: there are no devices of the kind ipu.", named("is_ipu")},
    {"is_maia", offered<get_false>, nullptr, "False: there are no devices of the kind maia.", named("is_maia")},
    {"is_vulkan", offered<get_false>, nullptr, "False: there are no devices of the kind vulkan.", named("is_vulkan")},
    {"is_mtia", offered<get_false>, nullptr, "False: there are no devices of the kind mtia.", named("is_mtia")},
    {"is_mkldnn", offered<get_false>, nullptr, "False: there are no tensors in oneDNN's own layouts.",
     named("is_mkldnn")},
    {"is_sparse", offered<get_is_sparse>, nullptr, "Whether the layout is torch.sparse_coo.", named("is_sparse")},
    {"is_sparse_csr", offered<get_is_sparse_csr>, nullptr, "Whether the layout is torch.sparse_csr.",
     named("is_sparse_csr")},
    {"is_quantized", offered<get_is_quantized>, nullptr,
     "Whether whole numbers stand for the elements, by a scale and a zero point.", named("is_quantized")},
    {"is_nested", offered<get_false>, nullptr, "False: there are no nested tensors.", named("is_nested")},
    {"name", offered<get_none>, nullptr, "None.", named("name")},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

}  // namespace mt
