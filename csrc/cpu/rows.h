// Rows of floats for kernels that normalise: 16-bit rows are widened into a buffer, the others are used in place.
#pragma once

#include <memory>

#include "cpu/pieces.h"
#include "cpu/reduce.h"
#include "cpu/vecmath.h"

namespace mt {

// Row r of a contiguous tensor of rows of n elements, as X: itself or widened. The row after it is asked for meanwhile.
template <class X>
class RowIn {
  public:
    RowIn(const Tensor& t, int64_t n) : reader_(t), n_(n), buffer_(piece_buffer<X>(t, n)) {}
    const X* read(int64_t r) const {
        reader_.fetch((r + 1) * n_, n_);
        return reader_.read(r * n_, n_, buffer_.get());
    }

  private:
    Reader<X> reader_;
    int64_t n_;
    std::unique_ptr<X[]> buffer_;
};

// The place to write row r: at(r) to write to, then done(r). The row after it is asked for meanwhile.
template <class X>
class RowOut {
  public:
    RowOut(const Tensor& t, int64_t n) : writer_(t), n_(n), buffer_(piece_buffer<X>(t, n)) {}
    X* at(int64_t r) const {
        writer_.fetch((r + 1) * n_, n_);
        return writer_.place(r * n_, buffer_.get());
    }
    void done(int64_t r) const { writer_.done(r * n_, n_, buffer_.get()); }

  private:
    Writer<X> writer_;
    int64_t n_;
    std::unique_ptr<X[]> buffer_;
};

// Sum over i of f(i), in lanes. f must be free of branches.
template <class X, class F>
inline __attribute__((always_inline)) X lane_sum(int64_t n, const F& f) {
    constexpr int W = 128 / sizeof(X) * 2;
    X lanes[W] = {};
    int64_t i = 0;
    for (; i + W <= n; i += W)
        for (int j = 0; j < W; j++) lanes[j] += f(i + j);
    for (int j = 0; i < n; i++, j++) lanes[j] += f(i);
    for (int w = W / 2; w >= 1; w /= 2)
        for (int j = 0; j < w; j++) lanes[j] += lanes[j + w];
    return lanes[0];
}

// Largest element; NaN if there is one. NaN shows in the sum of all, which costs less than to ask each element.
template <class X>
inline X row_max(const X* x, int64_t n) {
    ExtremumOp<X, true> op;
    constexpr int W = 256 / sizeof(X);
    if (n >= W) {
        X lanes[W], sums[W] = {};
        std::fill_n(lanes, W, op.start());
        int64_t i = 0;
        for (; i + W <= n; i += W)
            for (int j = 0; j < W; j++) {
                lanes[j] = x[i + j] > lanes[j] ? x[i + j] : lanes[j];
                sums[j] += x[i + j];
            }
        for (int j = 0; i < n; i++, j++) {
            lanes[j] = x[i] > lanes[j] ? x[i] : lanes[j];
            sums[j] += x[i];
        }
        for (int w = W / 2; w >= 1; w /= 2)
            for (int j = 0; j < w; j++) {
                lanes[j] = lanes[j + w] > lanes[j] ? lanes[j + w] : lanes[j];
                sums[j] += sums[j + w];
            }
        if (sums[0] == sums[0]) return lanes[0];  // else NaN, or infinities of both signs
    }
    X best = op.start();
    for (int64_t i = 0; i < n; i += kFoldBlock)
        best = op.step(best, fold_block(op, x + i, std::min(kFoldBlock, n - i)));
    return best;
}

// e^x for x <= 0, -inf or NaN: results below 2^-126 are zero.
inline __attribute__((always_inline)) float exp_nonpositive(float x) {
    float y = vec::exp_inner(x < -87.0f ? -87.0f : x);
    return x < -87.0f ? 0.0f : y;
}
inline __attribute__((always_inline)) double exp_nonpositive(double x) { return vec::exp(x); }
// The same for any x, of which few are expected to be positive.
template <class X>
inline __attribute__((always_inline)) X exp_or_zero(X x) {
    return exp_nonpositive(x > X(89) && sizeof(X) == 4 ? X(89) : x);
}

// Sum of e^(x - max), which is also stored when `y` is given. Any `max`.
template <class X>
[[gnu::noinline]] X exp_sum(const X* x, X* y, int64_t n, X max) {
    if (!std::isfinite(max)) {
        return lane_sum<X>(n, [=](int64_t i) {
            X e = vec::exp(x[i] - max);
            if (y) y[i] = e;
            return e;
        });
    }
    if (!y) return lane_sum<X>(n, [=](int64_t i) { return exp_nonpositive(x[i] - max); });
    constexpr int W = 128 / sizeof(X) * 2;
    X lanes[W] = {};
    int64_t i = 0;
    for (; i + W <= n; i += W)
        for (int j = 0; j < W; j++) {
            X e = exp_nonpositive(x[i + j] - max);
            y[i + j] = e;
            lanes[j] += e;
        }
    for (int j = 0; i < n; i++, j++) {
        X e = exp_nonpositive(x[i] - max);
        y[i] = e;
        lanes[j] += e;
    }
    for (int w = W / 2; w >= 1; w /= 2)
        for (int j = 0; j < w; j++) lanes[j] += lanes[j + w];
    return lanes[0];
}

}  // namespace mt
