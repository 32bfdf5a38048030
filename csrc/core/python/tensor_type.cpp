// _C.TensorBase as Python sees it: attributes, number slots, lifetime.
#include "../autograd.h"
#include "../sparse.h"
#include "indexing.h"
#include "subclass.h"
#include "types.h"

#include <cstdlib>
#include <cstring>

namespace mt {

PyTypeObject *g_tensor_type, *g_base_type, *g_parameter_type;

namespace {

// ---- lifetime ----

PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    // The constructor is an ordinary function that Python hands over (legacy torch.Tensor(...) rules).
    static PyObject* constructor = nullptr;
    if (!constructor) {
        PyObject* m = PyImport_ImportModule("mindtorch_v2._tensor");
        if (!m) return nullptr;
        constructor = PyObject_GetAttrString(m, "_construct");
        Py_DECREF(m);
        if (!constructor) return nullptr;
    }
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    PyObject* full = PyTuple_New(n + 1);
    Py_INCREF(reinterpret_cast<PyObject*>(type));
    PyTuple_SET_ITEM(full, 0, reinterpret_cast<PyObject*>(type));
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject* o = PyTuple_GET_ITEM(args, i);
        Py_INCREF(o);
        PyTuple_SET_ITEM(full, i + 1, o);
    }
    PyObject* r = PyObject_Call(constructor, full, kwargs);
    Py_DECREF(full);
    return r;
}

int tensor_traverse(PyObject* o, visitproc visit, void* arg) {
    Tensor& t = as_tensor(o);
    Py_VISIT(Py_TYPE(o));
    Py_VISIT(t.dict);
    if (AutogradMeta* a = t.autograd) {
        Py_VISIT(reinterpret_cast<PyObject*>(a->grad_fn));
        Py_VISIT(reinterpret_cast<PyObject*>(a->grad));
        Py_VISIT(a->hooks);
        Py_VISIT(a->post_hooks);
        Py_VISIT(reinterpret_cast<PyObject*>(a->physical));
        Py_VISIT(a->batch_levels);
        Py_VISIT(a->functional);
        Py_VISIT(a->pending);
        if (a->tangents)
            for (const Tangent& g : *a->tangents) Py_VISIT(reinterpret_cast<PyObject*>(g.value));
        if (a->view) {
            Py_VISIT(reinterpret_cast<PyObject*>(a->view->base));
            Py_VISIT(a->view->replay);
        }
    }
    return 0;
}
int tensor_clear(PyObject* o) {
    Tensor& t = as_tensor(o);
    Py_CLEAR(t.dict);
    if (AutogradMeta* a = t.autograd) {
        Py_CLEAR(a->grad_fn);
        Py_CLEAR(a->grad);
        Py_CLEAR(a->hooks);
        Py_CLEAR(a->post_hooks);
        if (a->tangents) {
            std::vector<Tangent>* old = std::exchange(a->tangents, nullptr);
            for (const Tangent& g : *old) Py_DECREF(g.value->py());
            delete old;
        }
    }
    return 0;
}
void tensor_dealloc(PyObject* o) {
    if (__builtin_expect(Py_TYPE(o)->tp_finalize != nullptr, 0) && PyObject_CallFinalizerFromDealloc(o) < 0) return;
    PyObject_GC_UnTrack(o);
    Tensor& t = as_tensor(o);
    if (t.weakrefs) PyObject_ClearWeakRefs(o);
    Py_CLEAR(t.dict);
    if (t.autograd) {
        AutogradMeta* a = t.autograd;
        t.autograd = nullptr;
        destroy_autograd(a);
    }
    if (t.dims_ && t.dims_ != t.inline_) std::free(t.dims_);
    delete t.own_version;
    if (t.storage) t.storage->drop();
    free_tensor_object(o);
}

// ---- attributes ----

