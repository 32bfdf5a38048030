// The other direction of views: a tensor with one of its views replaced (`*_scatter`), and gradients of views, which
// are zeros with one view filled (`*_backward`).
#include <vector>

#include "core/kernel.h"
#include "core/reshape.h"
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
    MT_CHECK(t.dim() > 0, "slice() cannot be applied to a 0-dim tensor.");
    int64_t d = wrap_dim(dim, t.dim());
    clamp_slice(t.size(d), start, end);
    Dims sizes(t.sizes()), strides(t.strides());
    int64_t offset = t.offset + start * strides[d];
    sizes[d] = (end - start + step - 1) / step;
    strides[d] *= step;
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

void sizes_from_list(ShapeCall& c) { c.output(0, c.ints(1), c.tensor(0).dtype); }

void select_backward_cpu(Call& c) {
    Tensor& out = c.out();
    clear(out);
    TensorRef part = select_of(out, c.integer(2), c.integer(3));
    copy_into(*part, c.tensor(0));
}

void slice_backward_cpu(Call& c) {
    Tensor& out = c.out();
    clear(out);
    TensorRef part = slice_of(out, c.integer(2), c.integer(3), c.integer(4), c.integer(5));
    copy_into(*part, c.tensor(0));
}

void diagonal_backward_cpu(Call& c) {
    Tensor& out = c.out();
    clear(out);
    TensorRef part = diagonal_of(out, c.integer(2), c.integer(3), c.integer(4));
    copy_into(*part, c.tensor(0));
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

void as_strided_backward_cpu(Call& c) {
    const Tensor& grad = c.tensor(0);
    Tensor& out = c.out();
    clear(out);
    MT_CHECK(c.ints(2).size == c.ints(3).size && grad.sizes() == c.ints(2),
             "as_strided: the gradient does not have the view's sizes");
    size_t needed = grad.numel() ? storage_bytes_needed(c.ints(2), c.ints(3), out.itemsize(), c.integer(4)) : 0;
    MT_CHECK(needed <= static_cast<size_t>(out.numel() * out.itemsize()),
             "as_strided: the gradient of a view that reaches outside a contiguous input is not supported");
    add_strided(out, grad, c.ints(2), c.ints(3), c.integer(4));
}

void unfold_backward_cpu(Call& c) {
    const Tensor& grad = c.tensor(0);
    Tensor& out = c.out();
    clear(out);
    int64_t d = wrap_dim(c.integer(2), out.dim()), size = c.integer(3), step = c.integer(4);
    MT_CHECK_VALUE(step > 0, "step is ", step, " but must be > 0");
    MT_CHECK(size >= 0 && size <= (out.dim() ? out.size(d) : 1), "maximum size for tensor at dimension ", d, " is ",
             out.dim() ? out.size(d) : 1, " but size is ", size);
    Dims windows(out.sizes());
    if (out.dim()) windows[d] = (out.size(d) - size) / step + 1;
    windows.push_back(size);
    MT_CHECK(grad.sizes() == windows, "unfold_backward: the gradient has sizes ", grad.sizes(), ", expected ",
             IntSpan(windows));
    Dims strides(out.strides());
    int64_t stride = out.dim() ? out.stride(d) : 1;
    if (out.dim()) strides[d] = stride * step;
    strides.push_back(stride);
    add_strided(out, grad, grad.sizes(), strides, 0);
}

// ---- replacing a view: args (self, src, ...) ----

void self_shape(ShapeCall& c) {
    const Tensor& self = c.tensor(0);
    c.output_like(0, self);
}

void replace(Call& c, TensorRef part) {
    const Tensor& src = c.tensor(1);
    MT_CHECK(part->sizes() == src.sizes(), "expected src to have a size equal to the ", c.name(),
             " view of self. src size = ", src.sizes(), ", view size = ", part->sizes());
    copy_into(*part, src);
}
void select_scatter_cpu(Call& c) {
    copy_into(c.out(), c.tensor(0));
    replace(c, select_of(c.out(), c.integer(2), c.integer(3)));
}
void slice_scatter_cpu(Call& c) {
    copy_into(c.out(), c.tensor(0));
    replace(c, slice_of(c.out(), c.integer(2), c.integer_or(3, 0), c.integer_or(4, INT64_MAX), c.integer(5)));
}
void diagonal_scatter_cpu(Call& c) {
    copy_into(c.out(), c.tensor(0));
    replace(c, diagonal_of(c.out(), c.integer(2), c.integer(3), c.integer(4)));
}
void as_strided_scatter_cpu(Call& c) {
    const Tensor& self = c.tensor(0);
    // The view is of a copy that is laid out as `self`, whatever the layout of the output.
    TensorRef copy = empty_like(self);
    copy_into(*copy, self);
    int64_t offset = c.integer_or(4, self.offset);
    MT_CHECK(c.ints(2).size == c.ints(3).size, "mismatch in length of strides and shape");
    size_t needed = storage_bytes_needed(c.ints(2), c.ints(3), copy->itemsize(), offset);
    MT_CHECK(needed <= copy->storage->nbytes, "setStorage: sizes ", c.ints(2), ", strides ", c.ints(3),
             ", storage offset ", offset, ", and itemsize ", copy->itemsize(), " requiring a storage size of ", needed,
             " are out of bounds for storage of size ", copy->storage->nbytes);
    replace(c, as_strided(*copy, c.ints(2), c.ints(3), offset));
    copy_into(c.out(), *copy);
}

void diag_embed_shape(ShapeCall& c) {
    const Tensor& self = c.tensor(0);
    int64_t n = self.dim() + 1, offset = c.integer(1);
    int64_t a = wrap_dim(c.integer(2), n), b = wrap_dim(c.integer(3), n);
    MT_CHECK(a != b, "diagonal dimensions cannot be identical ", c.integer(2), ", ", c.integer(3));
    MT_CHECK(self.dim() > 0, "diag_embed(): expected a tensor of at least one dimension");
    int64_t side = self.size(self.dim() - 1) + (offset < 0 ? -offset : offset);
    Dims sizes(n);
    for (int64_t d = 0, from = 0; d < n; d++) sizes[d] = d == a || d == b ? side : self.size(from++);
    c.output(0, sizes, self.dtype);
}
void diag_embed_cpu(Call& c) {
    Tensor& out = c.out();
    clear(out);
    TensorRef part = diagonal_of(out, c.integer(1), c.integer(2), c.integer(3));
    copy_into(*part, c.tensor(0));
}

KERNELS
{
    shape("sizes_from_list", sizes_from_list);
    structured("select_backward", select_backward_cpu);
    structured("slice_backward", slice_backward_cpu);
    structured("diagonal_backward", diagonal_backward_cpu);
    structured("_as_strided_backward", as_strided_backward_cpu, kContiguousOutputs);
    structured("unfold_backward", unfold_backward_cpu);
    shape("view_scatter", self_shape);
    structured("select_scatter", select_scatter_cpu);
    structured("slice_scatter", slice_scatter_cpu);
    structured("diagonal_scatter", diagonal_scatter_cpu);
    structured("as_strided_scatter", as_strided_scatter_cpu);
    structured("diag_embed", diag_embed_cpu);
    shape("diag_embed", diag_embed_shape);
}

}  // namespace
}  // namespace mt
