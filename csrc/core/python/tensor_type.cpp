// _C.TensorBase as Python sees it: lifetime, methods, number slots. Its attributes are in tensor_attributes.cpp.
#include "tensor_type.h"
#include "../autograd.h"
#include "../copy_on_write.h"
#include "../described_tensor.h"
#include "../gil.h"
#include "../hooks.h"
#include "../overlap.h"
#include "../sparse.h"
#include "indexing.h"
#include "offered_methods.h"
#include "subclass.h"
#include "tensor_new.h"
#include "types.h"

#include <cstdlib>
#include <cstring>

namespace mt {

PyTypeObject *g_tensor_type, *g_base_type, *g_parameter_type;

namespace {

PyObject* g_constructor = nullptr;  // the legacy rules of torch.Tensor(...), an ordinary function of Python's

// ---- lifetime ----

PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    if (!g_constructor) {
        PyErr_SetString(PyExc_RuntimeError, "Tensor(): the package mindtorch_v2 is not loaded; import it first");
        return nullptr;
    }
    if (type == g_base_type) {
        PyErr_SetString(PyExc_RuntimeError,
                        "Cannot directly construct TensorBase; subclass it and then construct that");
        return nullptr;
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
    PyObject* r = PyObject_Call(g_constructor, full, kwargs);
    Py_DECREF(full);
    return r;
}

int tensor_traverse(PyObject* o, visitproc visit, void* arg) {
    Tensor& t = as_tensor(o);
    Py_VISIT(Py_TYPE(o));
    Py_VISIT(t.dict);
    Py_VISIT(t.quantizer);
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
    Py_CLEAR(t.quantizer);
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
    if (__builtin_expect(t.flags & kDescribed, 0)) forget_descriptions(t);
    Py_CLEAR(t.dict);
    Py_CLEAR(t.quantizer);
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

// ---- methods that need no operator ----

void check_not_compressed(const Tensor& t, const char* what) {
    MT_CHECK(!t.keys.has(Key::SparseCsrCPU), "Sparse CSR tensors do not have ", what);
}

PyObject* m_size(PyObject* o, PyObject* const* args, Py_ssize_t n, PyObject* kw) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        Tensor& t = as_tensor(o);
        PyObject* dim = n > 0 ? args[0] : kw && PyTuple_GET_SIZE(kw) ? args[0] : nullptr;
        if (t.flags & kAsksSizes)
            if (PyObject* answer = asked(o, "sizes", dim)) return answer;
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
        if (t.flags & kAsksStrides)
            if (PyObject* answer = asked(o, "strides", dim)) return answer;
        if (dim && dim != Py_None) {
            int64_t d = PyLong_AsLongLong(dim);
            if (d == -1 && PyErr_Occurred()) throw PythonError();
            return PyLong_FromLongLong(t.stride(wrap_dim(d, t.ndim, false)));
        }
        PyObject* r = made(PyTuple_New(t.ndim));
        for (int64_t i = 0; i < t.ndim; i++) PyTuple_SET_ITEM(r, i, made(PyLong_FromLongLong(t.stride(i))));
        return r;
    });
}
// A number that the class of a tensor may be asked for.
PyObject* number_or_asked(PyObject* o, const char* what, int64_t number) {
    return guarded<PyObject*>(nullptr, [&] {
        if (as_tensor(o).flags & kAsksSizes)
            if (PyObject* answer = asked(o, what)) return answer;
        return PyLong_FromLongLong(number);
    });
}
PyObject* m_dim(PyObject* o, PyObject*) { return number_or_asked(o, "dimensions", as_tensor(o).ndim); }
PyObject* m_numel(PyObject* o, PyObject*) { return number_or_asked(o, "count", as_tensor(o).numel()); }
PyObject* m_storage_offset(PyObject* o, PyObject*) { return number_or_asked(o, "offset", as_tensor(o).offset); }
PyObject* m_element_size(PyObject* o, PyObject*) { return PyLong_FromLongLong(as_tensor(o).itemsize()); }
PyObject* m_data_ptr(PyObject* o, PyObject*) {
    return guarded<PyObject*>(nullptr, [&] {
        Tensor& t = as_tensor(o);
        if (t.keys.has(Key::Tracer) || putting_off()) run_put_off(&t, true);
        if (t.keys.has(Key::Functionalize) || (t.autograd && t.autograd->no_data)) return PyLong_FromLong(0);
        check_data(t);
        if (!t.storage->data || t.numel() == 0) return PyLong_FromLong(0);
        before_write(t.storage);
        return PyLong_FromVoidPtr(t.raw());
    });
}
// Where the first element lies, for who only wants to know.
PyObject* m_address(PyObject* o, PyObject*) {
    return guarded<PyObject*>(nullptr, [&] {
        const Tensor& t = as_tensor(o);
        check_data(t);
        return PyLong_FromVoidPtr(t.storage->data ? t.raw() : nullptr);
    });
}
PyObject* m_is_lazy_copy(PyObject* o, PyObject*) { return PyBool_FromLong(is_lazy_copy(as_tensor(o).storage)); }
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
        if (t.flags & kAsksStrides)
            if (PyObject* answer = asked(o, "contiguity", f)) return answer;
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
template <Key key>
PyObject* m_has_key(PyObject* self, PyObject*) {
    return PyBool_FromLong(as_tensor(self).keys.has(key));
}
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
        settle_pending(as_tensor(o));
        retain_grad(as_tensor(o));
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
    std::swap(a.quantizer, b.quantizer);
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