PyObject* get_shape(PyObject* o, void*) {
    return guarded<PyObject*>(nullptr, [&] { return size_object(as_tensor(o).sizes()); });
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
PyObject* get_ndim(PyObject* o, void*) { return PyLong_FromLong(as_tensor(o).ndim); }
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
// `refusal`: what to say of dtypes without gradients; the attribute and the method say it differently.
int change_requires_grad(PyObject* o, PyObject* v, const char* refusal) {
    if (!v) {
        PyErr_SetString(PyExc_AttributeError, "cannot delete requires_grad");
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
int set_requires_grad(PyObject* o, PyObject* v, void*) {
    return change_requires_grad(o, v, "only Tensors of floating point and complex dtype can require gradients");
}
PyObject* get_is_leaf(PyObject* o, void*) {
    const Tensor& t = as_tensor(o);
    // A pending tensor that requires grad is a result of calls.
    return PyBool_FromLong(t.keys.has(Key::Tracer) ? !requires_grad(t) : is_leaf(t));
}
PyObject* get_grad_fn(PyObject* o, void*) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        Node* n = grad_fn_of(as_tensor(o));
        PyObject* r = n ? reinterpret_cast<PyObject*>(n) : Py_None;
        Py_INCREF(r);
        return r;
    });
}
int set_grad_fn(PyObject* o, PyObject* v, void*) {
    if (v != Py_None && v) {
        PyErr_SetString(PyExc_RuntimeError, "_grad_fn can be only set to None");
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
        MT_CHECK_TYPE(v && tensor_check(v), "Variable data has to be a tensor, but got ",
                      v ? Py_TYPE(v)->tp_name : "nothing");
        Tensor &t = as_tensor(o), &s = as_tensor(v);
        if (&t == &s) return 0;
        MT_CHECK(!requires_grad(t) || is_differentiable(s.dtype),
                 "data set to a tensor that requires gradients must be floating point or complex dtype");
        MT_CHECK((t.keys & kSparseKeys) == (s.keys & kSparseKeys),
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
        t.device = s.device;
        constexpr KeySet kOfStorage = kBackendKeys | Key::Functionalize;
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

PyGetSetDef getset[] = {
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
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"_post_accumulate_grad_hooks", get_post_hooks, set_post_hooks, nullptr, nullptr},
    {"is_cpu", get_is_cpu, nullptr, nullptr, nullptr},
    {"is_meta", get_is_meta, nullptr, nullptr, nullptr},
    {"is_npu", get_is_npu, nullptr, nullptr, nullptr},
    {"is_cuda", get_false, nullptr, nullptr, nullptr},
    {"is_mps", get_false, nullptr, nullptr, nullptr},
    {"is_xpu", get_false, nullptr, nullptr, nullptr},
    {"is_xla", get_false, nullptr, nullptr, nullptr},
    {"is_hpu", get_false, nullptr, nullptr, nullptr},
    {"is_ipu", get_false, nullptr, nullptr, nullptr},
    {"is_maia", get_false, nullptr, nullptr, nullptr},
    {"is_vulkan", get_false, nullptr, nullptr, nullptr},
    {"is_mtia", get_false, nullptr, nullptr, nullptr},
    {"is_mkldnn", get_false, nullptr, nullptr, nullptr},
    {"is_sparse", get_is_sparse, nullptr, nullptr, nullptr},
    {"is_sparse_csr", get_is_sparse_csr, nullptr, nullptr, nullptr},
    {"is_quantized", get_false, nullptr, nullptr, nullptr},
    {"is_nested", get_false, nullptr, nullptr, nullptr},
    {"name", get_none, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

// ---- methods that need no operator ----

void check_not_compressed(const Tensor& t, const char* what) {
    MT_CHECK(!t.keys.has(Key::SparseCsrCPU), "Sparse CSR tensors do not have ", what);
}

PyObject* m_size(PyObject* o, PyObject* const* args, Py_ssize_t n, PyObject* kw) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        Tensor& t = as_tensor(o);
        PyObject* dim = n > 0 ? args[0] : kw && PyTuple_GET_SIZE(kw) ? args[0] : nullptr;
        if (!dim || dim == Py_None) return size_object(t.sizes());
        int64_t d = PyLong_AsLongLong(dim);
        if (d == -1 && PyErr_Occurred()) throw PythonError();
        return PyLong_FromLongLong(t.size(wrap_dim(d, t.ndim, false)));
    });
}
PyObject* m_stride(PyObject* o, PyObject* const* args, Py_ssize_t n, PyObject* kw) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        Tensor& t = as_tensor(o);
        check_not_compressed(t, "strides");
        PyObject* dim = n > 0 ? args[0] : kw && PyTuple_GET_SIZE(kw) ? args[0] : nullptr;
        if (dim && dim != Py_None) {
            int64_t d = PyLong_AsLongLong(dim);
            if (d == -1 && PyErr_Occurred()) throw PythonError();
            return PyLong_FromLongLong(t.stride(wrap_dim(d, t.ndim, false)));
        }
        PyObject* r = PyTuple_New(t.ndim);
        for (int64_t i = 0; i < t.ndim; i++) PyTuple_SET_ITEM(r, i, PyLong_FromLongLong(t.stride(i)));
        return r;
    });
}
PyObject* m_dim(PyObject* o, PyObject*) { return PyLong_FromLong(as_tensor(o).ndim); }
PyObject* m_numel(PyObject* o, PyObject*) { return PyLong_FromLongLong(as_tensor(o).numel()); }
PyObject* m_storage_offset(PyObject* o, PyObject*) { return PyLong_FromLongLong(as_tensor(o).offset); }
PyObject* m_element_size(PyObject* o, PyObject*) { return PyLong_FromLongLong(as_tensor(o).itemsize()); }
PyObject* m_data_ptr(PyObject* o, PyObject*) {
    return guarded<PyObject*>(nullptr, [&] {
        Tensor& t = as_tensor(o);
        if (t.keys.has(Key::Tracer) || putting_off()) run_put_off(&t, true);
        if (t.keys.has(Key::Functionalize) || (t.autograd && t.autograd->no_data)) return PyLong_FromLong(0);
        check_data(t);
        if (!t.storage->data || t.numel() == 0) return PyLong_FromLong(0);
        return PyLong_FromVoidPtr(t.raw());
    });
}
PyObject* m_is_contiguous(PyObject* o, PyObject* args, PyObject* kw) {
    static const char* names[] = {"memory_format", nullptr};
    PyObject* f = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "|O:is_contiguous", const_cast<char**>(names), &f)) return nullptr;
    Tensor& t = as_tensor(o);
    int64_t format = 0;
    if (f && !memory_format_check(f, &format)) {
        PyErr_Format(PyExc_TypeError, "is_contiguous(): argument 'memory_format' must be torch.memory_format, not %s",
                     Py_TYPE(f)->tp_name);
        return nullptr;
    }
    return guarded<PyObject*>(nullptr, [&] {
        check_not_compressed(t, "is_contiguous");
        if (format >= 2) return PyBool_FromLong(t.ndim == (format == 2 ? 4 : 5) && is_channels_last(t));
        return PyBool_FromLong(t.is_contiguous());
    });
}
PyObject* m_is_floating_point(PyObject* o, PyObject*) { return PyBool_FromLong(is_floating(as_tensor(o).dtype)); }
PyObject* m_is_complex(PyObject* o, PyObject*) { return PyBool_FromLong(is_complex(as_tensor(o).dtype)); }
PyObject* m_is_signed(PyObject* o, PyObject*) {
    DType t = as_tensor(o).dtype;
    return PyBool_FromLong(
        !(t == DType::UInt8 || t == DType::Bool || t == DType::UInt16 || t == DType::UInt32 || t == DType::UInt64));
}
PyObject* m_false(PyObject*, PyObject*) { Py_RETURN_FALSE; }
PyObject* m_is_inference(PyObject* o, PyObject*) {
    return guarded<PyObject*>(nullptr, [&] {
        settle_pending(as_tensor(o));
        return PyBool_FromLong(as_tensor(o).flags & kInference);
    });
}
PyObject* m_is_view(PyObject* o, PyObject*) {
    return guarded<PyObject*>(nullptr, [&] {
        settle_pending(as_tensor(o));
        return PyBool_FromLong(is_view(as_tensor(o)));
    });
}
PyObject* m_get_device(PyObject* o, PyObject*) { return PyLong_FromLong(as_tensor(o).device.index); }
PyObject* m_untyped_storage(PyObject* o, PyObject*) {
    return guarded<PyObject*>(nullptr, [&] {
        Tensor& t = as_tensor(o);
        if (t.keys.has(Key::Tracer) || putting_off()) run_put_off(&t, true);
        MT_CHECK_AS(NotImplemented, !is_sparse(t), "Cannot access storage of ",
                    t.keys.has(Key::SparseCPU) ? "SparseTensorImpl" : "SparseCsrTensorImpl");
        return storage_object(t.storage);
    });
}
PyObject* m_requires_grad_(PyObject* o, PyObject* args, PyObject* kw) {
    static const char* names[] = {"requires_grad", nullptr};
    PyObject* v = Py_True;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "|O:requires_grad_", const_cast<char**>(names), &v)) return nullptr;
    if (!PyBool_Check(v)) {
        PyErr_Format(PyExc_TypeError, "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not %s",
                     Py_TYPE(v)->tp_name);
        return nullptr;
    }
    if (change_requires_grad(o, v, "only Tensors of floating point dtype can require gradients") < 0) return nullptr;
    Py_INCREF(o);
    return o;
}
PyObject* m_retain_grad(PyObject* o, PyObject*) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        Tensor& t = as_tensor(o);
        settle_pending(t);
        MT_CHECK(requires_grad(t), "can't retain_grad on Tensor that has requires_grad=False");
        if (is_leaf(t)) Py_RETURN_NONE;
        AutogradMeta& a = *t.autograd;
        if (a.retains_grad) Py_RETURN_NONE;
        Node* n = grad_fn_of(t);
        if (!n->retains) n->retains = PyList_New(0);
        PyObject* entry = Py_BuildValue("(IN)", a.nr, PyWeakref_NewRef(o, nullptr));
        if (!entry || PyList_Append(n->retains, entry) < 0) throw PythonError();
        Py_DECREF(entry);
        a.retains_grad = true;
        Py_RETURN_NONE;
    });
}
PyObject* m_swap(PyObject* o, PyObject* other) {
    // torch.utils.swap_tensors: contents change places, identities stay.
    if (!tensor_check(other)) {
        PyErr_SetString(PyExc_TypeError, "swap_tensors expects two tensors");
        return nullptr;
    }
    Tensor &a = as_tensor(o), &b = as_tensor(other);
    try {
        settle_all();
        settle_pending(a);
        settle_pending(b);
    } catch (...) {
        raise_to_python();
        return nullptr;
    }
    if ((a.autograd && a.autograd->accumulator) || (b.autograd && b.autograd->accumulator)) {
        PyErr_SetString(PyExc_RuntimeError, "Trying to swap tensors that are used in a graph");
        return nullptr;
    }
    std::swap(a.storage, b.storage);
    std::swap(a.autograd, b.autograd);
    std::swap(a.offset, b.offset);
    std::swap(a.dtype, b.dtype);
    std::swap(a.device, b.device);
    std::swap(a.keys, b.keys);
    std::swap(a.flags, b.flags);
    std::swap(a.own_version, b.own_version);
    Dims as(a.sizes()), ast(a.strides()), bs(b.sizes()), bst(b.strides());
    set_sizes_strides(a, bs, bst);
    set_sizes_strides(b, as, ast);
    Py_RETURN_NONE;
}
PyObject* m_len(PyObject* o, PyObject*) { return PyLong_FromLongLong(as_tensor(o).ndim ? as_tensor(o).size(0) : 0); }
// A second Python handle-free alias without history; used by detach-like code of the autograd layer.
PyObject* m_shallow_alias(PyObject* o, PyObject*) {
    return guarded<PyObject*>(nullptr, [&] {
        settle_pending(as_tensor(o));
        return shallow_alias(as_tensor(o)).release()->py();
    });
}
PyObject* m_bump_version(PyObject* o, PyObject*) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        settle(as_tensor(o));
        as_tensor(o).bump_version();
        Py_RETURN_NONE;
    });
}

