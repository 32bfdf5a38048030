// Elements in another order or repeated: flip, roll, repeat, repeat_interleave, triangles.
#include <vector>

#include "core/copy_bytes.h"
#include "core/saturating.h"
#include "core/typed_kernel.h"
#include "cpu/memory_format.h"
#include "cpu/strided_walk.h"

namespace mt {
namespace {

constexpr int64_t kTile = 16;

// to[i * to_step + j] = from[i * turned + j * from_step], tile by tile: both are walked along their cache lines.
template <class T>
void copy_transposed(T* to, int64_t to_step, const T* from, int64_t from_step, int64_t turned, int64_t n, int64_t m) {
    int64_t tiles = (n + kTile - 1) / kTile;
    parallel_for(tiles, grain_for(kTile * m), [&](int64_t begin, int64_t end) {
        T tile[kTile][kTile];
        for (int64_t i0 = begin * kTile; i0 < std::min(n, end * kTile); i0 += kTile)
            for (int64_t j0 = 0; j0 < m; j0 += kTile) {
                int64_t rows = std::min(kTile, n - i0), columns = std::min(kTile, m - j0);
                for (int64_t j = 0; j < columns; j++)
                    for (int64_t i = 0; i < rows; i++) tile[i][j] = from[(i0 + i) * turned + (j0 + j) * from_step];
                for (int64_t i = 0; i < rows; i++)
                    std::memcpy(static_cast<void*>(to + (i0 + i) * to_step + j0), tile[i],
                                sizeof(T) * static_cast<size_t>(columns));
            }
    });
}

// out[...] = base[...] walked with other strides (negative ones too).
void copy_strided(Tensor& out, const char* base, IntSpan sizes, IntSpan strides) {
    if (out.numel() == 0) return;
    // Dimensions in the order of the result's memory; and the one, if any, that is innermost in the source instead.
    Dims order, size, to_strides, from_strides;
    for (int64_t d = 0; d < sizes.size; d++) {
        if (sizes[d] == 1) continue;
        order.push_back(d);
        for (int64_t i = order.size() - 1; i > 0 && out.stride(order[i - 1]) < out.stride(order[i]); i--)
            std::swap(order[i - 1], order[i]);
    }
    for (int64_t d : order) {
        size.push_back(sizes[d]);
        to_strides.push_back(out.stride(d));
        from_strides.push_back(strides[d]);
    }
    int64_t last = size.size() - 1, across = -1;
    for (int64_t d = 0; d < last; d++)
        if (std::abs(from_strides[d]) == 1 && std::abs(from_strides[last]) > 1) across = d;
    if (across >= 0 && to_strides[last] == 1 && size[across] >= kTile && size[last] >= kTile) {
        int64_t n = size[across], m = size[last], to_step = to_strides[across], from_step = from_strides[last];
        int64_t turned = from_strides[across];
        for (Dims* d : {&size, &to_strides, &from_strides}) {
            d->erase(last);
            d->erase(across);
        }
        return visit_size(out.itemsize(), [&]<class T>() {
            const T* from = reinterpret_cast<const T*>(base);
            T* to = out.words<T>();
            StridedWalk<2> walk(size, {IntSpan(to_strides), IntSpan(from_strides)});
            walk.run([&](const auto& at, int64_t count, const auto& steps) {
                for (int64_t r = 0; r < count; r++)
                    copy_transposed(to + at[0] + r * steps[0], to_step, from + at[1] + r * steps[1], from_step, turned,
                                    n, m);
            });
        });
    }
    StridedWalk<2> walk(size, {IntSpan(to_strides), IntSpan(from_strides)});
    visit_size(out.itemsize(), [&]<class T>() {
        const T* from = reinterpret_cast<const T*>(base);
        T* to = out.words<T>();
        walk.run_parallel([&](const auto& at, int64_t n, const auto& steps) {
            T* t = to + at[0];
            const T* s = from + at[1];
            if (steps[0] == 1 && steps[1] == 1)
                copy_bytes(t, s, sizeof(T) * static_cast<size_t>(n));
            else if (steps[0] == 1 && steps[1] == -1)
                for (int64_t i = 0; i < n; i++) t[i] = s[-i];
            else if (steps[0] == 1)
                for (int64_t i = 0; i < n; i++) t[i] = s[i * steps[1]];
            else
                for (int64_t i = 0; i < n; i++) t[i * steps[0]] = s[i * steps[1]];
        });
    });
}

void flip_cpu(Out out, const Tensor& self, IntSpan dims) {
    uint64_t flipped = 0;
    for (int64_t d : dims) {
        int64_t w = wrap_dim(d, self.dim());
        MT_CHECK(!(flipped >> w & 1), "dim ", w, " appears multiple times in the list of dims");
        flipped |= uint64_t(1) << w;
    }
    if (out->numel() == 0) return;
    Dims strides(self.strides());
    const char* base = self.raw();
    for (int64_t d = 0; d < self.dim(); d++) {
        if (!(flipped >> d & 1)) continue;
        base += (self.size(d) - 1) * self.stride(d) * self.itemsize();
        strides[d] = -strides[d];
    }
    copy_strided(out, base, self.sizes(), strides);
}

// A part of `out` along one dimension, copied from the same-sized part of `self` that starts elsewhere.
void copy_part(Tensor& out, const Tensor& self, int64_t dim, int64_t to, int64_t from, int64_t length) {
    if (length <= 0) return;
    Dims sizes(self.sizes());
    sizes[dim] = length;
    TensorRef target = as_strided(out, sizes, out.strides(), out.offset + to * out.stride(dim));
    TensorRef source = as_strided(self, sizes, self.strides(), self.offset + from * self.stride(dim));
    copy_into(*target, *source);
}

// In the order of pictures with the channels last, else row-major; row-major where the dimensions are taken as one.
void roll_shape(ShapeCall& c, const Tensor& self, IntSpan dims) {
    if (dims.size == 0)
        c.output(0, self.sizes(), self.dtype);
    else
        output_in_format_of(c, 0, self, self.sizes(), self.dtype);
}

void roll_cpu(Out out, const Tensor& self, IntSpan shifts, IntSpan dims) {
    MT_CHECK(shifts.size > 0, "`shifts` required");
    if (dims.size == 0) {
        MT_CHECK(shifts.size == 1, "shifts and dimensions must align. shifts: ", shifts.size, ", dims:0");
        TensorRef flat = contiguous(self);
        int64_t n = self.numel();
        if (n == 0) return;
        int64_t shift = ((shifts[0] % n) + n) % n;
        Dims one{n}, step{1};
        TensorRef from = as_strided(*flat, one, step, flat->offset), to = empty(one, self.dtype);
        copy_part(*to, *from, 0, shift, 0, n - shift);
        copy_part(*to, *from, 0, 0, n - shift, shift);
        Dims dense = contiguous_strides(self.sizes());
        TensorRef shaped = as_strided(*to, self.sizes(), dense, to->offset);
        copy_into(out, *shaped);
        return;
    }
    MT_CHECK(shifts.size == dims.size, "shifts and dimensions must align. shifts: ", shifts.size, ", dims:", dims.size);
    TensorRef current = TensorRef::share(&self);
    for (int64_t k = 0; k < dims.size; k++) {
        MT_CHECK_INDEX(self.dim() > 0, "Dimension specified as ", dims[k], " but tensor has no dimensions");
        int64_t d = wrap_dim(dims[k], self.dim()), n = self.size(d);
        if (self.numel() == 0) return;
        int64_t shift = ((shifts[k] % n) + n) % n;
        bool last = k + 1 == dims.size;
        TensorRef next = last ? TensorRef::share(&*out) : empty(self.sizes(), self.dtype);
        copy_part(*next, *current, d, shift, 0, n - shift);
        copy_part(*next, *current, d, 0, n - shift, shift);
        current = std::move(next);
    }
}

// ---- repetition ----

void repeat_shape(ShapeCall& c, const Tensor& self, IntSpan repeats) {
    MT_CHECK(repeats.size >= self.dim(),
             "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
    Dims sizes(repeats.size);
    for (int64_t i = 0; i < repeats.size; i++) {
        int64_t d = i - (repeats.size - self.dim());
        MT_CHECK(repeats[i] >= 0, "Trying to create tensor with negative dimension ", repeats[i], ": ", repeats);
        sizes[i] = saturating_mul(repeats[i], d >= 0 ? self.size(d) : 1);
    }
    c.output(0, sizes, self.dtype);
}

void repeat_cpu(Out out, const Tensor& self, IntSpan repeats) {
    if (out->numel() == 0) return;
    // Every dimension becomes two: how often, and its own size.
    Dims sizes, from, to;
    for (int64_t i = 0; i < repeats.size; i++) {
        int64_t d = i - (repeats.size - self.dim());
        int64_t size = d >= 0 ? self.size(d) : 1;
        sizes.push_back(repeats[i]);
        from.push_back(0);
        to.push_back(size * out->stride(i));
        sizes.push_back(size);
        from.push_back(d >= 0 ? self.stride(d) : 0);
        to.push_back(out->stride(i));
    }
    TensorRef target = as_strided(out, sizes, to, out->offset);
    copy_strided(*target, self.raw(), sizes, from);
}

// The position of each repetition: [0] * repeats[0] + [1] * repeats[1] + ...
TensorRef repeat_interleave_cpu(const Tensor& repeats, std::optional<int64_t> output_size) {
    MT_CHECK(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat");
    MT_CHECK(repeats.dtype == DType::Int64 || repeats.dtype == DType::Int32, "repeats has to be Long or Int tensor");
    TensorRef counts = contiguous(repeats, DType::Int64);
    const int64_t* p = counts->data<int64_t>();
    int64_t n = repeats.numel(), total = 0;
    for (int64_t i = 0; i < n; i++) {
        MT_CHECK(p[i] >= 0, "repeats can not be negative");
        total += p[i];
    }
    if (!!output_size)
        MT_CHECK(*output_size == total, "Allocated size does not match required size: output_size is ", *output_size,
                 ", the sum of repeats is ", total);
    TensorRef wide = empty(IntSpan(&total, 1), DType::Int64);
    int64_t* out = wide->data<int64_t>();
    for (int64_t i = 0; i < n; i++) out = std::fill_n(out, p[i], i);
    if (repeats.dtype == DType::Int64) return wide;
    TensorRef same = empty(wide->sizes(), repeats.dtype);
    copy_into(*same, *wide);
    return same;
}

// ---- triangles ----

void triangle(Tensor& out, const Tensor& self, int64_t k, bool lower) {
    int64_t n = self.dim();
    MT_CHECK(n >= 2, lower ? "tril" : "triu", ": input tensor must have at least 2 dimensions");
    if (self.numel() == 0) return;
    int64_t rows = self.size(n - 2), columns = self.size(n - 1);
    Dims sizes(self.sizes()), from(self.strides()), to(out.strides());
    StridedWalk<2> batches(IntSpan(sizes.data(), n - 2), {IntSpan(to.data(), n - 2), IntSpan(from.data(), n - 2)});
    // Diagonals beyond the corners are all the same.
    k = std::clamp<int64_t>(k, -rows, columns);
    int64_t to_row = to[n - 2], from_row = from[n - 2], to_step = to[n - 1], from_step = from[n - 1];
    if (to_row < to_step) {  // columns lie in memory as rows do: the other triangle of the transpose
        std::swap(rows, columns);
        std::swap(to_row, to_step);
        std::swap(from_row, from_step);
        lower = !lower;
        k = -k;
    }
    visit_size(out.itemsize(), [&]<class T>() {
        const T* source = self.words<T>();
        T* target = out.words<T>();
        batches.run([&](const auto& at, int64_t count, const auto& steps) {
            parallel_for(count * rows, grain_for(columns), [&](int64_t begin, int64_t end) {
                for (int64_t r = begin; r < end; r++) {
                    int64_t b = r / rows, i = r % rows;
                    T* t = target + at[0] + b * steps[0] + i * to_row;
                    const T* s = source + at[1] + b * steps[1] + i * from_row;
                    int64_t edge = std::clamp<int64_t>(lower ? i + k + 1 : i + k, 0, columns);
                    int64_t keep_from = lower ? 0 : edge, keep_to = lower ? edge : columns;
                    for (int64_t j = 0; j < keep_from; j++) t[j * to_step] = T{};
                    if (t != s)
                        for (int64_t j = keep_from; j < keep_to; j++) t[j * to_step] = s[j * from_step];
                    for (int64_t j = keep_to; j < columns; j++) t[j * to_step] = T{};
                }
            });
        });
    });
}
void tril_cpu(Out out, const Tensor& self, int64_t diagonal) { triangle(out, self, diagonal, true); }
void triu_cpu(Out out, const Tensor& self, int64_t diagonal) { triangle(out, self, diagonal, false); }

// Sum of clamp(first + k, 0, limit) over the n integers k from 0 on.
__int128 sum_of_clamped(__int128 first, __int128 n, __int128 limit) {
    const __int128 rising = std::clamp<__int128>(-first, 0, n), full = std::clamp<__int128>(limit - first, rising, n);
    return (full - rising) * (2 * first + rising + full - 1) / 2 + (n - full) * limit;
}

// Column range [from, to) of row i of the triangle.
void row_range(bool lower, int64_t i, int64_t columns, int64_t offset, int64_t& from, int64_t& to) {
    auto within = [=](__int128 j) { return static_cast<int64_t>(std::clamp<__int128>(j, 0, columns)); };
    from = lower ? 0 : within(__int128(i) + offset);
    to = lower ? within(__int128(i) + offset + 1) : columns;
}

void triangle_indices_shape(ShapeCall& c, int64_t rows, int64_t columns, int64_t offset, DType dtype, bool lower) {
    MT_CHECK(rows >= 0, "row must be non-negative, got", rows);
    MT_CHECK(columns >= 0, "col must be non-negative, got", columns);
    const __int128 edges = sum_of_clamped(__int128(offset) + lower, rows, columns),
                   count = lower ? edges : __int128(rows) * columns - edges;
    // More than any memory: the allocation says so.
    int64_t sizes[2] = {2, static_cast<int64_t>(std::min<__int128>(count, INT64_MAX))};
    c.output(0, IntSpan(sizes, 2), dtype);
}
void triangle_indices(Tensor& out, int64_t rows, int64_t columns, int64_t offset, bool lower) {
    int64_t k = 0;
    visit(RealTypes{}, out.dtype, lower ? "tril_indices" : "triu_indices", [&]<class T>() {
        T* p = out.data<T>();
        int64_t count = out.size(1);
        for (int64_t i = 0; i < rows && k < count; i++) {
            int64_t from, to;
            row_range(lower, i, columns, offset, from, to);
            for (int64_t j = from; j < to; j++, k++) {
                p[k] = T(static_cast<opmath_t<T>>(i));
                p[count + k] = T(static_cast<opmath_t<T>>(j));
            }
        }
    });
}
void tril_indices_shape(ShapeCall& c, int64_t row, int64_t col, int64_t offset, std::optional<DType> dtype) {
    triangle_indices_shape(c, row, col, offset, dtype.value_or(DType::Int64), true);
}
void triu_indices_shape(ShapeCall& c, int64_t row, int64_t col, int64_t offset, std::optional<DType> dtype) {
    triangle_indices_shape(c, row, col, offset, dtype.value_or(DType::Int64), false);
}
void tril_indices_cpu(Out out, int64_t row, int64_t col, int64_t offset, RestUnread) {
    triangle_indices(out, row, col, offset, true);
}
void triu_indices_cpu(Out out, int64_t row, int64_t col, int64_t offset, RestUnread) {
    triangle_indices(out, row, col, offset, false);
}

KERNELS
{
    structured<flip_cpu>("flip");
    structured<roll_cpu>("roll");
    structured<repeat_cpu>("repeat");
    shape<repeat_shape>("repeat");
    shape<roll_shape>("roll");
    direct<repeat_interleave_cpu>("repeat_interleave.Tensor");
    structured<tril_cpu>("tril", kInputMayAlias);
    structured<triu_cpu>("triu", kInputMayAlias);
    structured<tril_indices_cpu>("tril_indices", kContiguousOutputs);
    structured<triu_indices_cpu>("triu_indices", kContiguousOutputs);
    shape<tril_indices_shape>("tril_indices");
    shape<triu_indices_shape>("triu_indices");
}

}  // namespace
}  // namespace mt
