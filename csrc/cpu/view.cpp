// View operators: new sizes, strides and offset over the same storage. They serve every device.
#include <vector>

#include "core/autograd.h"
#include "core/functional.h"
#include "core/lazy_views.h"
#include "core/python/types.h"
#include "core/reshape.h"
#include "core/typed_kernel.h"
#include "core/uninitialised.h"
#include "cpu/memory_format.h"

namespace mt {
namespace {

TensorRef restrided(const Tensor& t, const Dims& sizes, const Dims& strides) {
    return as_strided(t, sizes, strides, t.offset);
}

Dims dims_of(IntSpan s) { return Dims(s); }

// ---- reshaping ----

TensorRef view(const Tensor& self, IntSpan size) {
    Dims sizes = infer_sizes(size, self.numel());
    Dims strides;
    MT_CHECK(view_strides(self, sizes, strides),
             "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
             "contiguous subspaces). Use .reshape(...) instead.");
    return restrided(self, sizes, strides);
}

TensorRef reshape_alias(const Tensor& self, IntSpan sizes, IntSpan strides) {
    MT_CHECK(sizes.size == strides.size, "dimensionality of sizes (", sizes.size,
             ") must match dimensionality of strides (", strides.size, ")");
    for (int64_t s : sizes) MT_CHECK(s >= 0, "Trying to create tensor with negative dimension ", s, ": ", sizes);
    for (int64_t s : strides)
        MT_CHECK(s >= 0, "_reshape_alias(): Negative strides are not supported at the moment, got strides: ", strides);
    const size_t needed = storage_bytes_needed(sizes, strides, self.itemsize(), self.offset);
    MT_CHECK(needed <= self.storage->nbytes, "_reshape_alias(): sizes ", sizes, " and strides ", strides,
             " reach beyond a storage of size ", self.storage->nbytes);
    return restrided(self, dims_of(sizes), dims_of(strides));
}

TensorRef view_dtype(const Tensor& self, DType dtype) {
    int64_t from = self.itemsize(), to = itemsize(dtype);
    Dims sizes(self.sizes()), strides(self.strides());
    int64_t offset = self.offset, n = self.dim();
    if (from > to) {
        int64_t ratio = from / to;
        MT_CHECK(n > 0, "self.dim() cannot be 0 to view ", dtype_class_name(self.dtype), " as ",
                 dtype_class_name(dtype), " (different element sizes)");
        MT_CHECK(self.stride(n - 1) == 1, "self.stride(-1) must be 1 to view ", dtype_class_name(self.dtype), " as ",
                 dtype_class_name(dtype), " (different element sizes), but got ", self.stride(n - 1));
        for (int64_t d = 0; d + 1 < n; d++) strides[d] *= ratio;
        sizes[n - 1] *= ratio;
        offset *= ratio;
    } else if (from < to) {
        int64_t ratio = to / from;
        MT_CHECK(n > 0, "self.dim() cannot be 0 to view ", dtype_class_name(self.dtype), " as ",
                 dtype_class_name(dtype), " (different element sizes)");
        MT_CHECK(self.size(n - 1) % ratio == 0, "self.size(-1) must be divisible by ", ratio, " to view ",
                 dtype_class_name(self.dtype), " as ", dtype_class_name(dtype), " (different element sizes), but got ",
                 self.size(n - 1));
        MT_CHECK(offset % ratio == 0, "self.storage_offset() must be divisible by ", ratio, " to view ",
                 dtype_class_name(self.dtype), " as ", dtype_class_name(dtype), " (different element sizes), but got ",
                 offset);
        MT_CHECK(self.stride(n - 1) == 1, "self.stride(-1) must be 1 to view ", dtype_class_name(self.dtype), " as ",
                 dtype_class_name(dtype), " (different element sizes), but got ", self.stride(n - 1));
        for (int64_t d = 0; d + 1 < n; d++) {
            MT_CHECK(strides[d] % ratio == 0, "self.stride(", d, ") must be divisible by ", ratio, " to view ",
                     dtype_class_name(self.dtype), " as ", dtype_class_name(dtype),
                     " (different element sizes), but got ", strides[d]);
            strides[d] /= ratio;
        }
        sizes[n - 1] /= ratio;
        offset /= ratio;
    }
    MT_CHECK(dtype == self.dtype || !self.keys.has(Key::Conjugate),
             "torch.Tensor.view is not supported for conjugate view tensors when converting to a different dtype.");
    MT_CHECK(dtype == self.dtype || !self.keys.has(Key::Negative),
             "torch.Tensor.view is not supported for tensors with negative bit set when converting to a different "
             "dtype.");
    TensorRef r = from_storage(self.storage, offset, sizes, strides, dtype);
    r->keys = r->keys | (self.keys & kLazyKeys);
    return r;
}

TensorRef alias(const Tensor& self) { return shallow_alias(self); }

TensorRef expand(const Tensor& self, IntSpan want, bool implicit) {
    int64_t n = want.size, lead = n - self.dim();
    MT_CHECK(lead >= 0, "expand(torch.", dtype_class_name(self.dtype), "Tensor{", self.sizes(), "}, size=", want,
             "): the number of sizes provided (", n,
             ") must be greater or equal to the number of dimensions in the tensor (", self.dim(), ")");
    Dims sizes(n), strides(n);
    for (int64_t i = n - 1; i >= 0; i--) {
        int64_t d = i - lead;
        int64_t size = d >= 0 ? self.size(d) : 1;
        int64_t target = want[i];
        if (target == -1) {
            MT_CHECK(d >= 0, "The expanded size of the tensor (", target,
                     ") isn't allowed in a leading, non-existing dimension ", i);
            target = size;
        }
        MT_CHECK(target >= 0, "The expanded size of the tensor (", target, ") isn't allowed to be negative");
        MT_CHECK(size == target || size == 1, "The expanded size of the tensor (", target,
                 ") must match the existing size (", size, ") at non-singleton dimension ", i,
                 ".  Target sizes: ", want, ".  Tensor sizes: ", self.sizes());
        sizes[i] = target;
        if (size == target && d >= 0) {
            strides[i] = self.stride(d);
        } else if (size == target) {
            strides[i] = self.dim() == 0 ? 0 : i + 1 < n ? sizes[i + 1] * strides[i + 1] : 1;
        } else {
            strides[i] = 0;
        }
    }
    return restrided(self, sizes, strides);
}

// ---- order of dimensions ----

TensorRef permute(const Tensor& self, IntSpan dims) {
    MT_CHECK(dims.size == self.dim(),
             "permute(sparse_coo): number of dimensions in the tensor input does not match the length of "
             "the desired ordering of dimensions i.e. input.dim() = ",
             self.dim(), " is not equal to len(dims) = ", dims.size);
    Dims sizes(dims.size), strides(dims.size);
    uint64_t seen = 0;
    for (int64_t i = 0; i < dims.size; i++) {
        int64_t d = wrap_dim(dims[i], self.dim());
        MT_CHECK(!(seen >> d & 1), "permute(): duplicate dims are not allowed.");
        seen |= uint64_t(1) << d;
        sizes[i] = self.size(d);
        strides[i] = self.stride(d);
    }
    return restrided(self, sizes, strides);
}

TensorRef transposed(const Tensor& self, int64_t a, int64_t b) {
    Dims sizes(self.sizes()), strides(self.strides());
    if (self.dim() > 0) {
        std::swap(sizes[a], sizes[b]);
        std::swap(strides[a], strides[b]);
    }
    return restrided(self, sizes, strides);
}

TensorRef transpose(const Tensor& self, int64_t dim0, int64_t dim1) {
    int64_t a = wrap_dim(dim0, self.dim()), b = wrap_dim(dim1, self.dim());
    return transposed(self, a, b);
}

TensorRef t(const Tensor& self) {
    MT_CHECK(self.dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is ", self.dim(), "D");
    return transposed(self, 0, self.dim() < 2 ? 0 : 1);
}

// ---- dimensions of size one ----

void squeezed(const Tensor& self, uint64_t wanted, Dims& sizes, Dims& strides) {
    for (int64_t d = 0; d < self.dim(); d++) {
        if ((wanted >> d & 1) && self.size(d) == 1) continue;
        sizes.push_back(self.size(d));
        strides.push_back(self.stride(d));
    }
}
TensorRef squeeze_where(const Tensor& self, uint64_t wanted) {
    Dims sizes, strides;
    squeezed(self, wanted, sizes, strides);
    return restrided(self, sizes, strides);
}
Tensor& squeeze_where_inplace(Tensor& self, uint64_t wanted) {
    Dims sizes, strides;
    squeezed(self, wanted, sizes, strides);
    set_sizes_strides(self, sizes, strides);
    return self;
}

uint64_t mask_of_dims(const Tensor& self, IntSpan dims) {
    uint64_t wanted = 0;
    for (int64_t d : dims) {
        int64_t w = wrap_dim(d, self.dim());
        MT_CHECK(!(wanted >> w & 1), "dim ", w, " appears multiple times in the list of dims");
        wanted |= uint64_t(1) << w;
    }
    return wanted;
}
uint64_t mask_of_dim(const Tensor& self, int64_t dim) { return uint64_t(1) << wrap_dim(dim, self.dim()); }

TensorRef squeeze(const Tensor& self) { return squeeze_where(self, ~uint64_t(0)); }
TensorRef squeeze_dim(const Tensor& self, int64_t dim) { return squeeze_where(self, mask_of_dim(self, dim)); }
TensorRef squeeze_dims(const Tensor& self, IntSpan dim) { return squeeze_where(self, mask_of_dims(self, dim)); }
Tensor& squeeze_inplace(Tensor& self) { return squeeze_where_inplace(self, ~uint64_t(0)); }
Tensor& squeeze_dim_inplace(Tensor& self, int64_t dim) { return squeeze_where_inplace(self, mask_of_dim(self, dim)); }
Tensor& squeeze_dims_inplace(Tensor& self, IntSpan dim) { return squeeze_where_inplace(self, mask_of_dims(self, dim)); }

void unsqueezed(const Tensor& self, int64_t dim, Dims& sizes, Dims& strides) {
    int64_t d = wrap_dim(dim, self.dim() + 1);
    sizes.assign(self.sizes());
    strides.assign(self.strides());
    int64_t stride = d < self.dim() ? self.size(d) * self.stride(d) : 1;
    sizes.insert(d, 1);
    strides.insert(d, stride);
}

TensorRef unsqueeze(const Tensor& self, int64_t dim) {
    Dims sizes, strides;
    unsqueezed(self, dim, sizes, strides);
    return restrided(self, sizes, strides);
}

// ---- parts ----

TensorRef select(const Tensor& self, int64_t dim, int64_t index) {
    MT_CHECK_INDEX(self.dim() > 0, "select() cannot be applied to a 0-dim tensor.");
    int64_t d = wrap_dim(dim, self.dim()), size = self.size(d);
    MT_CHECK_INDEX(index >= -size && index < size, "select(): index ", index, " out of range for tensor of size ",
                   self.sizes(), " at dimension ", d);
    if (index < 0) index += size;
    Dims sizes(self.sizes()), strides(self.strides());
    int64_t offset = self.offset + index * strides[d];
    sizes.erase(d);
    strides.erase(d);
    return as_strided(self, sizes, strides, offset);
}

TensorRef slice(const Tensor& self, int64_t dim, std::optional<int64_t> given_start, std::optional<int64_t> given_end,
                int64_t step) {
    MT_CHECK_INDEX(self.dim() > 0, "slice() cannot be applied to a 0-dim tensor.");
    int64_t d = wrap_dim(dim, self.dim()), size = self.size(d);
    int64_t start = given_start.value_or(0), end = given_end.value_or(INT64_MAX);
    MT_CHECK(step > 0, "slice step must be positive");
    clamp_slice(size, start, end);
    Dims sizes(self.sizes()), strides(self.strides());
    int64_t offset = self.offset + start * strides[d];
    sizes[d] = end > start ? (end - start - 1) / step + 1 : 0;
    // Beyond int64 only where there is one element at most, whose stride says nothing.
    strides[d] = static_cast<int64_t>(static_cast<uint64_t>(strides[d]) * static_cast<uint64_t>(step));
    return as_strided(self, sizes, strides, offset);
}

TensorRef narrowed(const Tensor& self, int64_t d, int64_t start, int64_t length) {
    Dims sizes(self.sizes());
    sizes[d] = length;
    return as_strided(self, sizes, self.strides(), self.offset + start * self.stride(d));
}

TensorRef narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
    MT_CHECK(self.dim() > 0, "narrow() cannot be applied to a 0-dim tensor.");
    int64_t d = wrap_dim(dim, self.dim()), size = self.size(d);
    MT_CHECK(length >= 0, "narrow(): length must be non-negative.");
    MT_CHECK_INDEX(start >= -size && start <= size, "start out of range (expected to be in range of [", -size, ", ",
                   size, "], but got ", start, ")");
    if (start < 0) start += size;
    MT_CHECK(start <= size - length, "start (", start, ") + length (", length, ") exceeds dimension size (", size,
             ").");
    return narrowed(self, d, start, length);
}

std::vector<TensorRef> split(const Tensor& self, int64_t each, int64_t dim) {
    MT_CHECK(self.dim() > 0, "split expects at least a 1-dimensional tensor");
    MT_CHECK(each >= 0, "split expects split_size be non-negative, but got split_size=", each);
    int64_t d = wrap_dim(dim, self.dim()), size = self.size(d);
    MT_CHECK(each > 0 || size == 0, "split_size can only be 0 if dimension size is 0, but got dimension size of ",
             size);
    std::vector<TensorRef> parts;
    int64_t count = each ? std::max<int64_t>(size / each + (size % each != 0), 1) : 1;
    for (int64_t k = 0; k < count; k++) parts.push_back(narrowed(self, d, k * each, std::min(each, size - k * each)));
    return parts;
}

std::vector<TensorRef> split_with_sizes(const Tensor& self, IntSpan lengths, int64_t dim) {
    MT_CHECK(self.dim() > 0, "split expects at least a 1-dimensional tensor");
    int64_t d = wrap_dim(dim, self.dim()), size = self.size(d), start = 0;
    std::vector<TensorRef> parts;
    for (int64_t length : lengths) {
        MT_CHECK(length >= 0,
                 "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=", lengths);
        MT_CHECK(length <= size - start, "split_with_sizes expects split_sizes to sum exactly to ", size,
                 " (input tensor's size at dimension ", d, "), but got split_sizes=", lengths);
        parts.push_back(narrowed(self, d, start, length));
        start += length;
    }
    MT_CHECK(start == size, "split_with_sizes expects split_sizes to sum exactly to ", size,
             " (input tensor's size at dimension ", d, "), but got split_sizes=", lengths);
    return parts;
}

// Parts that autograd takes for tensors of their own: a write to one is none to the others.
std::vector<TensorRef> apart(std::vector<TensorRef> parts) {
    for (TensorRef& part : parts) part->own_version = new uint32_t(0);
    return parts;
}
std::vector<TensorRef> unsafe_split(const Tensor& self, int64_t each, int64_t dim) {
    return apart(split(self, each, dim));
}
std::vector<TensorRef> unsafe_split_with_sizes(const Tensor& self, IntSpan lengths, int64_t dim) {
    return apart(split_with_sizes(self, lengths, dim));
}

std::vector<TensorRef> unbind(const Tensor& self, int64_t dim) {
    MT_CHECK_INDEX(self.dim() > 0, "Dimension specified as ", dim, " but tensor has no dimensions");
    int64_t d = wrap_dim(dim, self.dim());
    Dims sizes(self.sizes()), strides(self.strides());
    sizes.erase(d);
    strides.erase(d);
    std::vector<TensorRef> parts;
    for (int64_t k = 0; k < self.size(d); k++)
        parts.push_back(as_strided(self, sizes, strides, self.offset + k * self.stride(d)));
    return parts;
}

TensorRef unfold(const Tensor& self, int64_t dimension, int64_t size, int64_t step) {
    int64_t d = wrap_dim(dimension, self.dim());
    int64_t max = self.dim() ? self.size(d) : 1;
    MT_CHECK(size >= 0, "size is ", size, " but must be >= 0");
    MT_CHECK(size <= max, "maximum size for tensor at dimension ", d, " is ", max, " but size is ", size);
    MT_CHECK(step > 0, "step is ", step, " but must be > 0");
    Dims sizes(self.sizes()), strides(self.strides());
    int64_t stride = self.dim() ? self.stride(d) : 1;
    if (self.dim()) {
        sizes[d] = (max - size) / step + 1;
        MT_CHECK(!__builtin_mul_overflow(step, stride, &strides[d]), "unfold: a step of ", step,
                 " in a dimension whose stride is ", stride, " is beyond 63 bits");
    }
    sizes.push_back(size);
    strides.push_back(stride);
    return restrided(self, sizes, strides);
}

TensorRef diagonal(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
    int64_t a = wrap_dim(dim1, self.dim()), b = wrap_dim(dim2, self.dim());
    MT_CHECK(a != b, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
    int64_t length =
        offset >= 0 ? std::min(self.size(a), self.size(b) - offset) : std::min(self.size(a) + offset, self.size(b));
    length = std::max<int64_t>(length, 0);
    int64_t first = self.offset;
    if (length > 0) first += offset >= 0 ? offset * self.stride(b) : -offset * self.stride(a);
    Dims sizes, strides;
    for (int64_t d = 0; d < self.dim(); d++) {
        if (d == a || d == b) continue;
        sizes.push_back(self.size(d));
        strides.push_back(self.stride(d));
    }
    sizes.push_back(length);
    strides.push_back(self.stride(a) + self.stride(b));
    return as_strided(self, sizes, strides, first);
}

void check_strided(const Tensor& self, IntSpan sizes, IntSpan strides, int64_t offset) {
    MT_CHECK(sizes.size == strides.size, "mismatch in length of strides and shape");
    for (int64_t s : strides)
        MT_CHECK(s >= 0, "as_strided: Negative strides are not supported at the moment, got strides: ", strides);
    for (int64_t s : sizes)
        MT_CHECK(s >= 0, "Storage size calculation overflowed with sizes=", sizes, " and strides=", strides);
    MT_CHECK(offset >= 0, "Tensor: invalid storage offset ", offset);
    if (numel_of(sizes) == 0 || self.is_meta()) return;
    size_t needed = storage_bytes_needed(sizes, strides, self.itemsize(), offset);
    MT_CHECK(needed <= self.storage->nbytes, "setStorage: sizes ", sizes, ", strides ", strides, ", storage offset ",
             offset, ", and itemsize ", self.itemsize(), " requiring a storage size of ", needed,
             " are out of bounds for storage of size ", self.storage->nbytes);
}

TensorRef as_strided_view(const Tensor& self, IntSpan size, IntSpan stride, std::optional<int64_t> storage_offset) {
    int64_t offset = storage_offset.value_or(self.offset);
    check_strided(self, size, stride, offset);
    return as_strided(self, size, stride, offset);
}

// ---- complex numbers as pairs ----

// A view of all numbers of a tensor: it shows negatives where that does.
TensorRef negated_as(const Tensor& self, TensorRef view) {
    view->keys = view->keys | (self.keys & KeySet(Key::Negative));
    return view;
}

TensorRef view_as_real(const Tensor& self) {
    MT_CHECK(is_complex(self.dtype), "view_as_real is only supported for complex tensors");
    Dims sizes(self.sizes()), strides;
    for (int64_t s : self.strides()) strides.push_back(s * 2);
    sizes.push_back(2);
    strides.push_back(1);
    MT_CHECK(!self.keys.has(Key::Conjugate),
             "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can "
             "view it as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias "
             "the original.");
    return negated_as(self, from_storage(self.storage, self.offset * 2, sizes, strides, to_real(self.dtype)));
}

TensorRef view_as_complex(const Tensor& self) {
    int64_t n = self.dim();
    MT_CHECK(self.dtype == DType::Float32 || self.dtype == DType::Float64 || self.dtype == DType::Float16,
             "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: ",
             dtype_class_name(self.dtype));
    MT_CHECK(n > 0, "Input tensor must have one or more dimensions");
    MT_CHECK(self.size(n - 1) == 2, "Tensor must have a last dimension of size 2");
    MT_CHECK(self.stride(n - 1) == 1, "Tensor must have a last dimension with stride 1");
    Dims sizes, strides;
    for (int64_t d = 0; d + 1 < n; d++) {
        MT_CHECK(self.stride(d) % 2 == 0, "Tensor must have a stride divisible by 2 for all but last dimension");
        sizes.push_back(self.size(d));
        strides.push_back(self.stride(d) / 2);
    }
    MT_CHECK(self.offset % 2 == 0, "Tensor must have a storage_offset divisible by 2");
    return negated_as(self, from_storage(self.storage, self.offset / 2, sizes, strides, to_complex(self.dtype)));
}

// The imaginary parts: every second number of the pairs, negative in a conjugate.
TensorRef imag(const Tensor& self) {
    MT_CHECK(is_complex(self.dtype), "imag is not implemented for tensors with non-complex dtypes.");
    Dims strides;
    for (int64_t s : self.strides()) strides.push_back(s * 2);
    TensorRef r = from_storage(self.storage, self.offset * 2 + 1, self.sizes(), strides, to_real(self.dtype));
    if (self.keys.has(Key::Conjugate)) r->keys = r->keys | Key::Negative;
    if (self.keys.has(Key::Negative)) r->keys = KeySet(r->keys.bits ^ KeySet(Key::Negative).bits);
    return r;
}

TensorRef lazy_view(const Tensor& self, bool conjugate, bool negate) {
    KeySet keys;
    if (conjugate && is_complex(self.dtype)) keys = keys | Key::Conjugate;
    if (negate) keys = keys | Key::Negative;
    return toggled(self, keys);
}

// ---- in place: the tensor itself gets other sizes and strides ----

Tensor& transpose_inplace(Tensor& self, int64_t dim0, int64_t dim1) {
    int64_t a = wrap_dim(dim0, self.dim()), b = wrap_dim(dim1, self.dim());
    TensorRef r = transposed(self, a, b);
    set_sizes_strides(self, r->sizes(), r->strides());
    return self;
}

Tensor& t_inplace(Tensor& self) {
    MT_CHECK(self.dim() <= 2, "t_() expects a tensor with <= 2 dimensions, but self is ", self.dim(), "D");
    TensorRef r = transposed(self, 0, self.dim() < 2 ? 0 : 1);
    set_sizes_strides(self, r->sizes(), r->strides());
    return self;
}

Tensor& unsqueeze_inplace(Tensor& self, int64_t dim) {
    Dims sizes, strides;
    unsqueezed(self, dim, sizes, strides);
    set_sizes_strides(self, sizes, strides);
    return self;
}

Tensor& as_strided_inplace(Tensor& self, IntSpan size, IntSpan stride, std::optional<int64_t> storage_offset) {
    int64_t offset = storage_offset.value_or(self.offset);
    check_strided(self, size, stride, offset);
    Dims sizes(size), strides(stride);
    self.offset = offset;
    set_sizes_strides(self, sizes, strides);
    return self;
}

// With torch.use_deterministic_algorithms(True) memory that was added holds a value that shows when it is read.
void fill_grown(Tensor& t, size_t before) {
    if (!g_fill_uninitialised || !t.storage || t.storage->nbytes <= before || t.device.is_meta()) return;
    const int64_t first = static_cast<int64_t>(before) / t.itemsize();
    const int64_t count = static_cast<int64_t>(t.storage->nbytes) / t.itemsize() - first, step = 1;
    fill_unread(*as_strided(t, IntSpan(&count, 1), IntSpan(&step, 1), first));
}

// A tensor that has the sizes already keeps its strides unless a format is asked for.
void resize_to(Tensor& self, IntSpan asked, std::optional<MemoryFormat> format) {
    MT_CHECK(!requires_grad(self) || g_thread.inference_mode, "cannot resize variables that require grad");
    Dims sizes(asked);
    if (format) check_format_rank(*format, sizes.size());
    const size_t before = self.storage ? self.storage->nbytes : 0;
    if (!(self.sizes() == IntSpan(sizes))) resize(self, sizes);
    fill_grown(self, before);
    if (!format) return;
    switch (*format) {
        case MemoryFormat::Preserve:
            MT_THROW(Runtime, "Unsupported memory formatPreserve");
        case MemoryFormat::Contiguous:
            return set_sizes_contiguous(self, sizes);
        default:
            return set_sizes_strides(self, sizes, channels_last_strides(sizes));
    }
}

Tensor& resize_inplace(Tensor& self, IntSpan size, std::optional<MemoryFormat> memory_format) {
    for (int64_t s : size) MT_CHECK(s >= 0, "Trying to create tensor with negative dimension ", s, ": ", size);
    resize_to(self, size, memory_format);
    return self;
}

Tensor& resize_as_inplace(Tensor& self, const Tensor& like, std::optional<MemoryFormat> format) {
    if (format == MemoryFormat::Preserve)
        format = !is_channels_last(like) ? MemoryFormat::Contiguous
                 : like.ndim == 4        ? MemoryFormat::ChannelsLast
                                         : MemoryFormat::ChannelsLast3d;
    resize_to(self, like.sizes(), format);
    return self;
}

// ---- another storage ----

void replace_storage(Tensor& self, Storage* storage, int64_t offset, IntSpan sizes, IntSpan strides) {
    // No history is made of it, so nobody has asked yet whether this tensor may be written to.
    if (self.autograd && (g_thread.exclude & kAutogradKeys).empty()) check_inplace(self);
    MT_CHECK(self.device == storage->device || is_functional(storage),
             "Attempted to set the storage of a tensor on device \"", device_name(self.device),
             "\" to a storage on different device \"", device_name(storage->device),
             "\".  This is no longer allowed; the devices must match.");
    MT_CHECK(offset >= 0, "Tensor: invalid storage offset ", offset);
    Dims new_sizes(sizes), new_strides(strides.size ? Dims(strides) : contiguous_strides(sizes));
    MT_CHECK(new_sizes.size() == new_strides.size(), "mismatch in length of strides and shape");
    for (int64_t s : new_sizes) MT_CHECK(s >= 0, "Trying to create tensor with negative dimension ", s, ": ", sizes);
    for (int64_t s : new_strides) MT_CHECK(s >= 0, "set_storage: strides must not be negative, got ", strides);
    if (numel_of(new_sizes) > 0) {
        size_t needed = storage_bytes_needed(new_sizes, new_strides, self.itemsize(), offset);
        if (needed > storage->nbytes) {
            MT_CHECK(storage->resizable, "Trying to resize storage that is not resizable");
            storage_resize(storage, needed);
        }
    }
    storage->retain();
    Storage* old = self.storage;
    // What was saved of this tensor is told by its version, which must not come back.
    if (old && !self.own_version) storage->version = std::max(storage->version, self.version());
    self.storage = storage;
    self.offset = offset;
    set_sizes_strides(self, new_sizes, new_strides);
    if (self.autograd) self.autograd->accumulator = nullptr;  // graphs of before hold another leaf
    if (old) old->drop();
}

Tensor& set_tensor(Tensor& self, const Tensor& source) {
    MT_CHECK(self.dtype == source.dtype, "Could not set tensor of type ", dtype_name(source.dtype),
             " to a tensor of type ", dtype_name(self.dtype));
    replace_storage(self, source.storage, source.offset, source.sizes(), source.strides());
    return self;
}

Tensor& set_tensor_offset(Tensor& self, const Tensor& source, int64_t storage_offset, IntSpan size, IntSpan stride) {
    replace_storage(self, source.storage, storage_offset, size, stride);
    return self;
}

Tensor& set_nothing(Tensor& self) {
    Storage* fresh = storage_alloc(0, self.device);
    int64_t zero = 0;
    replace_storage(self, fresh, 0, IntSpan(&zero, 1), IntSpan());
    fresh->drop();
    return self;
}

Storage* storage_argument(PyObject* source) {
    Storage* s = source ? storage_of(source) : nullptr;
    MT_CHECK_TYPE(s, "set_(): argument 'source' must be a Storage");
    return s;
}

Tensor& set_storage(Tensor& self, PyObject* source) {
    Storage* s = storage_argument(source);
    int64_t count = static_cast<int64_t>(s->nbytes) / self.itemsize();
    replace_storage(self, s, 0, IntSpan(&count, 1), IntSpan());
    return self;
}

Tensor& set_storage_offset(Tensor& self, PyObject* source, int64_t storage_offset, IntSpan size, IntSpan stride) {
    replace_storage(self, storage_argument(source), storage_offset, size, stride);
    return self;
}

KERNELS
{
    direct<view>("view");
    direct<view_dtype>("view.dtype");
    direct<view>("_unsafe_view");
    direct<reshape_alias>("_reshape_alias");
    direct<alias>("alias");
    direct<alias>("detach");
    direct<alias>("lift_fresh");
    direct<expand>("expand");
    direct<permute>("permute");
    direct<transpose>("transpose.int");
    direct<t>("t");
    direct<squeeze>("squeeze");
    direct<squeeze_dim>("squeeze.dim");
    direct<squeeze_dims>("squeeze.dims");
    direct<unsqueeze>("unsqueeze");
    direct<select>("select.int");
    direct<slice>("slice.Tensor");
    direct<narrow>("narrow");
    direct<split>("split.Tensor");
    direct<split_with_sizes>("split_with_sizes");
    direct<unsafe_split>("unsafe_split.Tensor");
    direct<unsafe_split_with_sizes>("unsafe_split_with_sizes");
    direct<unbind>("unbind.int");
    direct<unfold>("unfold");
    direct<diagonal>("diagonal");
    direct<as_strided_view>("as_strided");
    direct<lazy_view>("_lazy_view");
    direct<view_as_real>("view_as_real");
    direct<view_as_complex>("view_as_complex");
    direct<imag>("imag");
    direct<squeeze_inplace>("squeeze_");
    direct<squeeze_dim_inplace>("squeeze_.dim");
    direct<squeeze_dims_inplace>("squeeze_.dims");
    direct<unsqueeze_inplace>("unsqueeze_");
    direct<transpose_inplace>("transpose_");
    direct<t_inplace>("t_");
    direct<as_strided_inplace>("as_strided_");
    direct<resize_inplace>("resize_");
    direct<resize_as_inplace>("resize_as_");
    direct<set_nothing>("set_");
    direct<set_storage>("set_.source_Storage");
    direct<set_storage_offset>("set_.source_Storage_storage_offset");
    direct<set_tensor>("set_.source_Tensor");
    direct<set_tensor_offset>("set_.source_Tensor_storage_offset");
}

}  // namespace
}  // namespace mt
