// Joining tensors: cat and stack.
#include "core/copy_bytes.h"
#include "core/reshape.h"
#include "core/saturating.h"
#include "core/typed_kernel.h"
#include "cpu/memory_format.h"

namespace mt {
namespace {

// [0]-shaped tensors are skipped whatever the others' sizes, as PyTorch has always done.
bool skipped(const Tensor& t) { return t.dim() == 1 && t.size(0) == 0; }

DType joined_dtype(Span<Tensor*> tensors) {
    DType dtype = tensors[0]->dtype;
    for (int64_t i = 1; i < tensors.size; i++)
        if (tensors[i]->dtype != dtype) dtype = promote(dtype, tensors[i]->dtype);
    return dtype;
}

bool all_channels_last(Span<Tensor*> tensors) {
    for (Tensor* t : tensors)
        if (!suggests_channels_last(*t)) return false;
    return true;
}

void cat_shape(ShapeCall& c, Span<Tensor*> tensors, int64_t given_dim) {
    MT_CHECK_VALUE(tensors.size > 0, "torch.cat(): expected a non-empty list of Tensors");
    const Tensor* model = nullptr;
    for (int64_t i = 0; i < tensors.size; i++) {
        MT_CHECK(tensors[i]->dim() > 0, "zero-dimensional tensor (at position ", i, ") cannot be concatenated");
        if (!model && !skipped(*tensors[i])) model = tensors[i];
    }
    DType dtype = joined_dtype(tensors);
    if (!model) return c.output(0, tensors[0]->sizes(), dtype);  // whatever the dimension
    int64_t dim = wrap_dim(given_dim, model->dim()), total = 0;
    for (int64_t i = 0; i < tensors.size; i++) {
        const Tensor& t = *tensors[i];
        if (skipped(t)) continue;
        MT_CHECK(t.dim() == model->dim(), "Tensors must have same number of dimensions: got ", model->dim(), " and ",
                 t.dim());
        for (int64_t d = 0; d < t.dim(); d++)
            MT_CHECK(d == dim || t.size(d) == model->size(d), "Sizes of tensors must match except in dimension ", dim,
                     ". Expected size ", model->size(d), " but got size ", t.size(d), " for tensor number ", i,
                     " in the list.");
        total = saturating_add(total, t.size(dim));
    }
    Dims sizes(model->sizes());
    sizes[dim] = total;
    if (model->dim() >= 4 && all_channels_last(tensors))
        return c.output_strided(0, sizes, channels_last_strides(sizes), dtype);
    c.output(0, sizes, dtype);
}

// Rows of `bytes` bytes that lie one after another, written `step` bytes apart.
void spread_rows(char* to, int64_t step, const char* from, int64_t bytes, int64_t rows) {
    auto copy = [=](auto size) {
        for (int64_t r = 0; r < rows; r++) copy_bytes(to + r * step, from + r * size, size);
    };
    const bool element = bytes <= 16 && (bytes & (bytes - 1)) == 0;
    if (!element) return copy(static_cast<size_t>(bytes));
    visit_size(bytes, [&]<class T>() { copy(std::integral_constant<size_t, sizeof(T)>()); });
}

// Each row of the result is one row of every tensor in turn, of part(tensor) bytes.
template <class Part>
void join_rows(Tensor& out, Span<Tensor*> tensors, int64_t rows, const Part& part) {
    const int64_t row = out.numel() * out.itemsize() / rows, block = std::max<int64_t>(1, (1 << 14) / row);
    char* to = out.raw();
    parallel_for(rows, std::max<int64_t>(1, 4 * kGrain / row), [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; r += block) {
            int64_t at = r * row;
            for (Tensor* t : tensors) {
                const int64_t bytes = part(*t);
                if (bytes == 0) continue;
                spread_rows(to + at, row, t->raw() + r * bytes, bytes, std::min(block, end - r));
                at += bytes;
            }
        }
    });
}

// All inputs dense and of the result's dtype: rows of bytes.
bool cat_dense(Tensor& out, Span<Tensor*> tensors, int64_t dim) {
    if (!out.is_contiguous()) return false;
    int64_t outer = 1, bytes = out.itemsize();
    for (int64_t d = 0; d < dim; d++) outer *= out.size(d);
    for (int64_t d = dim + 1; d < out.dim(); d++) bytes *= out.size(d);
    for (Tensor* t : tensors)
        if (!skipped(*t) && (!t->is_contiguous() || t->dtype != out.dtype)) return false;
    join_rows(out, tensors, outer, [=](const Tensor& t) { return skipped(t) ? 0 : t.size(dim) * bytes; });
    return true;
}

void cat_cpu(Out out, Span<Tensor*> tensors, int64_t given_dim) {
    if (out->numel() == 0) return;
    int64_t dim = wrap_dim(given_dim, out->dim());
    // One thick row has no outer dimension to share among threads: big inputs are then copied one after the other.
    int64_t outer = 1;
    for (int64_t d = 0; d < dim; d++) outer *= out->size(d);
    bool thick = outer == 1 && out->numel() > 8 * kGrain;
    if (!thick && cat_dense(out, tensors, dim)) return;
    int64_t at = 0;
    for (Tensor* t : tensors) {
        if (skipped(*t)) continue;
        Dims sizes(t->sizes());
        TensorRef part = as_strided(out, sizes, out->strides(), out->offset + at * out->stride(dim));
        copy_into(*part, *t);
        at += t->size(dim);
    }
}

void stack_shape(ShapeCall& c, Span<Tensor*> tensors, int64_t given_dim) {
    MT_CHECK(tensors.size > 0, "stack expects a non-empty TensorList");
    const Tensor& first = *tensors[0];
    int64_t dim = wrap_dim(given_dim, first.dim() + 1);
    for (int64_t i = 1; i < tensors.size; i++)
        MT_CHECK(tensors[i]->sizes() == first.sizes(), "stack expects each tensor to be equal size, but got ",
                 first.sizes(), " at entry 0 and ", tensors[i]->sizes(), " at entry ", i);
    Dims sizes(first.sizes());
    sizes.insert(dim, tensors.size);
    const DType dtype = joined_dtype(tensors);
    if (first.dim() < 4 || dim == first.dim() || first.numel() == 0 || !all_channels_last(tensors))
        return c.output(0, sizes, dtype);
    // In memory they lie as joined along the dimension before which the new one comes.
    Dims joined(first.sizes()), strides;
    joined[dim] *= tensors.size;
    const Dims steps = channels_last_strides(joined);
    if (view_strides(joined, steps, sizes, strides))
        c.output_strided(0, sizes, strides, dtype);
    else
        c.output(0, sizes, dtype);
}

void stack_cpu(Out out, Span<Tensor*> tensors, int64_t given_dim) {
    if (out->numel() == 0) return;
    int64_t dim = wrap_dim(given_dim, out->dim()), outer = 1, inner = out->itemsize();
    for (int64_t d = 0; d < dim; d++) outer *= out->size(d);
    for (int64_t d = dim + 1; d < out->dim(); d++) inner *= out->size(d);
    bool dense = out->is_contiguous();
    for (Tensor* t : tensors) dense = dense && t->is_contiguous() && t->dtype == out->dtype;
    if (dense) return join_rows(out, tensors, outer, [=](const Tensor&) { return inner; });
    Dims sizes(out->sizes()), strides(out->strides());
    int64_t stride = strides[dim];
    sizes.erase(dim);
    strides.erase(dim);
    for (int64_t k = 0; k < tensors.size; k++) {
        TensorRef part = as_strided(out, sizes, strides, out->offset + k * stride);
        copy_into(*part, *tensors[k]);
    }
}

KERNELS
{
    structured<cat_cpu>("cat");
    shape<cat_shape>("cat");
    structured<stack_cpu>("stack");
    shape<stack_shape>("stack");
}

}  // namespace
}  // namespace mt
