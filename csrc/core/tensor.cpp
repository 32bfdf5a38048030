// Making tensors, and the arithmetic of sizes and strides.
#include "tensor.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "described_tensor.h"
#include "device_memory.h"
#include "functional.h"
#include "kernel.h"
#include "lazy_views.h"
#include "python/types.h"
#include "registry.h"
#include "spares.h"
#include "sparse.h"
#include "uninitialised.h"

namespace mt {
namespace {

// The keys of a tensor over a storage on `d`, which becomes the device that the tensor shows.
KeySet keys_for(Device& d, bool inference) {
    if (d.type == kFunctional) {
        d = shown_device(d);
        KeySet shown = keys_for(d, inference);
        // There is no memory for a back end's kernel: none is registered where these tensors would go without
        // the key Functionalize.
        return (shown - kBackendKeys) | Key::CUDA | Key::Functionalize;
    }
    if (d.type == kSparse) {
        const Key layout = sparse_layout(d) == kSparseCoo ? Key::SparseCPU : Key::SparseCsrCPU;
        d = device_of_parts(d);
        return (keys_for(d, inference) - kBackendKeys) | layout;
    }
    const auto [backend, autograd] = device_keys(d.type);
    return inference ? KeySet(backend) : KeySet(backend) | autograd | Key::ADInplaceOrView;
}

// Ended tensors of the usual class, for the next ones to live in: the way through Python's allocator and collector
// costs as much as a small operator.
Spares<PyObject, 64> g_spares;

void set_dims_storage(Tensor& t, int64_t ndim) {
    const bool fits = ndim <= Tensor::kInlineDims, kept = t.dims_ == t.inline_ ? fits : t.ndim == ndim;
    if (!kept) {
        int64_t* room = t.inline_;
        if (!fits) {
            room = static_cast<int64_t*>(std::malloc(sizeof(int64_t) * 2 * static_cast<size_t>(ndim)));
            if (!room) throw std::bad_alloc();
        }
        if (t.dims_ != t.inline_) std::free(t.dims_);
        t.dims_ = room;
    }
    t.ndim = static_cast<int32_t>(ndim);
}

// Sorts out contiguous and non-overlapping-and-dense.
void update_flags(Tensor& t) {
    t.flags &= static_cast<uint8_t>(~(kContiguous | kNonOverlappingDense));
    if (is_sparse(t)) return;
    int64_t expected = 1;
    bool contiguous = true;
    for (int64_t i = t.ndim - 1; i >= 0; i--) {
        if (t.size(i) == 1) continue;
        if (t.stride(i) != expected) {
            contiguous = false;
            break;
        }
        expected *= t.size(i);
    }
    if (contiguous || t.numel_ == 0) {
        t.flags |= kContiguous | kNonOverlappingDense;
        return;
    }
    // Dense under some permutation?
    Dims order;
    for (int64_t i = 0; i < t.ndim; i++)
        if (t.size(i) != 1) order.push_back(i);
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return t.stride(a) < t.stride(b); });
    expected = 1;
    for (int64_t i : order) {
        if (t.stride(i) != expected) return;
        expected *= t.size(i);
    }
    t.flags |= kNonOverlappingDense;
}

int64_t checked_numel(IntSpan sizes) {
    constexpr int64_t most = int64_t(1) << 58;
    for (int64_t s : sizes) MT_CHECK(s >= 0, "Trying to create tensor with negative dimension ", s, ": ", sizes);
    int64_t n = 1;
    for (int64_t s : sizes)
        MT_CHECK(!__builtin_mul_overflow(n, s, &n) && n < most,
                 "Storage size calculation overflowed with sizes=", sizes);
    if (n) return n;
    // An empty tensor has strides, too: the sizes after the first must multiply.
    int64_t stride = 1;
    for (int64_t d = 1; d < sizes.size; d++)
        MT_CHECK(!__builtin_mul_overflow(stride, std::max<int64_t>(1, sizes[d]), &stride) && stride < most,
                 "Stride calculation overflowed");
    return 0;
}

Tensor* make(Device device, DType dtype) {
    Tensor* t = new_tensor_object();
    t->dtype = dtype;
    bool inference = g_thread.inference_mode;
    t->keys = keys_for(device, inference);
    t->device = device;
    t->flags = inference ? kInference : 0;
    return t;
}

Device resolved(Device d) {
    if (d.type != DeviceType::CPU && d.type != DeviceType::Meta && d.index < 0) d.index = current_device_index(d.type);
    if (d.is_cpu()) d.index = -1;
    if (d.is_meta()) d.index = -1;
    return d;
}

constexpr DeviceType kFunctionalSlots[] = {DeviceType::CPU, DeviceType::CUDA, DeviceType::Meta, DeviceType::NPU,
                                           DeviceType::XPU};

}  // namespace

