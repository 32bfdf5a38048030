// Tensors across the boundary: what they are, where their memory is, new ones.
#include "boundary/boundary.h"
#include "core/autograd.h"
#include "core/copy_on_write.h"
#include "core/sparse.h"

namespace mt::boundary {
namespace {

// After the end of the interpreter, when static objects of libraries go, nothing is counted any more.
void retain(void* h) {
    if (!h || !Py_IsInitialized()) return;
    Locked locked;
    Py_INCREF(static_cast<PyObject*>(h));
}
void release(void* h) {
    if (!h || !Py_IsInitialized()) return;
    Locked locked;
    Py_DECREF(static_cast<PyObject*>(h));
}
int64_t references(void* h) { return h ? Py_REFCNT(static_cast<PyObject*>(h)) : 0; }

int64_t layout(mt_tensor h) {
    const Tensor& t = *tensor(h);
    if ((t.keys & kSparseKeys).empty()) return 0;
    if (t.keys.has(Key::SparseCPU)) return kSparseCoo;
    Locked locked;
    PyObject* o = PyObject_GetAttrString(t.py(), "layout");
    int64_t value = kSparseCsr;
    if (o) layout_check(o, &value);
    Py_XDECREF(o);
    PyErr_Clear();
    return value;
}

uint32_t flags(mt_tensor h) {
    const Tensor& t = *tensor(h);
    return (t.is_contiguous() ? MT_FLAG_CONTIGUOUS : 0) | (requires_grad(t) ? MT_FLAG_REQUIRES_GRAD : 0) |
           (is_leaf(t) ? MT_FLAG_LEAF : 0) | (is_view(t) ? MT_FLAG_VIEW : 0) |
           (t.is_wrapped_number() ? MT_FLAG_WRAPPED_NUMBER : 0) |
           (t.is_non_overlapping_and_dense() ? MT_FLAG_NON_OVERLAPPING_AND_DENSE : 0) |
           (t.flags & kInference ? MT_FLAG_INFERENCE : 0);
}

void settled(const Tensor& t) {
    if (__builtin_expect(t.keys.has(Key::Tracer) || putting_off() || hides_data(t), 0)) {
        Locked locked;
        check_data(t);
    }
}

int data(mt_tensor h, void** first) {
    const Tensor& t = *tensor(h);
    // Asked for in every loop: no lock unless there is something to wait for.
    if (__builtin_expect(!t.keys.has(Key::Tracer) && !putting_off() && !hides_data(t) && !has_lazy_copies(), 1)) {
        *first = t.storage->data ? t.raw() : nullptr;
        return 0;
    }
    return reported([&] {
        check_data(t);
        before_write(t.storage);
        *first = t.storage->data ? t.raw() : nullptr;
    });
}
int storage(mt_tensor h, void** first, int64_t* bytes) {
    return reported([&] {
        settled(*tensor(h));
        before_write(tensor(h)->storage);
        *first = tensor(h)->storage->data;
        *bytes = static_cast<int64_t>(tensor(h)->storage->nbytes);
    });
}

int empty_tensor(int32_t dim, const int64_t* sizes, const int64_t* strides, uint8_t dtype, mt_device d,
                 mt_tensor* out) {
    return reported([&] {
        const DType t = static_cast<DType>(dtype);
        *out = handle((strides ? empty_strided(IntSpan(sizes, dim), IntSpan(strides, dim), t, device(d))
                               : empty(IntSpan(sizes, dim), t, device(d)))
                          .release());
    });
}

struct Blob {
    void* context;
    mt_release release;
};
void release_blob(void* p) {
    Blob* b = static_cast<Blob*>(p);
    if (b->release) b->release(b->context);
    delete b;
}
int from_blob(void* data, int32_t dim, const int64_t* sizes, const int64_t* strides, uint8_t dtype, mt_device d,
              void* context, mt_release release, mt_tensor* out) {
    return reported([&] {
        const IntSpan size(sizes, dim);
        Dims steps;
        if (strides)
            steps = IntSpan(strides, dim);
        else
            steps = contiguous_strides(size);
        int64_t elements = 1;
        for (int64_t s : size) {
            MT_CHECK(s >= 0, "from_blob: sizes must be non-negative, got ", size);
            MT_CHECK(!__builtin_mul_overflow(elements, std::max<int64_t>(s, 1), &elements),
                     "from_blob: the number of elements is beyond 63 bits, sizes ", size);
        }
        for (int64_t i = 0; i < steps.size(); i++)
            MT_CHECK(steps[i] >= 0, "from_blob: strides must be non-negative, got ", static_cast<IntSpan>(steps));
        const size_t bytes = storage_bytes_needed(size, steps, itemsize(static_cast<DType>(dtype)), 0);
        Storage* s = storage_wrap(data, bytes, device(d), new Blob{context, release}, release_blob);
        TensorRef t = from_storage(s, 0, size, steps, static_cast<DType>(dtype));
        s->drop();
        *out = handle(t.release());
    });
}

int wrapped(const mt_value* v, mt_tensor* out) {
    return reported([&] {
        const Value& n = *values(v);
        MT_CHECK_TYPE(n.is_scalar(), "a number was expected");
        *out = handle((n.tag == Tag::Bool     ? wrapped_number(n.b)
                       : n.tag == Tag::Int    ? wrapped_number(n.i)
                       : n.tag == Tag::Double ? wrapped_number(n.d)
                                              : wrapped_number(n.as_complex()))
                          .release());
    });
}

void set_attribute(mt_tensor t, const char* name, PyObject* value) {
    if (PyObject_SetAttrString(tensor(t)->py(), name, value) < 0) throw PythonError();
}
int set_requires_grad(mt_tensor t, int on) {
    return reported([&] { set_attribute(t, "requires_grad", on ? Py_True : Py_False); });
}
int grad(mt_tensor t, mt_tensor* out) {
    return reported([&] {
        AutogradMeta* a = tensor(t)->autograd;
        *out = handle(TensorRef::share(a ? a->grad : nullptr).release());
    });
}
int set_grad(mt_tensor t, mt_tensor g) {
    return reported([&] { set_attribute(t, "grad", g ? tensor(g)->py() : Py_None); });
}
int set_data(mt_tensor t, mt_tensor from) {
    return reported([&] { set_attribute(t, "data", tensor(from)->py()); });
}

// Sizes and strides over the same memory, which they are not checked against, as nothing checks PyTorch's.
int set_geometry(mt_tensor t, int32_t dim, const int64_t* sizes, const int64_t* strides, int64_t offset) {
    return reported([&] {
        const IntSpan size(sizes, dim);
        for (int64_t s : size) MT_CHECK(s >= 0, "sizes must be non-negative, got ", size);
        MT_CHECK(offset >= 0, "the offset must be non-negative, got ", offset);
        Tensor& changed = *tensor(t);
        if (strides)
            set_sizes_strides(changed, size, IntSpan(strides, dim));
        else
            set_sizes_contiguous(changed, size);
        changed.offset = offset;
    });
}
int resize_storage(mt_tensor t, int64_t bytes) {
    return reported([&] {
        MT_CHECK(bytes >= 0, "a storage cannot have ", bytes, " bytes");
        storage_resize(tensor(t)->storage, static_cast<size_t>(bytes));
    });
}

}  // namespace

void fill_tensors(mt_boundary& b) {
    b.retain = retain;
    b.release = release;
    b.references = references;
    b.dim = [](mt_tensor t) { return tensor(t)->ndim; };
    b.sizes = [](mt_tensor t) -> const int64_t* { return tensor(t)->dims_; };
    b.strides = [](mt_tensor t) -> const int64_t* { return tensor(t)->dims_ + tensor(t)->ndim; };
    b.numel = [](mt_tensor t) { return tensor(t)->numel_; };
    b.offset = [](mt_tensor t) { return tensor(t)->offset; };
    b.dtype = [](mt_tensor t) { return static_cast<uint8_t>(tensor(t)->dtype); };
    b.device = [](mt_tensor t) { return handle(tensor(t)->device); };
    b.layout = layout;
    b.flags = flags;
    b.keys = [](mt_tensor t) { return tensor(t)->keys.bits; };
    b.data = data;
    b.storage = storage;
    b.version_of = [](mt_tensor t) -> int64_t { return tensor(t)->version(); };
    b.bump_version = [](mt_tensor t) { tensor(t)->bump_version(); };
    b.empty = empty_tensor;
    b.from_blob = from_blob;
    b.wrapped_number = wrapped;
    b.set_requires_grad = set_requires_grad;
    b.grad = grad;
    b.set_grad = set_grad;
    b.set_data = set_data;
    b.set_geometry = set_geometry;
    b.storage_resize = resize_storage;
}

}  // namespace mt::boundary
