// Whole slices along one dimension, picked or written by a vector of positions: index_select, index_add, index_copy,
// index_fill, index_reduce.
#include <vector>

#include "core/copy_bytes.h"
#include "core/number_fits.h"
#include "core/overlap.h"
#include "core/typed_kernel.h"
#include "cpu/index_combine.h"
#include "cpu/number.h"
#include "cpu/strided_walk.h"

namespace mt {
namespace {

struct Slices {
    int64_t dim, outer, size, inner;
};
Slices slices_of(const Tensor& t, int64_t dim) {
    Slices s{dim, 1, size_or_1(t, dim), 1};
    for (int64_t d = 0; d < dim && d < t.dim(); d++) s.outer *= t.size(d);
    for (int64_t d = dim + 1; d < t.dim(); d++) s.inner *= t.size(d);
    return s;
}

void check_vector_index(const Tensor& index, const char* op) {
    MT_CHECK_INDEX(index.dim() <= 1, op, "(): Index is supposed to be a vector");
    MT_CHECK(index.dtype == DType::Int64 || index.dtype == DType::Int32, op,
             "(): Expected dtype int32 or int64 for index");
}

void index_select_shape(ShapeCall& c, const Tensor& self, int64_t given_dim, const Tensor& index) {
    int64_t dim = wrap_dim(given_dim, self.dim());
    check_vector_index(index, "index_select");
    Dims sizes(self.sizes());
    if (self.dim()) sizes[dim] = index.numel();
    MT_CHECK(self.dim() || index.numel() == 1, "index_select(): Index to scalar can have only 1 value, got ",
             index.numel(), " value(s)");
    c.output(0, sizes, self.dtype);
}

// Position `at` along `dim`.
TensorRef slice(const Tensor& t, int64_t dim, int64_t at) {
    Dims sizes(t.sizes()), strides(t.strides());
    sizes.erase(dim);
    strides.erase(dim);
    return as_strided(t, sizes, strides, t.offset + at * t.stride(dim));
}

void index_select_cpu(Out out, const Tensor& given_self, int64_t given_dim, const Tensor& given_index) {
    int64_t dim = wrap_dim(given_dim, given_self.dim());
    TensorRef index = contiguous(*index64(given_index));
    Slices s = slices_of(given_self, dim);
    const int64_t* picks = index->data<int64_t>();
    int64_t n = index->numel();
    if (given_self.dim() > 1 && given_self.numel() == 0 && n > 0) {
        MT_CHECK(s.size > 0, "index_select(): self indexing axis dim should be positive");
        for (int64_t i = 0; i < n; i++)
            MT_CHECK(picks[i] >= 0 && picks[i] < s.size, "INDICES element is out of DATA bounds, id=", picks[i],
                     " axis_dim=", s.size);
    }
    for (int64_t i = 0; i < n; i++) MT_CHECK_INDEX(picks[i] >= 0 && picks[i] < s.size, "index out of range in self");
    if (out->numel() == 0) return;
    // Few slices do not pay for a contiguous copy of the whole.
    constexpr int64_t kSliceCost = 256;
    if (!given_self.is_contiguous() && n * (s.outer * s.inner + kSliceCost) < given_self.numel()) {
        for (int64_t i = 0; i < n; i++) copy_into(*slice(out, dim, i), *slice(given_self, dim, picks[i]));
        return;
    }
    TensorRef self = contiguous(given_self);
    int64_t grain = grain_for(s.inner);
    visit_size(self->itemsize(), [&]<class T>() {
        const T* from = self->words<T>();
        T* to = out->words<T>();
        parallel_for(s.outer * n, grain, [&](int64_t begin, int64_t end) {
            for (int64_t r = begin; r < end;) {  // one outer position at a time
                int64_t first = r % n, count = std::min(end - r, n - first);
                const T* source = from + r / n * s.size * s.inner;
                const int64_t* pick = picks + first;
                if (s.inner == 1)
                    for (int64_t i = 0; i < count; i++) to[r + i] = source[pick[i]];
                else
                    for (int64_t i = 0; i < count; i++)
                        copy_bytes(to + (r + i) * s.inner, source + pick[i] * s.inner,
                                   sizeof(T) * static_cast<size_t>(s.inner));
                r += count;
            }
        });
    });
}

// Runs row(target, target step, source, source step, length, k) over the rows of slices of `out`: of the one that
// index[k] names, for each k in their order. Negative positions count from the end.
template <class Row>
void each_slice(Tensor& out, int64_t dim, const Tensor& index, const char* source, IntSpan source_strides, Row row) {
    const int64_t* picks = index.data<int64_t>();
    const int64_t n = index.numel(), size = size_or_1(out, dim), bytes = out.itemsize();
    const int64_t stride = out.dim() ? out.stride(dim) : 1,
                  source_stride = source_strides.size ? source_strides[dim] : 0;
    Dims slice(out.sizes()), to(out.strides()), from = source_strides.size ? Dims(source_strides) : Dims(out.dim(), 0);
    if (out.dim()) slice[dim] = 1;
    const int64_t split = split_dim(slice, dim), parts = split < 0 ? 1 : slice[split];
    parallel_for(parts, grain_for(n * numel_of(slice) / std::max<int64_t>(1, parts)), [&](int64_t begin, int64_t end) {
        Dims sizes(slice);
        if (split >= 0) sizes[split] = end - begin;
        const int64_t shift = split >= 0 ? begin * to[split] : 0, source_shift = split >= 0 ? begin * from[split] : 0;
        StridedWalk<2> walk(sizes, {IntSpan(to), IntSpan(from)});
        for (int64_t k = 0; k < n; k++) {
            const int64_t position = picks[k] < 0 ? picks[k] + size : picks[k];
            char* target = out.raw() + (shift + position * stride) * bytes;
            const char* values = source + (source_shift + k * source_stride) * bytes;
            walk.run([&](const auto& at, int64_t length, const auto& steps) {
                row(target + at[0] * bytes, steps[0], values + at[1] * bytes, steps[1], length, k);
            });
        }
    });
}

void combine_slices(Combiner combine, Tensor& out, int64_t dim, const Tensor& index, const Tensor& source) {
    each_slice(out, dim, index, source.raw(), source.strides(),
               [row = combine.row](char* t, int64_t to, const char* s, int64_t from, int64_t n, int64_t) {
                   row(t, to, s, from, n);
               });
}

void fill_slices(Tensor& out, int64_t dim, const Tensor& index, const Element& value) {
    each_slice(out, dim, index, value.bytes, IntSpan(),
               [row = assigner(out.itemsize()).row](char* t, int64_t to, const char* s, int64_t from, int64_t n,
                                                    int64_t) { row(t, to, s, from, n); });
}

void check_slice_source(const char* op, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
    check_vector_index(index, op);
    MT_CHECK(self.dtype == source.dtype, op, "(): self (", dtype_class_name(self.dtype), ") and source (",
             dtype_class_name(source.dtype), ") must have the same scalar type");
    MT_CHECK(source.dim() == 0 || dim < source.dim(), op, "(): Indexing dim ", dim,
             " is out of bounds of the source tensor with dim ", source.dim());
    int64_t length = source.dim() ? source.size(dim) : 1;
    MT_CHECK(index.numel() == length, op, "(): Number of indices (", index.numel(),
             ") should be equal to source.size(dim): (", length, "), for dim: ", dim);
    bool same = self.dim() == source.dim();
    for (int64_t d = 0; same && d < self.dim(); d++) same = d == dim || self.size(d) == source.size(d);
    MT_CHECK(same || (self.dim() <= 1 && source.dim() <= 1),
             "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = ",
             self.sizes(), " source.shape = ", source.sizes());
}

// index_add: of a vector PyTorch looks an index up, of more it takes a slice there, with that text.
TensorRef checked_slices_to_add(const Tensor& index, const Tensor& self, int64_t dim) {
    TensorRef dense = contiguous(*index64(index));
    const int64_t* p = dense->data<int64_t>();
    const int64_t size = size_or_1(self, dim);
    for (int64_t i = 0; i < dense->numel(); i++) {
        if (p[i] >= 0 && p[i] < size) continue;
        MT_CHECK_INDEX(self.dim() > 1, "index out of range in self");
        MT_THROW(Runtime, "index ", p[i], " is out of bounds for dimension ", dim, " with size ", size);
    }
    return dense;
}

TensorRef checked_slices(const Tensor& index, const Tensor& self, int64_t dim, bool negative, const char* text) {
    TensorRef dense = contiguous(*index64(index));
    const int64_t* p = dense->data<int64_t>();
    int64_t size = size_or_1(self, dim);
    for (int64_t i = 0; i < dense->numel(); i++) MT_CHECK_INDEX(p[i] >= (negative ? -size : 0) && p[i] < size, text);
    return dense;
}

template <class T>
void add_scaled_row(char* target, int64_t target_step, const char* source, int64_t source_step, int64_t n,
                    const Element& factor) {
    T* t = reinterpret_cast<T*>(target);
    const T* s = reinterpret_cast<const T*>(source);
    T alpha;
    std::memcpy(&alpha, factor.bytes, sizeof(T));
    for (int64_t i = 0; i < n; i++)
        t[i * target_step] = num::add(t[i * target_step], num::mul(alpha, s[i * source_step]));
}

void add_slices(Tensor& out, int64_t dim, const Tensor& index, const Tensor& source, const Value& alpha) {
    if (alpha.as_complex() == c128(1))
        return combine_slices(combiner(Reduce::Sum, out.dtype, "index_add_cpu_"), out, dim, index, source);
    Element factor = element_of(alpha, out.dtype, "index_add_cpu_");
    decltype(&add_scaled_row<float>) row = nullptr;
    visit(AllTypes{}, out.dtype, "index_add_cpu_", [&]<class T>() { row = add_scaled_row<T>; });
    each_slice(
        out, dim, index, source.raw(), source.strides(),
        [&](char* t, int64_t to, const char* s, int64_t from, int64_t n, int64_t) { row(t, to, s, from, n, factor); });
}

void index_add_cpu(Out out, const Tensor& self, int64_t given_dim, const Tensor& given_index, const Tensor& source,
                   const Value& alpha) {
    int64_t dim = wrap_dim(given_dim, self.dim());
    check_slice_source("index_add", self, dim, given_index, source);
    // Nothing is added where there is nothing to write to, whatever the index says.
    if (self.numel() == 0) return;
    TensorRef index = checked_slices_to_add(given_index, self, dim);
    if (out->raw() != self.raw()) copy_into(out, self);
    if (out->dtype == DType::Complex32) {  // has no arithmetic of its own
        TensorRef sum = contiguous(*out, DType::Complex64), wide = contiguous(source, DType::Complex64);
        add_slices(*sum, dim, *index, *wide, alpha);
        return copy_into(out, *sum);
    }
    add_slices(out, dim, *index, source, alpha);
}

void index_copy_cpu(Out out, const Tensor& self, int64_t given_dim, const Tensor& given_index, const Tensor& source) {
    int64_t dim = wrap_dim(given_dim, self.dim());
    check_slice_source("index_copy", self, dim, given_index, source);
    TensorRef index = checked_slices(given_index, self, dim, false, "index out of range in self");
    if (out->raw() != self.raw()) copy_into(out, self);
    combine_slices(assigner(out->itemsize()), out, dim, *index, source);
}

void index_fill_cpu(Out out, const Tensor& self, int64_t given_dim, const Tensor& given_index, Input filler) {
    int64_t dim = wrap_dim(given_dim, self.dim());
    MT_CHECK_INDEX(given_index.dtype == DType::Int64, "index_fill_(): Expected dtype int64 for index.");
    MT_CHECK(given_index.dim() <= 1, "Index has to be a vector/scalar");
    TensorRef index = checked_slices(given_index, self, dim, true, "index out of range in self");
    if (out->raw() != self.raw()) copy_into(out, self);
    const Tensor* given = filler.t;
    MT_CHECK(!given || given->dim() == 0,
             "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ", given ? given->dim() : 0,
             " dimension(s).");
    MT_CHECK(given || is_complex(out->dtype) || filler.number->tag != Tag::Complex,
             "index_fill_(): Converting complex Scalar to non-complex type is not supported");
    if (given) check_item_fits(out->dtype, *given);
    Element value = element_of(given ? Value::of(false) : *filler.number, out->dtype, "index_fill_cpu");
    if (given) std::memcpy(value.bytes, contiguous(*given, out->dtype)->raw(), static_cast<size_t>(out->itemsize()));
    fill_slices(out, dim, *index, value);
}

template <class T>
void divide_row(char* target, int64_t step, int64_t n, int64_t count) {
    T* t = reinterpret_cast<T*>(target);
    for (int64_t i = 0; i < n; i++)
        if constexpr (std::is_integral_v<T>)  // rounds down, as floor_divide does
            t[i * step] = static_cast<T>(num::floor_div<int64_t>(t[i * step], count));
        else
            t[i * step] = T(static_cast<opmath_t<T>>(t[i * step]) / static_cast<opmath_t<T>>(count));
}

// Division of each slice by how many went into it.
void divide_by_counts(Tensor& out, int64_t dim, const Tensor& index, bool include_self) {
    std::vector<int64_t> counts(static_cast<size_t>(size_or_1(out, dim)), include_self ? 1 : 0);
    const int64_t* picks = index.data<int64_t>();
    for (int64_t i = 0; i < index.numel(); i++) counts[static_cast<size_t>(picks[i])]++;
    const int64_t size = static_cast<int64_t>(counts.size());
    TensorRef every = empty(IntSpan(&size, 1), DType::Int64);
    for (int64_t i = 0; i < size; i++) every->data<int64_t>()[i] = i;
    decltype(&divide_row<float>) row = nullptr;
    visit(RealTypes{}, out.dtype, "index_reduce_", [&]<class T>() { row = divide_row<T>; });
    each_slice(out, dim, *every, nullptr, IntSpan(),
               [&](char* t, int64_t step, const char*, int64_t, int64_t n, int64_t k) {
                   const int64_t count = counts[static_cast<size_t>(k)];
                   if (count > 1) row(t, step, n, count);
               });
}

void index_reduce_cpu(Out out, const Tensor& self, int64_t given_dim, const Tensor& given_index, const Tensor& source,
                      std::string_view name, bool include_self) {
    int64_t dim = wrap_dim(given_dim, self.dim());
    check_slice_source("index_reduce", self, dim, given_index, source);
    MT_CHECK(name == "prod" || name == "mean" || name == "amax" || name == "amin",
             "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got ", name, ".");
    Reduce reduce = reduce_named(name, "index_reduce");
    TensorRef index = checked_slices(given_index, self, dim, false, "index out of range in self");
    if (out->raw() != self.raw()) copy_into(out, self);
    visit(RealTypes{}, out->dtype, "index_reduce_", []<class T>() {});  // others could be combined, but are refused
    Combiner combine = combiner(reduce, out->dtype, "index_reduce_");
    if (!include_self) fill_slices(out, dim, *index, identity_of(reduce, out->dtype, "index_reduce_"));
    combine_slices(combine, out, dim, *index, source);
    if (reduce == Reduce::Mean) divide_by_counts(out, dim, *index, include_self);
}

KERNELS
{
    structured<index_select_cpu>("index_select", kContiguousOutputs);
    shape<index_select_shape>("index_select");
    structured<index_add_cpu>("index_add", kInputMayAlias | kWrittenApart);
    structured<index_copy_cpu>("index_copy", kInputMayAlias | kWrittenApart);
    structured<index_fill_cpu>("index_fill", kInputMayAlias | kWrittenApart);
    structured<index_reduce_cpu>("index_reduce", kInputMayAlias | kWrittenApart);
}

}  // namespace
}  // namespace mt