#define FAST(name, fn, doc) \
    {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(fn)), METH_FASTCALL | METH_KEYWORDS, doc}
#define KEYWORDS(name, fn, doc) \
    {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(fn)), METH_VARARGS | METH_KEYWORDS, doc}
PyMethodDef methods[] = {
    FAST("size", (offered_fastcall<"size", m_size>),
         "size($self, /, dim=None)\n"
         "--\n"
         "\n"
         "The length of each dimension, a torch.Size; with `dim` the length of that one.\n"
         "\n"
         "    >>> torch.ones(2, 3).size(), torch.ones(2, 3).size(1)\n"
         "    (torch.Size([2, 3]), 3)"),
    FAST("stride", (offered_fastcall<"stride", m_stride>),
         "stride($self, /, dim=None)\n"
         "--\n"
         "\n"
         "Steps in memory, in elements, of each dimension; with `dim` of that one.\n"
         "\n"
         "    >>> torch.ones(2, 3).stride()\n"
         "    (3, 1)"),
    {"dim", FASTCALL((offered_method<"dim", m_dim>)),
     "dim($self, /)\n"
     "--\n"
     "\n"
     "Number of dimensions.\n"
     "\n"
     "    >>> torch.ones(2, 3).dim()\n"
     "    2"},
    {"ndimension", FASTCALL((offered_method<"dim", m_dim>)),
     "ndimension($self, /)\n"
     "--\n"
     "\n"
     "Number of dimensions.\n"
     "\n"
     "    >>> torch.ones(2, 3).ndimension()\n"
     "    2"},
    {"numel", FASTCALL((offered_method<"numel", m_numel>)),
     "numel($self, /)\n"
     "--\n"
     "\n"
     "Number of elements.\n"
     "\n"
     "    >>> torch.ones(2, 3).numel()\n"
     "    6"},
    {"nelement", FASTCALL((offered_method<"numel", m_numel>)),
     "nelement($self, /)\n"
     "--\n"
     "\n"
     "Number of elements.\n"
     "\n"
     "    >>> torch.ones(2, 3).nelement()\n"
     "    6"},
    {"storage_offset", FASTCALL((offered_method<"storage_offset", m_storage_offset>)),
     "storage_offset($self, /)\n"
     "--\n"
     "\n"
     "Offset of the first element in the storage, in elements.\n"
     "\n"
     "    >>> torch.arange(6)[2:].storage_offset()\n"
     "    2"},
    {"element_size", FASTCALL((offered_method<"element_size", m_element_size>)),
     "element_size($self, /)\n"
     "--\n"
     "\n"
     "Bytes per element.\n"
     "\n"
     "    >>> torch.ones(2, dtype=torch.float64).element_size()\n"
     "    8"},
    {"data_ptr", FASTCALL((offered_method<"data_ptr", m_data_ptr>)),
     "data_ptr($self, /)\n"
     "--\n"
     "\n"
     "Address of the first element.\n"
     "\n"
     "    >>> x = torch.ones(4)\n"
     "    >>> x[1:].data_ptr() - x.data_ptr()\n"
     "    4"},
    KEYWORDS("is_contiguous", (offered_keywords<"is_contiguous", m_is_contiguous>),
             "is_contiguous($self, /, *, memory_format=None)\n"
             "--\n"
             "\n"
             "Whether the elements lie in memory without gaps, in the order of `memory_format`.\n"
             "\n"
             "    >>> x = torch.ones(2, 3)\n"
             "    >>> x.is_contiguous(), x.t().is_contiguous()\n"
             "    (True, False)"),
    {"is_floating_point", FASTCALL((offered_method<"is_floating_point", m_is_floating_point>)),
     "is_floating_point($self, /)\n"
     "--\n"
     "\n"
     "Whether the dtype is one of the floating-point ones.\n"
     "\n"
     "    >>> torch.ones(2).is_floating_point()\n"
     "    True"},
    {"is_complex", FASTCALL((offered_method<"is_complex", m_is_complex>)),
     "is_complex($self, /)\n"
     "--\n"
     "\n"
     "Whether the dtype is one of the complex ones.\n"
     "\n"
     "    >>> torch.ones(2).is_complex()\n"
     "    False"},
    {"is_signed", FASTCALL((offered_method<"is_signed", m_is_signed>)), "Whether the dtype has negative numbers."},
    {"is_conj", FASTCALL((offered_method<"is_conj", m_has_key<Key::Conjugate>>)),
     "is_conj($self, /)\n"
     "--\n"
     "\n"
     "Whether it shows the conjugates of what its memory holds.\n"
     "\n"
     "    >>> torch.tensor([1 + 2j]).conj().is_conj()\n"
     "    True"},
    {"is_neg", FASTCALL((offered_method<"is_neg", m_has_key<Key::Negative>>)),
     "is_neg($self, /)\n"
     "--\n"
     "\n"
     "Whether it shows the negatives of what its memory holds.\n"
     "\n"
     "    >>> torch.tensor([1 + 2j]).conj().imag.is_neg()\n"
     "    True"},
    {"_is_zerotensor", FASTCALL((offered_method<"_is_zerotensor", m_false>)), nullptr},
    {"is_pinned", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(+[](PyObject*, PyObject*) -> PyObject* {
         Py_RETURN_FALSE;
     })),
     METH_VARARGS, nullptr},
    {"is_inference", FASTCALL((offered_method<"is_inference", m_is_inference>)),
     "is_inference($self, /)\n"
     "--\n"
     "\n"
     "Whether the tensor was made in inference mode.\n"
     "\n"
     "    >>> with torch.inference_mode():\n"
     "    ...     torch.ones(2).is_inference()\n"
     "    True"},
    {"_is_view", FASTCALL((offered_method<"_is_view", m_is_view>)), nullptr},
    {"get_device", FASTCALL((offered_method<"get_device", m_get_device>)),
     "get_device($self, /)\n"
     "--\n"
     "\n"
     "Index of the tensor's device; -1 on the CPU.\n"
     "\n"
     "    >>> torch.ones(2).get_device()\n"
     "    -1"},
    {"untyped_storage", FASTCALL((offered_method<"untyped_storage", m_untyped_storage>)),
     "untyped_storage($self, /)\n"
     "--\n"
     "\n"
     "The bytes under this tensor.\n"
     "\n"
     "Views share them.\n"
     "\n"
     "    >>> torch.ones(2).untyped_storage().nbytes()\n"
     "    8"},
    KEYWORDS("requires_grad_", (offered_keywords<"requires_grad_", m_requires_grad_>),
             "requires_grad_($self, /, requires_grad=True)\n"
             "--\n"
             "\n"
             "Set, in place, whether operations on this tensor are recorded.\n"
             "\n"
             "Raises RuntimeError for dtypes that have no gradients. Returns the tensor.\n"
             "\n"
             "    >>> torch.ones(2).requires_grad_()\n"
             "    tensor([1., 1.], requires_grad=True)"),
    {"retain_grad", FASTCALL((offered_method<"retain_grad", m_retain_grad>)),
     "retain_grad($self, /)\n"
     "--\n"
     "\n"
     "Keep the gradient of a non-leaf.\n"
     "\n"
     "    >>> x = torch.ones(2, requires_grad=True)\n"
     "    >>> y = x * 2\n"
     "    >>> y.retain_grad()\n"
     "    >>> y.sum().backward()\n"
     "    >>> y.grad\n"
     "    tensor([1., 1.])"},
    {"_keep_class", keep_class, METH_NOARGS, "Whether its class takes operators over holds again."},
    {"_wrapper_subclass", make_wrapper_subclass, METH_VARARGS | METH_STATIC, nullptr},
    {"_ask_class", ask_class, METH_VARARGS | METH_STATIC, nullptr},
    {"_make_subclass", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(make_subclass)),
     METH_VARARGS | METH_KEYWORDS | METH_STATIC, nullptr},
    {"_swap_contents", m_swap, METH_O, nullptr},
    {"_leading_length", m_len, METH_NOARGS, nullptr},
    {"_shallow_alias", m_shallow_alias, METH_NOARGS, nullptr},
    {"_address", m_address, METH_NOARGS, nullptr},
    {"_is_lazy_copy", m_is_lazy_copy, METH_NOARGS, nullptr},
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
    return not_implemented_on_type_error(call_python(g_slots[s], args, 2));
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
    if (s == kInvert && tensor_check_exact(a)) {
        const DType t = reinterpret_cast<Tensor*>(a)->dtype;
        if (is_floating(t) || is_complex(t)) {
            PyErr_SetString(PyExc_TypeError,
                            "~ (operator.invert) is only implemented on integer and Boolean-type tensors");
            return nullptr;
        }
    }
    return call_python(g_slots[s], a);
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
    PyObject* said;
    if (__builtin_expect(asks_for_attributes(o), 0) && ask_method("__len__", o, nullptr, 0, nullptr, &said)) {
        const Py_ssize_t length = said ? PyLong_AsSsize_t(said) : -1;
        Py_XDECREF(said);
        return length;
    }
    Tensor& t = as_tensor(o);
    if (t.flags & kAsksSizes)
        return guarded<Py_ssize_t>(-1, [&] {
            PyObject* answer = asked(o, "length");
            Py_ssize_t length = answer ? PyLong_AsSsize_t(answer) : t.size(0);
            Py_XDECREF(answer);
            return length;
        });
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
                       SLOT(Py_tp_getset, tensor_attributes),
                       SLOT(Py_tp_members, members),
                       SLOT(Py_tp_hash, hash),
                       SLOT(Py_tp_richcompare, compare),
                       SLOT(Py_mp_length, length),
                       SLOT(Py_mp_subscript, subscript),
                       SLOT(Py_mp_ass_subscript, ass_subscript),
                       SLOT(Py_nb_bool, tensor_bool),
                       SLOT(Py_nb_int, tensor_int),
                       SLOT(Py_nb_index, tensor_index),
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
bool tensor_class(PyObject* o) {
    if (PyType_Check(o) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(o), g_base_type)) return true;
    PyErr_Format(PyExc_TypeError, "expected a class of tensors, not %s", Py_TYPE(o)->tp_name);
    return false;
}
PyObject* py_set_tensor_type(PyObject*, PyObject* o) {
    if (!tensor_class(o)) return nullptr;
    Py_INCREF(o);
    g_tensor_type = reinterpret_cast<PyTypeObject*>(o);
    // The class adds nothing to the base's instances: they end without the search that Python's own classes go through.
    g_tensor_type->tp_dealloc = tensor_dealloc;
    Py_RETURN_NONE;
}
PyObject* py_set_tensor_constructor(PyObject*, PyObject* o) {
    Py_XSETREF(g_constructor, Py_NewRef(o));
    Py_RETURN_NONE;
}
PyObject* py_set_parameter_type(PyObject*, PyObject* o) {
    if (!tensor_class(o)) return nullptr;
    Py_INCREF(o);
    g_parameter_type = reinterpret_cast<PyTypeObject*>(o);
    Py_RETURN_NONE;
}
// _check_out_apart(out, *arguments): RuntimeError where `out` shows elements twice or shares memory with an argument.
PyObject* py_check_out_apart(PyObject*, PyObject* args) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        const Tensor& out = *reinterpret_cast<Tensor*>(PyTuple_GET_ITEM(args, 0));
        check_overlap(out);
        for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(args); i++)
            if (tensor_check(PyTuple_GET_ITEM(args, i)))
                check_disjoint(*reinterpret_cast<Tensor*>(PyTuple_GET_ITEM(args, i)), out);
        Py_RETURN_NONE;
    });
}
PyMethodDef functions[] = {{"_check_out_apart", py_check_out_apart, METH_VARARGS, nullptr},
                           {"_set_number_slot", py_set_number_slot, METH_VARARGS, nullptr},
                           {"_set_tensor_type", py_set_tensor_type, METH_O, nullptr},
                           {"_operator_attribute", operator_attribute, METH_VARARGS, nullptr},
                           {"_set_tensor_constructor", py_set_tensor_constructor, METH_O, nullptr},
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
    PyObject* api = dlpack_exchange_api();
    if (!api || PyObject_SetAttrString(reinterpret_cast<PyObject*>(g_base_type), "__dlpack_c_exchange_api__", api) < 0)
        return false;
    Py_DECREF(api);
    return PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace mt