#define FAST(name, fn) \
    {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(fn)), METH_FASTCALL | METH_KEYWORDS, nullptr}
#define KEYWORDS(name, fn) \
    {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(fn)), METH_VARARGS | METH_KEYWORDS, nullptr}
PyMethodDef methods[] = {
    FAST("size", m_size),
    FAST("stride", m_stride),
    {"dim", m_dim, METH_NOARGS, "Number of dimensions."},
    {"ndimension", m_dim, METH_NOARGS, "Number of dimensions."},
    {"numel", m_numel, METH_NOARGS, "Number of elements."},
    {"nelement", m_numel, METH_NOARGS, "Number of elements."},
    {"storage_offset", m_storage_offset, METH_NOARGS, "Offset of the first element in the storage, in elements."},
    {"element_size", m_element_size, METH_NOARGS, "Bytes per element."},
    {"data_ptr", m_data_ptr, METH_NOARGS, "Address of the first element."},
    KEYWORDS("is_contiguous", m_is_contiguous),
    {"is_floating_point", m_is_floating_point, METH_NOARGS, nullptr},
    {"is_complex", m_is_complex, METH_NOARGS, nullptr},
    {"is_signed", m_is_signed, METH_NOARGS, nullptr},
    {"is_conj", m_false, METH_NOARGS, nullptr},
    {"is_neg", m_false, METH_NOARGS, nullptr},
    {"_is_zerotensor", m_false, METH_NOARGS, nullptr},
    {"is_pinned", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(+[](PyObject*, PyObject*) -> PyObject* {
         Py_RETURN_FALSE;
     })),
     METH_VARARGS, nullptr},
    {"is_inference", m_is_inference, METH_NOARGS, nullptr},
    {"_is_view", m_is_view, METH_NOARGS, nullptr},
    {"get_device", m_get_device, METH_NOARGS, nullptr},
    {"untyped_storage", m_untyped_storage, METH_NOARGS, "The bytes under this tensor."},
    KEYWORDS("requires_grad_", m_requires_grad_),
    {"retain_grad", m_retain_grad, METH_NOARGS, "Keep the gradient of a non-leaf."},
    {"_wrapper_subclass", make_wrapper_subclass, METH_VARARGS | METH_STATIC, nullptr},
    {"_make_subclass", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(make_subclass)),
     METH_VARARGS | METH_KEYWORDS | METH_STATIC, nullptr},
    {"_swap_contents", m_swap, METH_O, nullptr},
    {"_leading_length", m_len, METH_NOARGS, nullptr},
    {"_shallow_alias", m_shallow_alias, METH_NOARGS, nullptr},
    {"_bump_version", m_bump_version, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

// ---- number slots: the operators that Python registers for them ----

enum Slot {
    kAdd,
    kSub,
    kMul,
    kMatmul,
    kDiv,
    kFloorDiv,
    kMod,
    kPow,
    kAnd,
    kOr,
    kXor,
    kLshift,
    kRshift,
    kRsub,
    kRdiv,
    kRfloordiv,
    kRmod,
    kRpow,
    kRmatmul,
    kRlshift,
    kRrshift,
    kIadd,
    kIsub,
    kImul,
    kIdiv,
    kIfloordiv,
    kImod,
    kIpow,
    kIand,
    kIor,
    kIxor,
    kIlshift,
    kIrshift,
    kNeg,
    kPos,
    kAbs,
    kInvert,
    kLt,
    kLe,
    kEq,
    kNe,
    kGt,
    kGe,
    kEqArray,
    kSlotCount
};
const char* kSlotNames[] = {
    "add",     "sub",     "mul",     "matmul", "truediv", "floordiv", "mod",       "pow",       "and",
    "or",      "xor",     "lshift",  "rshift", "rsub",    "rtruediv", "rfloordiv", "rmod",      "rpow",
    "rmatmul", "rlshift", "rrshift", "iadd",   "isub",    "imul",     "itruediv",  "ifloordiv", "imod",
    "ipow",    "iand",    "ior",     "ixor",   "ilshift", "irshift",  "neg",       "pos",       "abs",
    "invert",  "lt",      "le",      "eq",     "ne",      "gt",       "ge",        "eq_array"};
PyObject* g_slots[kSlotCount];

PyObject* not_implemented_on_type_error(PyObject* r) {
    if (!r && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        Py_RETURN_NOTIMPLEMENTED;
    }
    return r;
}
PyObject* call2(Slot s, PyObject* a, PyObject* b) {
    if (!g_slots[s]) Py_RETURN_NOTIMPLEMENTED;
    PyObject* args[2] = {a, b};
    return not_implemented_on_type_error(PyObject_Vectorcall(g_slots[s], args, 2, nullptr));
}
// A left operand that is a tensor takes the plain operator, else the reflected one with the tensor first.
template <Slot plain, Slot reflected>
PyObject* binary(PyObject* a, PyObject* b) {
    if (tensor_check(a)) return call2(plain, a, b);
    return call2(reflected, b, a);
}
template <Slot s>
PyObject* binary1(PyObject* a, PyObject* b) {
    return call2(s, a, b);
}
template <Slot plain, Slot reflected>
PyObject* ternary(PyObject* a, PyObject* b, PyObject*) {
    return binary<plain, reflected>(a, b);
}
template <Slot s>
PyObject* unary(PyObject* a) {
    if (!g_slots[s]) {
        PyErr_Format(PyExc_NotImplementedError, "no operator is registered for '%s'", kSlotNames[s]);
        return nullptr;
    }
    return PyObject_CallOneArg(g_slots[s], a);
}
PyObject* ipow(PyObject* a, PyObject* b, PyObject*) { return call2(kIpow, a, b); }
PyObject* compare(PyObject* a, PyObject* b, int op) {
    static const Slot slots[] = {kLt, kLe, kEq, kNe, kGt, kGe};
    PyObject* r = call2(slots[op], a, b);
    if (r != Py_NotImplemented || op != Py_EQ) return r;
    Py_DECREF(r);
    return call2(kEqArray, a, b);
}
Py_hash_t hash(PyObject* o) {
    return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(o));
}  // hash(x) == id(x), as PyTorch's
Py_ssize_t length(PyObject* o) {
    Tensor& t = as_tensor(o);
    if (t.ndim == 0) {
        PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
        return -1;
    }
    return t.size(0);
}
PyObject* subscript(PyObject* o, PyObject* i) { return tensor_getitem(o, i); }
int ass_subscript(PyObject* o, PyObject* i, PyObject* v) { return tensor_setitem(o, i, v); }

