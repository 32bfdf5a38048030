// Loops that reductions, scans and normalisations share: a tensor seen as [outer, reduced, inner], and lane-wise
// folding of a row or of columns.
//
// g++ keeps the order of float additions, so a plain sum does not vectorise: each fold keeps an array of lanes, which
// does, and which is pairwise summation as well. Blocks of lanes end in a wider type.
#pragma once

#include <cmath>
#include <limits>

#include "core/typed_kernel.h"
#include "cpu/narrow.h"
#include "cpu/number.h"
#include "cpu/reduction_shape.h"
#include "cpu/row_loop.h"

namespace mt {

template <class T>
constexpr bool is_reduced_v = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
constexpr bool is_complex_v = std::is_same_v<T, c64> || std::is_same_v<T, c128>;

// A tensor as contiguous [outer, red, inner]; the kept dimensions are in logical order.
struct Rows {
    TensorRef x;
    int64_t outer = 1, red = 1, inner = 1;
    template <class T>
    const T* data() const {
        if constexpr (std::is_same_v<T, uint8_t>)
            return x->words<T>();  // any, all and count_nonzero: any type of one byte
        return x->data<T>();
    }
};

// `mask`: the dimensions that are reduced. With `flat` the reduced ones come last (inner == 1). `any_order`: the order
// of elements within a reduction does not matter, so memory order will do.
Rows as_rows(const Tensor& self, uint64_t mask, DType dtype, bool flat = false, bool any_order = true);

// ---- folds ----
//
// An Op has: Lane and Total types; Lane start(); Lane step(Lane, X) for an element of the compute type; Lane join(Lane,
// Lane); Total lift(Lane); Total merge(Total, Total). start() is neutral for join and merge.

constexpr int64_t kFoldBlock = 4096;

template <class Op, class X>
typename Op::Total fold_block(const Op& op, const X* x, int64_t n) {
    using Lane = typename Op::Lane;
    constexpr int W = 256 / (sizeof(Lane) < 4 ? 4 : sizeof(Lane)) < 1 ? 1 : 256 / (sizeof(Lane) < 4 ? 4 : sizeof(Lane));
    constexpr int kFew = W / 4 < 1 ? 1 : W / 4;
    Lane lanes[W];
    if (n <= kFew) {  // the same additions, less those of lanes that nothing was added to
        int width = 1;
        while (width < n) width *= 2;
        for (int j = 0; j < width; j++) lanes[j] = j < n ? op.step(op.start(), x[j]) : op.start();
        for (int w = width / 2; w >= 1; w /= 2)
            for (int j = 0; j < w; j++) lanes[j] = op.join(lanes[j], lanes[j + w]);
        return op.lift(lanes[0]);
    }
    for (int j = 0; j < W; j++) lanes[j] = op.start();
    int64_t i = 0;
    for (; i + W <= n; i += W)
        for (int j = 0; j < W; j++) lanes[j] = op.step(lanes[j], x[i + j]);
    for (int j = 0; i < n; i++, j++) lanes[j] = op.step(lanes[j], x[i]);
    for (int w = W / 2; w >= 1; w /= 2)
        for (int j = 0; j < w; j++) lanes[j] = op.join(lanes[j], lanes[j + w]);
    return op.lift(lanes[0]);
}

template <class Op, class T>
[[gnu::noinline]] typename Op::Total fold_row(const Op& op, const T* x, int64_t n) {
    typename Op::Total total = op.lift(op.start());
    for (int64_t i = 0; i < n; i += kFoldBlock) {
        int64_t m = std::min(kFoldBlock, n - i);
        if constexpr (is_reduced_v<T>) {
            float buffer[kFoldBlock];
            widen(x + i, buffer, m);
            total = op.merge(total, fold_block(op, buffer, m));
        } else {
            total = op.merge(total, fold_block(op, x + i, m));
        }
    }
    return total;
}

constexpr int64_t kFoldColumns = 1024;

// totals[j] for `columns` (<= kFoldColumns) adjacent columns of `rows` rows that lie `stride` apart.
template <class Op, class T>
[[gnu::noinline]] void fold_columns(const Op& op, const T* x, int64_t rows, int64_t stride, int64_t columns,
                                    typename Op::Total* totals) {
    using Lane = typename Op::Lane;
    Lane lanes[kFoldColumns];
    for (int64_t j = 0; j < columns; j++) totals[j] = op.lift(op.start());
    for (int64_t r0 = 0; r0 < rows; r0 += 128) {
        int64_t r1 = std::min(rows, r0 + 128);
        for (int64_t j = 0; j < columns; j++) lanes[j] = op.start();
        for (int64_t r = r0; r < r1; r++) {
            const T* row = x + r * stride;
            if constexpr (is_reduced_v<T>) {
                float buffer[kFoldColumns];
                widen(row, buffer, columns);
                for (int64_t j = 0; j < columns; j++) lanes[j] = op.step(lanes[j], buffer[j]);
            } else {
                for (int64_t j = 0; j < columns; j++) lanes[j] = op.step(lanes[j], row[j]);
            }
        }
        for (int64_t j = 0; j < columns; j++) totals[j] = op.merge(totals[j], op.lift(lanes[j]));
    }
}

// finish(o, total) for each of outer * inner results, o in row-major order of the kept dimensions.
template <class T, class Op, class F>
void fold(const Rows& v, const Op& op, const F& finish) {
    using Total = typename Op::Total;
    const T* x = v.data<T>();
    int64_t work = std::max<int64_t>(v.red, 1);
    if (v.inner == 1) {
        if (v.outer == 1 && v.red > 2 * kGrain) {
            // One long row: partial totals of equal parts, whose number does not depend on the number of threads.
            constexpr int64_t kParts = 64;
            Total parts[kParts];
            int64_t step = ((v.red + kParts - 1) / kParts + 63) / 64 * 64;
            parallel_for(kParts, grain_for(step), [&](int64_t b, int64_t e) {
                for (int64_t p = b; p < e; p++) {
                    int64_t from = std::min(p * step, v.red), to = std::min(from + step, v.red);
                    parts[p] = fold_row(op, x + from, to - from);
                }
            });
            Total total = parts[0];
            for (int64_t p = 1; p < kParts; p++) total = op.merge(total, parts[p]);
            return finish(0, total);
        }
        parallel_for(v.outer, grain_for(work), [&](int64_t b, int64_t e) {
            for (int64_t o = b; o < e; o++) finish(o, fold_row(op, x + o * v.red, v.red));
        });
        return;
    }
    // As wide as possible, since rows are read in memory order, but enough blocks for all threads.
    int64_t share = (v.inner * v.outer + num_threads() - 1) / num_threads();
    int64_t width = std::min(kFoldColumns, std::max<int64_t>(64, (std::min(share, v.inner) + 63) / 64 * 64));
    int64_t blocks = (v.inner + width - 1) / width;
    parallel_for(v.outer * blocks, grain_for(work * std::min(width, v.inner)), [&](int64_t b, int64_t e) {
        Total totals[kFoldColumns];
        for (int64_t k = b; k < e; k++) {
            int64_t o = k / blocks, c0 = k % blocks * width, n = std::min(width, v.inner - c0);
            fold_columns(op, x + o * v.red * v.inner + c0, v.red, v.inner, n, totals);
            for (int64_t j = 0; j < n; j++) finish(o * v.inner + c0 + j, totals[j]);
        }
    });
}

// ---- the ops ----

template <class T>
struct Wide {  // what a sum of T is kept in
    using type = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
};
template <>
struct Wide<c64> {
    using type = c128;
};
template <>
struct Wide<c128> {
    using type = c128;
};
template <class T>
using Compute = opmath_t<T>;

template <class T>
struct SumOp {
    using X = Compute<T>;
    using Total = typename Wide<X>::type;
    using Lane = std::conditional_t<std::is_integral_v<X>, int64_t, X>;
    Lane start() const { return Lane(0); }
    Lane step(Lane a, X x) const { return num::add(a, static_cast<Lane>(x)); }
    Lane join(Lane a, Lane b) const { return num::add(a, b); }
    Total lift(Lane a) const { return static_cast<Total>(a); }
    Total merge(Total a, Total b) const { return num::add(a, b); }
};

// NaN wins over everything; signed zeros are not told apart.
template <class T, bool kMax>
struct ExtremumOp {
    using X = Compute<T>;
    using Lane = X;
    using Total = X;
    Lane start() const {
        if constexpr (std::is_floating_point_v<X>)
            return kMax ? -std::numeric_limits<X>::infinity() : std::numeric_limits<X>::infinity();
        else
            return kMax ? std::numeric_limits<X>::lowest() : std::numeric_limits<X>::max();
    }
    Lane step(Lane a, X x) const {
        bool take = kMax ? x > a : x < a;
        if constexpr (std::is_floating_point_v<X>) take |= x != x;
        return take ? x : a;
    }
    Lane join(Lane a, Lane b) const { return step(a, b); }
    Total lift(Lane a) const { return a; }
    Total merge(Total a, Total b) const { return step(a, b); }
};

// The type that stands in for `t` where a kernel is compiled for few types: float for 16-bit floats, int64 for
// integers, complex128 for complex. It holds every value of `t`.
inline DType broad_type(DType t) {
    if (is_reduced_float(t)) return DType::Float32;
    if (is_complex(t)) return DType::Complex128;
    return is_floating(t) ? t : DType::Int64;
}

// A stand-in for an output of another type: written instead of it, then copied into it.
class Converted {
  public:
    Converted(Tensor& out, DType type) : out_(out) {
        if (out.dtype != type) temporary_ = empty(out.sizes(), type);
    }
    Tensor& tensor() { return temporary_ ? *temporary_ : out_; }
    void finish() {
        if (temporary_) copy_into(out_, *temporary_);
    }

