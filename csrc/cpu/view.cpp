// View operators: new sizes, strides and offset over the same storage. They serve every device.
#include <vector>

#include "core/autograd.h"
#include "core/kernel.h"
#include "core/python/types.h"
#include "core/reshape.h"
#include "cpu/memory_format.h"

namespace mt {
namespace {

TensorRef restrided(const Tensor& t, const Dims& sizes, const Dims& strides) {
    return as_strided(t, sizes, strides, t.offset);
}

Dims dims_of(IntSpan s) { return Dims(s); }

// ---- reshaping ----

void view(Call& c) {
    const Tensor& self = c.tensor(0);
    Dims sizes = infer_sizes(c.ints(1), self.numel());
    Dims strides;
    MT_CHECK(view_strides(self, sizes, strides),
             "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
             "contiguous subspaces). Use .reshape(...) instead.");
    c.ret(0, restrided(self, sizes, strides));
}

void reshape_alias(Call& c) {
    const Tensor& self = c.tensor(0);
    IntSpan sizes = c.ints(1), strides = c.ints(2);
    MT_CHECK(sizes.size == strides.size, "dimensionality of sizes (", sizes.size,
             ") must match dimensionality of strides (", strides.size, ")");
    for (int64_t s : sizes) MT_CHECK(s >= 0, "Trying to create tensor with negative dimension ", s, ": ", sizes);
    for (int64_t s : strides)
        MT_CHECK(s >= 0, "_reshape_alias(): Negative strides are not supported at the moment, got strides: ", strides);
    const size_t needed = storage_bytes_needed(sizes, strides, self.itemsize(), self.offset);
    MT_CHECK(needed <= self.storage->nbytes, "_reshape_alias(): sizes ", sizes, " and strides ", strides,
             " reach beyond a storage of size ", self.storage->nbytes);
    c.ret(0, restrided(self, dims_of(sizes), dims_of(strides)));
}

void view_dtype(Call& c) {
    const Tensor& self = c.tensor(0);
    DType dtype = c.args[1].dtype;
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
    c.ret(0, from_storage(self.storage, offset, sizes, strides, dtype));
}

void alias(Call& c) { c.ret(0, shallow_alias(c.tensor(0))); }

void expand(Call& c) {
    const Tensor& self = c.tensor(0);
    IntSpan want = c.ints(1);
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
    c.ret(0, restrided(self, sizes, strides));
}

// ---- order of dimensions ----

void permute(Call& c) {
    const Tensor& self = c.tensor(0);
    IntSpan dims = c.ints(1);
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
    c.ret(0, restrided(self, sizes, strides));
}

TensorRef transposed(const Tensor& self, int64_t a, int64_t b) {
    Dims sizes(self.sizes()), strides(self.strides());
    if (self.dim() > 0) {
        std::swap(sizes[a], sizes[b]);
        std::swap(strides[a], strides[b]);
    }
    return restrided(self, sizes, strides);
}

void transpose(Call& c) {
    const Tensor& self = c.tensor(0);
    int64_t a = wrap_dim(c.integer(1), self.dim()), b = wrap_dim(c.integer(2), self.dim());
    c.ret(0, transposed(self, a, b));
}

void t(Call& c) {
    const Tensor& self = c.tensor(0);
    MT_CHECK(self.dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is ", self.dim(), "D");
    c.ret(0, transposed(self, 0, self.dim() < 2 ? 0 : 1));
}

// ---- dimensions of size one ----

void squeeze_where(Tensor* written, Call& c, uint64_t wanted) {
    const Tensor& self = c.tensor(0);
    Dims sizes, strides;
    for (int64_t d = 0; d < self.dim(); d++) {
        if ((wanted >> d & 1) && self.size(d) == 1) continue;
        sizes.push_back(self.size(d));
        strides.push_back(self.stride(d));
    }
    if (written) {
        set_sizes_strides(*written, sizes, strides);
        c.ret(0, *written);
    } else {
        c.ret(0, restrided(self, sizes, strides));
    }
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

void squeeze(Call& c) { squeeze_where(nullptr, c, ~uint64_t(0)); }
void squeeze_dim(Call& c) { squeeze_where(nullptr, c, mask_of_dim(c.tensor(0), c.integer(1))); }
void squeeze_dims(Call& c) { squeeze_where(nullptr, c, mask_of_dims(c.tensor(0), c.ints(1))); }
void squeeze_inplace(Call& c) { squeeze_where(&c.mutable_tensor(0), c, ~uint64_t(0)); }
void squeeze_dim_inplace(Call& c) { squeeze_where(&c.mutable_tensor(0), c, mask_of_dim(c.tensor(0), c.integer(1))); }
void squeeze_dims_inplace(Call& c) { squeeze_where(&c.mutable_tensor(0), c, mask_of_dims(c.tensor(0), c.ints(1))); }

void unsqueezed(const Tensor& self, int64_t dim, Dims& sizes, Dims& strides) {
    int64_t d = wrap_dim(dim, self.dim() + 1);
    sizes.assign(self.sizes());
    strides.assign(self.strides());
    int64_t stride = d < self.dim() ? self.size(d) * self.stride(d) : 1;
    sizes.insert(d, 1);
    strides.insert(d, stride);
}

void unsqueeze(Call& c) {
    Dims sizes, strides;
    unsqueezed(c.tensor(0), c.integer(1), sizes, strides);
    c.ret(0, restrided(c.tensor(0), sizes, strides));
}

// ---- parts ----

void select(Call& c) {
    const Tensor& self = c.tensor(0);
    MT_CHECK_INDEX(self.dim() > 0, "select() cannot be applied to a 0-dim tensor.");
    int64_t d = wrap_dim(c.integer(1), self.dim()), index = c.integer(2), size = self.size(d);
    MT_CHECK_INDEX(index >= -size && index < size, "select(): index ", index, " out of range for tensor of size ",
                   self.sizes(), " at dimension ", d);
    if (index < 0) index += size;
    Dims sizes(self.sizes()), strides(self.strides());
    int64_t offset = self.offset + index * strides[d];
    sizes.erase(d);
    strides.erase(d);
    c.ret(0, as_strided(self, sizes, strides, offset));
}

void slice(Call& c) {
    const Tensor& self = c.tensor(0);
    MT_CHECK_INDEX(self.dim() > 0, "slice() cannot be applied to a 0-dim tensor.");
    int64_t d = wrap_dim(c.integer(1), self.dim()), size = self.size(d), step = c.integer(4);
    int64_t start = c.integer_or(2, 0), end = c.integer_or(3, INT64_MAX);
    MT_CHECK(step > 0, "slice step must be positive");
    clamp_slice(size, start, end);
    Dims sizes(self.sizes()), strides(self.strides());
    int64_t offset = self.offset + start * strides[d];
    sizes[d] = end > start ? (end - start - 1) / step + 1 : 0;
    // Beyond int64 only where there is one element at most, whose stride says nothing.
    strides[d] = static_cast<int64_t>(static_cast<uint64_t>(strides[d]) * static_cast<uint64_t>(step));
    c.ret(0, as_strided(self, sizes, strides, offset));
}

TensorRef narrowed(const Tensor& self, int64_t d, int64_t start, int64_t length) {
    Dims sizes(self.sizes());
    sizes[d] = length;
    return as_strided(self, sizes, self.strides(), self.offset + start * self.stride(d));
}

void narrow(Call& c) {
    const Tensor& self = c.tensor(0);
    MT_CHECK(self.dim() > 0, "narrow() cannot be applied to a 0-dim tensor.");
    int64_t d = wrap_dim(c.integer(1), self.dim()), size = self.size(d), start = c.integer(2), length = c.integer(3);
    MT_CHECK(length >= 0, "narrow(): length must be non-negative.");
    MT_CHECK_INDEX(start >= -size && start <= size, "start out of range (expected to be in range of [", -size, ", ",
                   size, "], but got ", start, ")");
    if (start < 0) start += size;
    MT_CHECK(start <= size - length, "start (", start, ") + length (", length, ") exceeds dimension size (", size,
             ").");
    c.ret(0, narrowed(self, d, start, length));
}

void return_parts(Call& c, std::vector<TensorRef>& parts) {
    std::vector<Tensor*> raw;
    raw.reserve(parts.size());
    for (TensorRef& p : parts) raw.push_back(p.release());
    c.ret_list(0, Span<Tensor*>(raw.data(), static_cast<int64_t>(raw.size())));
}

void split(Call& c) {
    const Tensor& self = c.tensor(0);
    int64_t each = c.integer(1);
    MT_CHECK(self.dim() > 0, "split expects at least a 1-dimensional tensor");
    MT_CHECK(each >= 0, "split expects split_size be non-negative, but got split_size=", each);
    int64_t d = wrap_dim(c.integer(2), self.dim()), size = self.size(d);
    MT_CHECK(each > 0 || size == 0, "split_size can only be 0 if dimension size is 0, but got dimension size of ",
             size);
    std::vector<TensorRef> parts;
    int64_t count = each ? std::max<int64_t>(size / each + (size % each != 0), 1) : 1;
    for (int64_t k = 0; k < count; k++) parts.push_back(narrowed(self, d, k * each, std::min(each, size - k * each)));
    return_parts(c, parts);
}

void split_with_sizes(Call& c) {
    const Tensor& self = c.tensor(0);
    IntSpan lengths = c.ints(1);
    MT_CHECK(self.dim() > 0, "split expects at least a 1-dimensional tensor");
    int64_t d = wrap_dim(c.integer(2), self.dim()), size = self.size(d), start = 0;
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
    return_parts(c, parts);
}

void unbind(Call& c) {
    const Tensor& self = c.tensor(0);
    MT_CHECK_INDEX(self.dim() > 0, "Dimension specified as ", c.integer(1), " but tensor has no dimensions");
    int64_t d = wrap_dim(c.integer(1), self.dim());
    Dims sizes(self.sizes()), strides(self.strides());
    sizes.erase(d);
    strides.erase(d);
    std::vector<TensorRef> parts;
    for (int64_t k = 0; k < self.size(d); k++)
        parts.push_back(as_strided(self, sizes, strides, self.offset + k * self.stride(d)));
    return_parts(c, parts);
}

void unfold(Call& c) {
    const Tensor& self = c.tensor(0);
    int64_t d = wrap_dim(c.integer(1), self.dim()), size = c.integer(2), step = c.integer(3);
    int64_t max = self.dim() ? self.size(d) : 1;
    MT_CHECK(size >= 0, "size is ", size, " but must be >= 0");
    MT_CHECK(size <= max, "maximum size for tensor at dimension ", d, " is ", max, " but size is ", size);
    MT_CHECK(step > 0, "step is ", step, " but must be > 0");
    Dims sizes(self.sizes()), strides(self.strides());
    int64_t stride = self.dim() ? self.stride(d) : 1;
    if (self.dim()) {
        sizes[d] = (max - size) / step + 1;
        strides[d] = step * stride;
    }
    sizes.push_back(size);
    strides.push_back(stride);
    c.ret(0, restrided(self, sizes, strides));
}

void diagonal(Call& c) {
    const Tensor& self = c.tensor(0);
    int64_t offset = c.integer(1), a = wrap_dim(c.integer(2), self.dim()), b = wrap_dim(c.integer(3), self.dim());
    MT_CHECK(a != b, "diagonal dimensions cannot be identical ", c.integer(2), ", ", c.integer(3));
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
    c.ret(0, as_strided(self, sizes, strides, first));
}

void check_strided(const Tensor& self, IntSpan sizes, IntSpan strides, int64_t offset) {
    MT_CHECK(sizes.size == strides.size, "mismatch in length of strides and shape");
    for (int64_t s : strides)
        MT_CHECK(s >= 0, "as_strided: Negative strides are not supported at the moment, got strides: ", strides);
    for (int64_t s : sizes)
        MT_CHECK(s >= 0, "Storage size calculation overflowed with sizes=", sizes, " and strides=", strides);
    MT_CHECK(offset >= 0, "Tensor: invalid storage offset ", offset);
    if (numel_of(sizes) == 0) return;
    size_t needed = storage_bytes_needed(sizes, strides, self.itemsize(), offset);
    MT_CHECK(needed <= self.storage->nbytes, "setStorage: sizes ", sizes, ", strides ", strides, ", storage offset ",
             offset, ", and itemsize ", self.itemsize(), " requiring a storage size of ", needed,
             " are out of bounds for storage of size ", self.storage->nbytes);
}

void as_strided_view(Call& c) {
    const Tensor& self = c.tensor(0);
    int64_t offset = c.integer_or(3, self.offset);
    check_strided(self, c.ints(1), c.ints(2), offset);
    c.ret(0, as_strided(self, c.ints(1), c.ints(2), offset));
}

// ---- complex numbers as pairs ----

void view_as_real(Call& c) {
    const Tensor& self = c.tensor(0);
    MT_CHECK(is_complex(self.dtype), "view_as_real is only supported for complex tensors");
    Dims sizes(self.sizes()), strides;
    for (int64_t s : self.strides()) strides.push_back(s * 2);
    sizes.push_back(2);
    strides.push_back(1);
    c.ret(0, from_storage(self.storage, self.offset * 2, sizes, strides, to_real(self.dtype)));
}

void view_as_complex(Call& c) {
    const Tensor& self = c.tensor(0);
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
    c.ret(0, from_storage(self.storage, self.offset / 2, sizes, strides, to_complex(self.dtype)));
}

// The imaginary or real parts: every second number of the pairs.
TensorRef component(const Tensor& self, int64_t which) {
    Dims strides;
    for (int64_t s : self.strides()) strides.push_back(s * 2);
    return from_storage(self.storage, self.offset * 2 + which, self.sizes(), strides, to_real(self.dtype));
}

void real(Call& c) {
    const Tensor& self = c.tensor(0);
    c.ret(0, is_complex(self.dtype) ? component(self, 0) : shallow_alias(self));
}

void imag(Call& c) {
    const Tensor& self = c.tensor(0);
    MT_CHECK(is_complex(self.dtype), "imag is not implemented for tensors with non-complex dtypes.");
    c.ret(0, component(self, 1));
}

// ---- in place: the tensor itself gets other sizes and strides ----

void transpose_inplace(Call& c) {
    Tensor& self = c.mutable_tensor(0);
    int64_t a = wrap_dim(c.integer(1), self.dim()), b = wrap_dim(c.integer(2), self.dim());
    TensorRef r = transposed(self, a, b);
    set_sizes_strides(self, r->sizes(), r->strides());
    c.ret(0, self);
}

void t_inplace(Call& c) {
    Tensor& self = c.mutable_tensor(0);
    MT_CHECK(self.dim() <= 2, "t_() expects a tensor with <= 2 dimensions, but self is ", self.dim(), "D");
    TensorRef r = transposed(self, 0, self.dim() < 2 ? 0 : 1);
    set_sizes_strides(self, r->sizes(), r->strides());
    c.ret(0, self);
}

void unsqueeze_inplace(Call& c) {
    Tensor& self = c.mutable_tensor(0);
    Dims sizes, strides;
    unsqueezed(self, c.integer(1), sizes, strides);
    set_sizes_strides(self, sizes, strides);
    c.ret(0, self);
}

void as_strided_inplace(Call& c) {
    Tensor& self = c.mutable_tensor(0);
    int64_t offset = c.integer_or(3, self.offset);
    check_strided(self, c.ints(1), c.ints(2), offset);
    Dims sizes(c.ints(1)), strides(c.ints(2));
    self.offset = offset;
    set_sizes_strides(self, sizes, strides);
    c.ret(0, self);
}

// A tensor that has the sizes already keeps its strides unless a format is asked for.
void resize_to(Tensor& self, IntSpan asked, const Value& format) {
    MT_CHECK(!requires_grad(self), "cannot resize variables that require grad");
    Dims sizes(asked);
    if (format.tag == Tag::MemoryFormat) check_format_rank(static_cast<MemoryFormat>(format.i), sizes.size());
    if (!(self.sizes() == IntSpan(sizes))) resize(self, sizes);
    if (format.tag != Tag::MemoryFormat) return;
    switch (static_cast<MemoryFormat>(format.i)) {
        case MemoryFormat::Preserve:
            MT_THROW(Runtime, "Unsupported memory formatPreserve");
        case MemoryFormat::Contiguous:
            return set_sizes_contiguous(self, sizes);
        default:
            return set_sizes_strides(self, sizes, channels_last_strides(sizes));
    }
}

void resize_inplace(Call& c) {
    for (int64_t s : c.ints(1))
        MT_CHECK(s >= 0, "Trying to create tensor with negative dimension ", s, ": ", c.ints(1));
    resize_to(c.mutable_tensor(0), c.ints(1), c.scalar(2));
    c.ret(0, c.tensor(0));
}

void resize_as_inplace(Call& c) {
    const Tensor& like = c.tensor(1);
    Value format = c.scalar(2);
    if (format.tag == Tag::MemoryFormat && static_cast<MemoryFormat>(format.i) == MemoryFormat::Preserve)
        format.i = static_cast<int64_t>(!is_channels_last(like) ? MemoryFormat::Contiguous
                                        : like.ndim == 4        ? MemoryFormat::ChannelsLast
                                                                : MemoryFormat::ChannelsLast3d);
    resize_to(c.mutable_tensor(0), like.sizes(), format);
    c.ret(0, c.tensor(0));
}

// ---- another storage ----

void replace_storage(Tensor& self, Storage* storage, int64_t offset, IntSpan sizes, IntSpan strides) {
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
    self.storage = storage;
    self.offset = offset;
    self.device = storage->device;
    set_sizes_strides(self, new_sizes, new_strides);
    if (old) old->drop();
}

void set_tensor(Call& c) {
    Tensor& self = c.mutable_tensor(0);
    const Tensor& source = c.tensor(1);
    MT_CHECK(self.dtype == source.dtype, "Could not set tensor of type ", dtype_name(source.dtype),
             " to a tensor of type ", dtype_name(self.dtype));
    replace_storage(self, source.storage, source.offset, source.sizes(), source.strides());
    c.ret(0, self);
}

void set_tensor_offset(Call& c) {
    Tensor& self = c.mutable_tensor(0);
    const Tensor& source = c.tensor(1);
    replace_storage(self, source.storage, c.integer(2), c.ints(3), c.ints(4));
    c.ret(0, self);
}

void set_nothing(Call& c) {
    Tensor& self = c.mutable_tensor(0);
    Storage* fresh = storage_alloc(0, self.device);
    int64_t zero = 0;
    replace_storage(self, fresh, 0, IntSpan(&zero, 1), IntSpan());
    fresh->drop();
    c.ret(0, self);
}

Storage* storage_argument(const Call& c) {
    Storage* s = c.args[1].tag == Tag::Object ? storage_of(c.args[1].obj) : nullptr;
    MT_CHECK_TYPE(s, "set_(): argument 'source' must be a Storage");
    return s;
}

void set_storage(Call& c) {
    Tensor& self = c.mutable_tensor(0);
    Storage* s = storage_argument(c);
    int64_t count = static_cast<int64_t>(s->nbytes) / self.itemsize();
    replace_storage(self, s, 0, IntSpan(&count, 1), IntSpan());
    c.ret(0, self);
}

void set_storage_offset(Call& c) {
    Tensor& self = c.mutable_tensor(0);
    replace_storage(self, storage_argument(c), c.integer(2), c.ints(3), c.ints(4));
    c.ret(0, self);
}

KERNELS
{
    direct("view", view);
    direct("view.dtype", view_dtype);
    direct("_unsafe_view", view);
    direct("_reshape_alias", reshape_alias);
    direct("alias", alias);
    direct("detach", alias);
    direct("lift_fresh", alias);
    direct("expand", expand);
    direct("permute", permute);
    direct("transpose.int", transpose);
    direct("t", t);
    direct("squeeze", squeeze);
    direct("squeeze.dim", squeeze_dim);
    direct("squeeze.dims", squeeze_dims);
    direct("unsqueeze", unsqueeze);
    direct("select.int", select);
    direct("slice.Tensor", slice);
    direct("narrow", narrow);
    direct("split.Tensor", split);
    direct("split_with_sizes", split_with_sizes);
    direct("unsafe_split.Tensor", split);
    direct("unsafe_split_with_sizes", split_with_sizes);
    direct("unbind.int", unbind);
    direct("unfold", unfold);
    direct("diagonal", diagonal);
    direct("as_strided", as_strided_view);
    direct("view_as_real", view_as_real);
    direct("view_as_complex", view_as_complex);
    direct("real", real);
    direct("imag", imag);
    direct("squeeze_", squeeze_inplace);
    direct("squeeze_.dim", squeeze_dim_inplace);
    direct("squeeze_.dims", squeeze_dims_inplace);
    direct("unsqueeze_", unsqueeze_inplace);
    direct("transpose_", transpose_inplace);
    direct("t_", t_inplace);
    direct("as_strided_", as_strided_inplace);
    direct("resize_", resize_inplace);
    direct("resize_as_", resize_as_inplace);
    direct("set_", set_nothing);
    direct("set_.source_Storage", set_storage);
    direct("set_.source_Storage_storage_offset", set_storage_offset);
    direct("set_.source_Tensor", set_tensor);
    direct("set_.source_Tensor_storage_offset", set_tensor_offset);
}

}  // namespace
}  // namespace mt