PyMemberDef members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(Tensor, dict), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(Tensor, weakrefs), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

PyType_Slot slots[] = {SLOT(Py_tp_new, tensor_new),
                       SLOT(Py_tp_dealloc, tensor_dealloc),
                       SLOT(Py_tp_traverse, tensor_traverse),
                       SLOT(Py_tp_clear, tensor_clear),
                       SLOT(Py_tp_methods, methods),
                       SLOT(Py_tp_getset, getset),
                       SLOT(Py_tp_members, members),
                       SLOT(Py_tp_hash, hash),
                       SLOT(Py_tp_richcompare, compare),
                       SLOT(Py_mp_length, length),
                       SLOT(Py_mp_subscript, subscript),
                       SLOT(Py_mp_ass_subscript, ass_subscript),
                       SLOT(Py_nb_add, (binary<kAdd, kAdd>)),
                       SLOT(Py_nb_subtract, (binary<kSub, kRsub>)),
                       SLOT(Py_nb_multiply, (binary<kMul, kMul>)),
                       SLOT(Py_nb_matrix_multiply, (binary<kMatmul, kRmatmul>)),
                       SLOT(Py_nb_true_divide, (binary<kDiv, kRdiv>)),
                       SLOT(Py_nb_floor_divide, (binary<kFloorDiv, kRfloordiv>)),
                       SLOT(Py_nb_remainder, (binary<kMod, kRmod>)),
                       SLOT(Py_nb_power, (ternary<kPow, kRpow>)),
                       SLOT(Py_nb_and, (binary<kAnd, kAnd>)),
                       SLOT(Py_nb_or, (binary<kOr, kOr>)),
                       SLOT(Py_nb_xor, (binary<kXor, kXor>)),
                       SLOT(Py_nb_lshift, (binary<kLshift, kRlshift>)),
                       SLOT(Py_nb_rshift, (binary<kRshift, kRrshift>)),
                       SLOT(Py_nb_inplace_add, binary1<kIadd>),
                       SLOT(Py_nb_inplace_subtract, binary1<kIsub>),
                       SLOT(Py_nb_inplace_multiply, binary1<kImul>),
                       SLOT(Py_nb_inplace_true_divide, binary1<kIdiv>),
                       SLOT(Py_nb_inplace_floor_divide, binary1<kIfloordiv>),
                       SLOT(Py_nb_inplace_remainder, binary1<kImod>),
                       SLOT(Py_nb_inplace_power, ipow),
                       SLOT(Py_nb_inplace_and, binary1<kIand>),
                       SLOT(Py_nb_inplace_or, binary1<kIor>),
                       SLOT(Py_nb_inplace_xor, binary1<kIxor>),
                       SLOT(Py_nb_inplace_lshift, binary1<kIlshift>),
                       SLOT(Py_nb_inplace_rshift, binary1<kIrshift>),
                       SLOT(Py_nb_negative, unary<kNeg>),
                       SLOT(Py_nb_positive, unary<kPos>),
                       SLOT(Py_nb_absolute, unary<kAbs>),
                       SLOT(Py_nb_invert, unary<kInvert>),
                       {0, nullptr}};