  private:
    Tensor& out_;
    TensorRef temporary_;
};

// One result of a row, as a loop.
template <class Op, class F>
struct FoldRow {
    Op op;
    F convert;
    template <class T, class Out>
    static void run(char* const* p, int64_t n, const void* state) {
        const FoldRow& f = *static_cast<const FoldRow*>(state);
        *reinterpret_cast<Out*>(p[0]) = f.convert(fold_row(f.op, reinterpret_cast<const T*>(p[1]), n));
    }
};

// fold over a whole tensor along `mask`, written to `out` (contiguous, elements of type Out) by `convert`.
template <class T, class Out, class Op, class F>
void fold_into(const Tensor& self, uint64_t mask, const Op& op, Tensor& out, const F& convert) {
    // Truths are read as bytes where T is one; where it is wider they are copied as numbers first.
    Rows v = as_rows(self, mask, is_bool(self.dtype) && sizeof(T) == 1 ? self.dtype : dtype_of<T>::value);
    const FoldRow<Op, F> row{op, convert};
    if (v.inner == 1 && record_row_loop({FoldRow<Op, F>::template run<T, Out>, &row}, v.red, 1,
                                        {{&out, out.dtype, Reach::Row}, {v.x.get(), v.x->dtype, Reach::All}}))
        return;
    Out* y = out.words<Out>();
    fold<T>(v, op, [&](int64_t o, typename Op::Total t) { y[o] = convert(t); });
}

}  // namespace mt