Tensor* new_tensor_object() {
    PyTypeObject* type = tensor_type();
    PyObject* o = g_spares.take();
    if (o) {
        PyObject_Init(o, type);
        std::memset(reinterpret_cast<char*>(o) + offsetof(Tensor, dict), 0,
                    offsetof(Tensor, inline_) - offsetof(Tensor, dict));
        PyObject_GC_Track(o);
    } else {
        o = type->tp_alloc(type, 0);
        if (!o) throw PythonError();
    }
    Tensor* t = reinterpret_cast<Tensor*>(o);
    t->dims_ = t->inline_;
    return t;
}

void free_tensor_object(PyObject* o) {
    PyTypeObject* type = Py_TYPE(o);
    if (type != tensor_type() || type->tp_finalize || !g_spares.give(o)) type->tp_free(o);
    Py_DECREF(type);
}
// Four types of device with 32 indices (-1 to 30) each fit in the index.
Device functional_device(Device shown) {
    for (int slot = 0; slot < 4; slot++)
        if (kFunctionalSlots[slot] == shown.type && shown.index < 31)
            return {kFunctional, static_cast<int8_t>(slot * 32 + shown.index + 1)};
    MT_THROW(NotImplemented, "functionalization: tensors on the device ", device_name(shown), " cannot be wrapped");
}
Device shown_device(Device d) {
    if (d.type != kFunctional) return d;
    return {kFunctionalSlots[d.index / 32], static_cast<int8_t>(d.index % 32 - 1)};
}
void refresh_keys(Tensor& t) {
    t.device = t.storage->device;
    t.keys = keys_for(t.device, t.flags & kInference);
    if (t.quantizer) t.keys = quantized_keys(t.keys);
}

int64_t numel_of(IntSpan sizes) {
    int64_t n = 1;
    for (int64_t s : sizes) MT_CHECK(!__builtin_mul_overflow(n, s, &n), "numel: integer multiplication overflow");
    return n;
}

Dims contiguous_strides(IntSpan sizes) {
    Dims strides(sizes.size);
    int64_t step = 1;
    for (int64_t i = sizes.size - 1; i >= 0; i--) {
        strides[i] = step;
        MT_CHECK(i == 0 || !__builtin_mul_overflow(step, std::max<int64_t>(sizes[i], 1), &step),
                 "Stride calculation overflowed");
    }
    return strides;
}

Dims channels_last_strides(IntSpan sizes) {
    Dims strides(sizes.size);
    int64_t step = 1;
    auto take = [&](int64_t i) {
        strides[i] = step;
        step *= std::max<int64_t>(sizes[i], 1);
    };
    take(1);
    for (int64_t i = sizes.size - 1; i >= 2; i--) take(i);
    take(0);
    return strides;
}

bool is_contiguous_as(const Tensor& t, IntSpan strides) {
    if (t.numel_ == 0) return true;
    for (int64_t i = 0; i < t.ndim; i++)
        if (t.size(i) != 1 && t.stride(i) != strides[i]) return false;
    return true;
}
bool is_channels_last(const Tensor& t) {
    if (t.ndim != 4 && t.ndim != 5) return false;
    Dims s = channels_last_strides(t.sizes());
    return is_contiguous_as(t, s);
}

Dims preserved_strides(IntSpan sizes, IntSpan strides) {
    for (int64_t s : sizes)
        if (s == 0) return Dims(strides);
    // Dimensions from outermost to innermost, by stride; ties and broadcast dimensions keep their place.
    Dims order(sizes.size);
    for (int64_t i = 0; i < sizes.size; i++) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return strides[a] > strides[b]; });
    int64_t expected = 1;
    bool dense = true;
    for (int64_t k = sizes.size - 1; k >= 0; k--) {
        int64_t i = order[k];
        if (sizes[i] == 1) continue;
        if (strides[i] != expected) dense = false;
        expected *= sizes[i];
    }
    if (!dense) {
        // Not dense: PyTorch keeps the order of the strides where none of them is zero or ambiguous.
        for (int64_t i = 0; i < sizes.size; i++)
            if (strides[i] == 0 && sizes[i] != 1) return contiguous_strides(sizes);
    }
    Dims out(sizes.size);
    int64_t step = 1;
    for (int64_t k = sizes.size - 1; k >= 0; k--) {
        out[order[k]] = step;
        step *= std::max<int64_t>(sizes[order[k]], 1);
    }
    return out;
}