PyType_Spec spec = {"mindtorch_v2._C.TensorBase", sizeof(Tensor), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

PyObject* py_set_number_slot(PyObject*, PyObject* args) {
    const char* name;
    PyObject* fn;
    if (!PyArg_ParseTuple(args, "sO:_set_number_slot", &name, &fn)) return nullptr;
    for (int i = 0; i < kSlotCount; i++) {
        if (std::strcmp(kSlotNames[i], name) != 0) continue;
        Py_INCREF(fn);
        Py_XSETREF(g_slots[i], fn);
        Py_RETURN_NONE;
    }
    PyErr_Format(PyExc_KeyError, "no number slot is called '%s'", name);
    return nullptr;
}
PyObject* py_set_tensor_type(PyObject*, PyObject* o) {
    Py_INCREF(o);
    g_tensor_type = reinterpret_cast<PyTypeObject*>(o);
    // The class adds nothing to the base's instances: they end without the search that Python's own classes go through.
    g_tensor_type->tp_dealloc = tensor_dealloc;
    Py_RETURN_NONE;
}
PyObject* py_set_parameter_type(PyObject*, PyObject* o) {
    Py_INCREF(o);
    g_parameter_type = reinterpret_cast<PyTypeObject*>(o);
    Py_RETURN_NONE;
}
PyMethodDef functions[] = {{"_set_number_slot", py_set_number_slot, METH_VARARGS, nullptr},
                           {"_set_tensor_type", py_set_tensor_type, METH_O, nullptr},
                           {"_set_parameter_type", py_set_parameter_type, METH_O, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool tensor_check(PyObject* o) {
    PyTypeObject* t = Py_TYPE(o);
    return t == g_tensor_type || t == g_parameter_type || PyType_IsSubtype(t, g_base_type);
}
bool tensor_check_exact(PyObject* o) { return Py_TYPE(o) == g_tensor_type || Py_TYPE(o) == g_parameter_type; }

bool init_tensor_type(PyObject* module) {
    g_base_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    if (!g_base_type) return false;
    g_tensor_type = g_base_type;
    PyModule_AddObjectRef(module, "TensorBase", reinterpret_cast<PyObject*>(g_base_type));
    // item(), tolist(), numpy() and the like, written beside the conversions they need
    for (PyMethodDef* m = interop_methods; m->ml_name; m++) {
        PyObject* d = PyDescr_NewMethod(g_base_type, m);
        if (!d || PyObject_SetAttrString(reinterpret_cast<PyObject*>(g_base_type), m->ml_name, d) < 0) return false;
        Py_DECREF(d);
    }
    return PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace mt
