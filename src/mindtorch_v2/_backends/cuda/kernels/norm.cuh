// Normalisation of rows, and what the gradients of layer, group and batch norm sum. The words: IN, OUT, WEIGHT and STATISTIC
// (element types), CENTRED (0: root mean square), HAS_WEIGHT, HAS_BIAS, GROUPED (1: a row has `channels` of `inner` neighbours,
// and weights are the channels'), and those of rows.cuh.
#pragma once
#include "rows.cuh"

typedef math_of<IN>::type T;

struct Args {
    int64_t rows, n;
    const IN* in;
    const IN* grad;
    const WEIGHT* weight;
    const WEIGHT* bias;
    OUT* out;
    STATISTIC* mean;
    STATISTIC* scale;  // 1 / deviation
    double eps;
    int64_t inner, channels, groups;
};

DEVICE int64_t parameter(const Args& a, int64_t row, int64_t i) {
    if (!GROUPED) return i;
    const int64_t channel = a.n <= 0x7fffffff ? static_cast<int32_t>(i) / static_cast<int32_t>(a.inner) : i / a.inner;
    return row % a.groups * a.channels + channel;
}

KERNEL(normalize, Args) {
    SHARED(T, space);
    const int64_t row = own_row();
    const bool live = row < a.rows;
    Row<IN> x;
    x.read(a.in + row * a.n, live ? a.n : 0, reinterpret_cast<IN*>(space + 32));
    T mean = 0, squares = 0;
    if (CENTRED) {
        x.each([&](T v, int64_t) { mean += v; });
        mean = sum_of_row(mean, space) / T(a.n);
    }
    x.each([&](T v, int64_t) { squares += (v - mean) * (v - mean); });
    const T scale = T(1) / sqrt(sum_of_row(squares, space) / T(a.n) + T(a.eps));
    x.write(a.out + row * a.n, [&](T v, int64_t i) {
        T y = (v - mean) * scale;
        const int64_t at = parameter(a, row, i);
        if (HAS_WEIGHT) y *= to<T>(a.weight[at]);
        if (HAS_BIAS) y += to<T>(a.bias[at]);
        return y;
    });
    if (live && threadIdx.x == 0) {
        if (CENTRED) a.mean[row] = to<STATISTIC>(mean);
        a.scale[row] = to<STATISTIC>(scale);
    }
}

// The gradient of a row's elements; `parameter` is never of a group here.
KERNEL(norm_backward, Args) {
    SHARED(T, space);
    const int64_t row = own_row();
    const bool live = row < a.rows;
    const int64_t n = live ? a.n : 0;
    Row<IN> g, x;
    IN* first = reinterpret_cast<IN*>(space + 32);
    g.read(a.grad + row * a.n, n, first);
    x.read(a.in + row * a.n, n, first + n);
    const T mean = CENTRED && live ? to<T>(a.mean[row]) : T(0), scale = live ? to<T>(a.scale[row]) : T(0);
    T level = 0, along = 0;
    g.each_with(x, [&](T d, T v, int64_t i) {
        if (HAS_WEIGHT) d *= to<T>(a.weight[i]);
        level += d;
        along += d * (v - mean) * scale;
    });
    level = CENTRED ? sum_of_row(level, space) / T(a.n) : T(0);
    along = sum_of_row(along, space) / T(a.n);
    g.write_with(x, a.out + row * a.n, [&](T d, T v, int64_t i) {
        if (HAS_WEIGHT) d *= to<T>(a.weight[i]);
        return scale * (d - level - (v - mean) * scale * along);
    });
}

// Of each row the mean, and the sum of squares around it.
KERNEL(moments, Args) {
    SHARED(T, space);
    const int64_t row = own_row();
    Row<IN> x;
    x.read(a.in + row * a.n, row < a.rows ? a.n : 0, reinterpret_cast<IN*>(space + 32));
    T mean = 0, squares = 0;
    x.each([&](T v, int64_t) { mean += v; });
    mean = sum_of_row(mean, space) / T(a.n);
    x.each([&](T v, int64_t) { squares += (v - mean) * (v - mean); });
    squares = sum_of_row(squares, space);
    if (row < a.rows && threadIdx.x == 0) {
        a.mean[row] = to<STATISTIC>(mean);
        a.scale[row] = to<STATISTIC>(squares);
    }
}

// Of each row the sum of grad, to `out`, and that of grad * (in - weight[row / channels % groups]), to `scale`.
KERNEL(pair_sums, Args) {
    SHARED(T, space);
    const int64_t row = own_row();
    const int64_t n = row < a.rows ? a.n : 0;
    Row<IN> g, x;
    IN* first = reinterpret_cast<IN*>(space + 32);
    g.read(a.grad + row * a.n, n, first);
    x.read(a.in + row * a.n, n, first + n);
    const T middle = row < a.rows ? to<T>(a.weight[row / a.channels % a.groups]) : T(0);
    T level = 0, along = 0;
    g.each_with(x, [&](T d, T v, int64_t) {
        level += d;
        along += d * (v - middle);
    });
    level = sum_of_row(level, space);
    along = sum_of_row(along, space);
    if (row < a.rows && threadIdx.x == 0) {
        a.mean[row] = to<STATISTIC>(level);
        a.scale[row] = to<STATISTIC>(along);
    }
}