Dims broadcast_sizes(IntSpan a, IntSpan b) {
    int64_t n = std::max(a.size, b.size);
    Dims out(n);
    for (int64_t i = n - 1; i >= 0; i--) {  // of several that do not fit the last is named
        int64_t ia = i - (n - a.size), ib = i - (n - b.size);
        int64_t sa = ia >= 0 ? a[ia] : 1, sb = ib >= 0 ? b[ib] : 1;
        MT_CHECK(sa == sb || sa == 1 || sb == 1, "The size of tensor a (", sa, ") must match the size of tensor b (",
                 sb, ") at non-singleton dimension ", i);
        out[i] = sa == 1 ? sb : sa;
    }
    return out;
}

int64_t wrap_dim(int64_t dim, int64_t ndim, bool wrap_scalar) {
    int64_t n = ndim;
    if (n == 0) {
        MT_CHECK_INDEX(wrap_scalar, "Dimension specified as ", dim, " but tensor has no dimensions");
        n = 1;
    }
    MT_CHECK_INDEX(dim >= -n && dim < n, "Dimension out of range (expected to be in range of [", -n, ", ", n - 1,
                   "], but got ", dim, ")");
    return dim < 0 ? dim + n : dim;
}

size_t storage_bytes_needed(IntSpan sizes, IntSpan strides, int64_t itemsize, int64_t offset) {
    int64_t last = offset;
    bool fits = true;
    for (int64_t i = 0; i < sizes.size; i++) {
        if (sizes[i] == 0) return 0;
        int64_t span = 0;
        fits = fits && !__builtin_mul_overflow(sizes[i] - 1, strides[i], &span) &&
               !__builtin_add_overflow(last, span, &last);
    }
    int64_t bytes = 0;
    fits = fits && last != INT64_MAX && !__builtin_mul_overflow(last + 1, itemsize, &bytes);
    MT_CHECK(fits, "Storage size calculation overflowed with sizes=", sizes, " and strides=", strides);
    return static_cast<size_t>(bytes);
}

void set_sizes_strides(Tensor& t, IntSpan sizes, IntSpan strides) {
    // The spans may be the tensor's own.
    Dims s(sizes), st(strides);
    const int64_t n = numel_of(s);
    set_dims_storage(t, s.size());
    for (int64_t i = 0; i < s.size(); i++) {
        t.dims_[i] = s[i];
        t.dims_[t.ndim + i] = st[i];
    }
    t.numel_ = n;
    update_flags(t);
}

void set_sizes_contiguous(Tensor& t, IntSpan sizes) {
    set_dims_storage(t, sizes.size);
    int64_t step = 1;
    int64_t n = 1;
    for (int64_t i = sizes.size - 1; i >= 0; i--) {
        t.dims_[i] = sizes[i];
        t.dims_[t.ndim + i] = step;
        step *= std::max<int64_t>(sizes[i], 1);
        n *= sizes[i];
    }
    t.numel_ = n;
    t.flags |= kContiguous | kNonOverlappingDense;
}

TensorRef empty(IntSpan sizes, DType dtype, Device device) {
    int64_t n = checked_numel(sizes);
    device = resolved(device);
    Tensor* t = make(device, dtype);
    TensorRef held = TensorRef::steal(t);
    t->storage = storage_alloc(static_cast<size_t>(n * itemsize(dtype)), device);
    set_sizes_contiguous(*t, sizes);
    return held;
}

TensorRef empty_strided(IntSpan sizes, IntSpan strides, DType dtype, Device device) {
    checked_numel(sizes);
    MT_CHECK(sizes.size == strides.size, "mismatch in length of strides and shape");
    for (int64_t s : strides)
        MT_CHECK(s >= 0, "as_strided: Negative strides are not supported at the moment, got strides: ", strides);
    device = resolved(device);
    Tensor* t = make(device, dtype);
    TensorRef held = TensorRef::steal(t);
    t->storage = storage_alloc(storage_bytes_needed(sizes, strides, itemsize(dtype), 0), device);
    set_sizes_strides(*t, sizes, strides);
    return held;
}

TensorRef empty_like(const Tensor& like, DType dtype) {
    if (like.is_contiguous() && like.numel_) return empty(like.sizes(), dtype, like.device);
    Dims strides = preserved_strides(like.sizes(), like.strides());
    return empty_strided(like.sizes(), strides, dtype, like.device);
}
TensorRef empty_like(const Tensor& like) { return empty_like(like, like.dtype); }

TensorRef from_storage(Storage* storage, int64_t offset, IntSpan sizes, IntSpan strides, DType dtype) {
    Tensor* t = make(storage->device, dtype);
    TensorRef held = TensorRef::steal(t);
    storage->retain();
    t->storage = storage;
    t->offset = offset;
    set_sizes_strides(*t, sizes, strides);
    return held;
}

