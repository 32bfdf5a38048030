// Cross entropy with class indices, fused with its log-softmax: a block a row of scores. The words: IN, TARGET, OUT and WEIGHT
// (element types), HAS_WEIGHT, THREADS of a block, and for the gradient EACH.
#pragma once
#define ROWS 1
#define VECTOR 1
#define HELD 1
#define KEEP NOWHERE
#include "rows.cuh"

typedef math_of<IN>::type T;

DEVICE int64_t checked(int64_t target, int64_t classes, int64_t ignored) {
    if (target != ignored && (target < 0 || target >= classes)) __trap();
    return target;
}

#ifndef EACH
struct Args {
    int64_t rows, classes, ignored;
    double smoothing;
    const IN* in;
    const TARGET* target;
    const WEIGHT* weight;
    OUT* out;
    OUT* weights;
    T* statistics;  // the largest scores, then the logarithms of the sums of exponentials above them
};

KERNEL(entropy, Args) {
    SHARED(T, space);
    const int64_t row = blockIdx.x;
    const IN* in = a.in + row * a.classes;
    T top = lowest<T>(), sum = 0, all = 0, weights = 0;
    for (int64_t j = threadIdx.x; j < a.classes; j += THREADS) {
        const T v = to<T>(in[j]);
        if (v > top) {
            sum *= exp(top - v);
            top = v;
        }
        sum += exp(v - top);
        if (a.smoothing > 0) {
            const T w = HAS_WEIGHT ? to<T>(a.weight[j]) : T(1);
            all += w * v;
            weights += w;
        }
    }
    const T mine = top;
    top = top_of_row(mine, space);
    sum = sum_of_row(mine == lowest<T>() ? sum : sum * exp(mine - top), space);
    if (a.smoothing > 0) {
        all = sum_of_row(all, space);
        weights = sum_of_row(weights, space);
    }
    if (threadIdx.x) return;
    const T l = log(sum), smoothing = T(a.smoothing);
    a.statistics[row] = top;
    a.statistics[a.rows + row] = l;
    const int64_t t = checked(static_cast<int64_t>(a.target[row]), a.classes, a.ignored);
    T value = 0, weight = 0;
    if (t != a.ignored) {
        weight = HAS_WEIGHT ? to<T>(a.weight[t]) : T(1);
        value = (T(1) - smoothing) * weight * (l - (to<T>(in[t]) - top));
        if (a.smoothing > 0) value += smoothing / T(a.classes) * ((l + top) * weights - all);
    }
    a.out[row] = to<OUT>(value);
    a.weights[row] = to<OUT>(weight);
}
#else
struct Args {
    int64_t rows, classes, ignored;
    double smoothing;
    const IN* in;
    const TARGET* target;
    const WEIGHT* weight;
    const T* grad;
    const T* all_weights;
    const T* statistics;
    OUT* out;
};

KERNEL(entropy_backward, Args) {
    const int64_t row = blockIdx.x;
    const IN* in = a.in + row * a.classes;
    OUT* out = a.out + row * a.classes;
    const int64_t t = checked(static_cast<int64_t>(a.target[row]), a.classes, a.ignored);
    const bool counts = t != a.ignored;
    const T factor = counts ? a.grad[EACH ? row : 0] : T(0), even = factor * T(a.smoothing) / T(a.classes);
    const T hit = counts ? factor * (T(1) - T(a.smoothing)) * (HAS_WEIGHT ? to<T>(a.weight[t]) : T(1)) : T(0);
    const T share = hit + even * a.all_weights[0], top = a.statistics[row], l = a.statistics[a.rows + row];
    for (int64_t j = threadIdx.x; j < a.classes; j += THREADS) {
        T slope = 0;
        if (counts) {
            slope = share * exp(to<T>(in[j]) - top - l) - even * (HAS_WEIGHT ? to<T>(a.weight[j]) : T(1));
            if (j == t) slope -= hit;
        }
        out[j] = to<OUT>(slope);
    }
}
#endif
