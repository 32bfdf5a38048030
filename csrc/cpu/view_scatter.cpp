// The other direction of views: a tensor with one of its views replaced (`*_scatter`), and gradients of views, which
// are zeros with one view filled (`*_backward`).
#include <vector>

#include "core/reshape.h"
#include "core/saturating.h"
#include "core/typed_kernel.h"
#include "cpu/strided_walk.h"

namespace mt {
namespace {

TensorRef select_of(const Tensor& t, int64_t dim, int64_t index) {
    MT_CHECK_INDEX(t.dim() > 0, "select() cannot be applied to a 0-dim tensor.");
    int64_t d = wrap_dim(dim, t.dim()), size = t.size(d);
    MT_CHECK_INDEX(index >= -size && index < size, "select(): index ", index, " out of range for tensor of size ",
                   t.sizes(), " at dimension ", d);
    if (index < 0) index += size;
    Dims sizes(t.sizes()), strides(t.strides());
    int64_t offset = t.offset + index * strides[d];
    sizes.erase(d);
    strides.erase(d);
    return as_strided(t, sizes, strides, offset);
}

TensorRef slice_of(const Tensor& t, int64_t dim, int64_t start, int64_t end, int64_t step) {
    MT_CHECK(step > 0, "slice step must be positive");
    MT_CHECK_INDEX(t.dim() > 0, "slice() cannot be applied to a 0-dim tensor.");
    int64_t d = wrap_dim(dim, t.dim());
    clamp_slice(t.size(d), start, end);
    Dims sizes(t.sizes()), strides(t.strides());
    int64_t offset = t.offset + start * strides[d];
    sizes[d] = end > start ? (end - start - 1) / step + 1 : 0;
    strides[d] = saturating_mul(strides[d], step);
    return as_strided(t, sizes, strides, offset);
}

TensorRef diagonal_of(const Tensor& t, int64_t offset, int64_t dim1, int64_t dim2) {
    int64_t a = wrap_dim(dim1, t.dim()), b = wrap_dim(dim2, t.dim());
    MT_CHECK(a != b, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
    int64_t length = offset >= 0 ? std::min(t.size(a), t.size(b) - offset) : std::min(t.size(a) + offset, t.size(b));
    length = std::max<int64_t>(length, 0);
    int64_t first = t.offset;
    if (length > 0) first += offset >= 0 ? offset * t.stride(b) : -offset * t.stride(a);
    Dims sizes, strides;
    for (int64_t d = 0; d < t.dim(); d++) {
        if (d == a || d == b) continue;
        sizes.push_back(t.size(d));
        strides.push_back(t.stride(d));
    }
    sizes.push_back(length);
    strides.push_back(t.stride(a) + t.stride(b));
    return as_strided(t, sizes, strides, first);
}

void clear(Tensor& t) { fill(t, Value::of(int64_t(0))); }

// ---- gradients: args (grad, input_sizes, ...) ----

void sizes_from_list(ShapeCall& c, const Tensor& grad, IntSpan input_sizes) { c.output(0, input_sizes, grad.dtype); }

void select_backward_cpu(Out out, const Tensor& grad_output, IntSpan input_sizes, int64_t dim, int64_t index) {
    clear(out);
    TensorRef part = select_of(out, dim, index);
    copy_into(*part, grad_output);
}

void slice_backward_cpu(Out out, const Tensor& grad_output, IntSpan input_sizes, int64_t dim, int64_t start,
                        int64_t end, int64_t step) {
    clear(out);
    TensorRef part = slice_of(out, dim, start, end, step);
    copy_into(*part, grad_output);
}

void diagonal_backward_cpu(Out out, const Tensor& grad_output, IntSpan input_sizes, int64_t offset, int64_t dim1,
                           int64_t dim2) {
    clear(out);
    TensorRef part = diagonal_of(out, offset, dim1, dim2);
    copy_into(*part, grad_output);
}

// Adds `grad` into the (possibly overlapping) places that a strided view covers.
void add_strided(Tensor& out, const Tensor& grad, IntSpan sizes, IntSpan strides, int64_t offset) {
    if (grad.numel() == 0) return;
    StridedWalk<2> walk(sizes, {strides, grad.strides()});
    visit(NumberTypes{}, out.dtype, "as_strided_backward", [&]<class T>() {
        T* to = out.data<T>() + offset;
        const T* from = grad.data<T>();
        walk.run([&](const auto& at, int64_t n, const auto& steps) {
            for (int64_t i = 0; i < n; i++) {
                T& v = to[at[0] + i * steps[0]];
                v = static_cast<T>(v + from[at[1] + i * steps[1]]);
            }
        });
    });
}

// A view of sizes, strides and offset given by a caller, of memory that begins at 0.
void check_strided(IntSpan sizes, IntSpan strides, int64_t offset) {
    MT_CHECK(sizes.size == strides.size, "mismatch in length of strides and shape");
    MT_CHECK(offset >= 0, "Tensor: invalid storage offset ", offset);
    for (int64_t n : strides)
        MT_CHECK(n >= 0, "as_strided: Negative strides are not supported at the moment, got strides: ", strides);
    for (int64_t n : sizes)
        MT_CHECK(n >= 0, "Storage size calculation overflowed with sizes=", sizes, " and strides=", strides);
}

void as_strided_backward_cpu(Out out, const Tensor& grad, IntSpan input_sizes, IntSpan size, IntSpan stride,
                             int64_t storage_offset) {
    clear(out);
    check_strided(size, stride, storage_offset);
    MT_CHECK(grad.sizes() == size, "as_strided: the gradient does not have the view's sizes");
    size_t needed = grad.numel() ? storage_bytes_needed(size, stride, out->itemsize(), storage_offset) : 0;
    MT_CHECK(needed <= static_cast<size_t>(out->numel() * out->itemsize()),
             "as_strided: the gradient of a view that reaches outside a contiguous input is not supported");
    add_strided(out, grad, size, stride, storage_offset);
}

void unfold_backward_cpu(Out out, const Tensor& grad, IntSpan input_sizes, int64_t dim, int64_t size, int64_t step) {
    clear(out);
    int64_t d = wrap_dim(dim, out->dim());
    MT_CHECK_VALUE(step > 0, "step is ", step, " but must be > 0");
    MT_CHECK(size >= 0 && size <= (out->dim() ? out->size(d) : 1), "maximum size for tensor at dimension ", d, " is ",
             out->dim() ? out->size(d) : 1, " but size is ", size);
    Dims windows(out->sizes());
    if (out->dim()) windows[d] = (out->size(d) - size) / step + 1;
    windows.push_back(size);
    MT_CHECK(grad.sizes() == windows, "unfold_backward: the gradient has sizes ", grad.sizes(), ", expected ",
             IntSpan(windows));
    Dims strides(out->strides());
    int64_t stride = out->dim() ? out->stride(d) : 1;
    if (out->dim()) strides[d] = stride * step;
    strides.push_back(stride);
    add_strided(out, grad, grad.sizes(), strides, 0);
}

// ---- replacing a view: args (self, src, ...) ----

void self_shape(ShapeCall& c, const Tensor& self) { c.output_like(0, self); }

void replace(TensorRef part, const Tensor& src) {
    MT_CHECK(part->sizes() == src.sizes(),
             "expected src to have a size equal to the slice of self. src size = ", src.sizes(),
             ", slice size = ", part->sizes());
    copy_into(*part, src);
}
void select_scatter_cpu(Out out, const Tensor& self, const Tensor& src, int64_t dim, int64_t index) {
    copy_into(out, self);
    replace(select_of(out, dim, index), src);
}
void slice_scatter_cpu(Out out, const Tensor& self, const Tensor& src, int64_t dim, std::optional<int64_t> start,
                       std::optional<int64_t> end, int64_t step) {
    copy_into(out, self);
    replace(slice_of(out, dim, start.value_or(0), end.value_or(INT64_MAX), step), src);
}
void diagonal_scatter_cpu(Out out, const Tensor& self, const Tensor& src, int64_t offset, int64_t dim1, int64_t dim2) {
    copy_into(out, self);
    replace(diagonal_of(out, offset, dim1, dim2), src);
}
void as_strided_scatter_cpu(Out out, const Tensor& self, const Tensor& src, IntSpan size, IntSpan stride,
                            std::optional<int64_t> storage_offset) {
    // The view is of a copy that is laid out as `self`, whatever the layout of the output.
    TensorRef copy = empty_like(self);
    copy_into(*copy, self);
    int64_t offset = storage_offset.value_or(self.offset);
    check_strided(size, stride, offset);
    size_t needed = storage_bytes_needed(size, stride, copy->itemsize(), offset);
    MT_CHECK(needed <= copy->storage->nbytes, "setStorage: sizes ", size, ", strides ", stride, ", storage offset ",
             offset, ", and itemsize ", copy->itemsize(), " requiring a storage size of ", needed,
             " are out of bounds for storage of size ", copy->storage->nbytes);
    replace(as_strided(*copy, size, stride, offset), src);
    copy_into(out, *copy);
}

void diag_embed_shape(ShapeCall& c, const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
    int64_t n = self.dim() + 1;
    int64_t a = wrap_dim(dim1, n), b = wrap_dim(dim2, n);
    MT_CHECK(a != b, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
    MT_CHECK(self.dim() > 0, "diag_embed(): expected a tensor of at least one dimension");
    int64_t side = saturating_add(self.size(self.dim() - 1), offset < 0 ? saturating_mul(offset, -1) : offset);
    Dims sizes(n);
    for (int64_t d = 0, from = 0; d < n; d++) sizes[d] = d == a || d == b ? side : self.size(from++);
    c.output(0, sizes, self.dtype);
}
void diag_embed_cpu(Out out, const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
    clear(out);
    TensorRef part = diagonal_of(out, offset, dim1, dim2);
    copy_into(*part, self);
}

KERNELS
{
    shape<sizes_from_list>("sizes_from_list");
    structured<select_backward_cpu>("select_backward");
    structured<slice_backward_cpu>("slice_backward");
    structured<diagonal_backward_cpu>("diagonal_backward");
    structured<as_strided_backward_cpu>("_as_strided_backward", kContiguousOutputs);
    structured<unfold_backward_cpu>("unfold_backward");
    shape<self_shape>("view_scatter");
    structured<select_scatter_cpu>("select_scatter");
    structured<slice_scatter_cpu>("slice_scatter");
    structured<diagonal_scatter_cpu>("diagonal_scatter");
    structured<as_strided_scatter_cpu>("as_strided_scatter");
    structured<diag_embed_cpu>("diag_embed");
    shape<diag_embed_shape>("diag_embed");
}

}  // namespace
}  // namespace mt