TensorRef as_strided(const Tensor& t, IntSpan sizes, IntSpan strides, int64_t offset) {
    TensorRef r = from_storage(t.storage, offset, sizes, strides, t.dtype);
    if (__builtin_expect(t.flags & kInference, 0) && !(r->flags & kInference)) {  // it stays one
        r->flags |= kInference;
        r->keys = keys_for(r->device, true);
    }
    r->keys = r->keys | (t.keys & kLazyKeys);
    r->device = t.device;
    if (__builtin_expect(t.quantizer != nullptr, 0)) {
        r->quantizer = Py_NewRef(t.quantizer);
        r->keys = quantized_keys(r->keys);
    }
    return r;
}
TensorRef shallow_alias(const Tensor& t) {
    TensorRef r = as_strided(t, t.sizes(), t.strides(), t.offset);
    if (__builtin_expect(t.flags & kDescribed, 0)) copy_descriptions(t, *r);
    return r;
}

namespace {
template <class T>
TensorRef number(DType dtype, T v) {
    TensorRef r = empty(IntSpan(), dtype);
    *r->data<T>() = v;
    r->flags |= kWrappedNumber;
    return r;
}
}  // namespace
TensorRef wrapped_number(bool v) { return number<bool>(DType::Bool, v); }
TensorRef wrapped_number(int64_t v) { return number<int64_t>(DType::Int64, v); }
TensorRef wrapped_number(double v) { return number<double>(DType::Float64, v); }
TensorRef wrapped_number(c128 v) { return number<c128>(DType::Complex128, v); }

void resize(Tensor& t, IntSpan sizes) {
    int64_t n = checked_numel(sizes);
    size_t need = static_cast<size_t>((n ? t.offset + n : 0) * t.itemsize());
    if (need > t.storage->nbytes) storage_resize(t.storage, need);
    set_sizes_contiguous(t, sizes);
}

// ---- services for kernels that copy.cpp of the CPU library fills in ----

namespace {
void (*g_copy)(Tensor&, const Tensor&) = nullptr;
void (*g_fill)(Tensor&, const Value&) = nullptr;
}  // namespace
void set_copy_kernel(void (*copy)(Tensor&, const Tensor&), void (*fill_kernel)(Tensor&, const Value&)) {
    g_copy = copy;
    g_fill = fill_kernel;
}
void copy_into(Tensor& dst, const Tensor& src) {
    if (!(dst.sizes() == src.sizes())) {
        Dims both = broadcast_sizes(dst.sizes(), src.sizes());
        MT_CHECK(IntSpan(both) == dst.sizes(), "output with shape ", dst.sizes(), " doesn't match the broadcast shape ",
                 IntSpan(both));
    }
    if (dst.is_meta() || src.is_meta()) {
        MT_CHECK_AS(NotImplemented, dst.is_meta(), "Cannot copy out of meta tensor; no data!");
        return;
    }
    if (!dst.is_cpu() || !src.is_cpu()) return copy_across(dst, src);
    MT_CHECK(g_copy, "the CPU kernels are not loaded");
    if (__builtin_expect(is_lazy(dst), 0)) return write_through(dst, src);
    if (__builtin_expect(is_lazy(src), 0)) return g_copy(dst, *materialized(src));
    g_copy(dst, src);
}
void fill_unread(Tensor& t) {
    if (is_floating(t.dtype) || is_complex(t.dtype)) {
        const double nan = std::numeric_limits<double>::quiet_NaN();
        return fill(t, is_complex(t.dtype) ? Value::of(c128(nan, 0)) : Value::of(nan));
    }
    const bool is_signed =
        t.dtype == DType::Int8 || t.dtype == DType::Int16 || t.dtype == DType::Int32 || t.dtype == DType::Int64;
    const int unused = 64 - 8 * static_cast<int>(t.itemsize());
    // -1 is the largest number of an unsigned type
    fill(t, Value::of(t.dtype == DType::Bool ? int64_t(1) : is_signed ? INT64_MAX >> unused : int64_t(-1)));
}

void fill(Tensor& t, const Value& scalar) {
    if (t.is_meta()) return;
    if (!t.is_cpu()) {
        if (t.numel()) device_memory(t.device).fill(t, scalar);
        return;
    }
    MT_CHECK(g_fill, "the CPU kernels are not loaded");
    if (__builtin_expect(is_lazy(t), 0)) {
        TensorRef values = empty(t.sizes(), t.dtype);
        g_fill(*values, scalar);
        return write_through(t, *values);
    }
    g_fill(t, scalar);
}
TensorRef clone(const Tensor& t) {
    TensorRef r = empty_like(t);
    copy_into(*r, t);
    return r;
}
TensorRef contiguous(const Tensor& t, DType dtype) {
    if (t.is_contiguous() && t.dtype == dtype && !is_lazy(t)) return TensorRef::share(&t);
    TensorRef r = empty(t.sizes(), dtype, t.device);
    copy_into(*r, t);
    return r;
}
TensorRef contiguous(const Tensor& t) { return contiguous(t, t.dtype); }

}  // namespace mt
