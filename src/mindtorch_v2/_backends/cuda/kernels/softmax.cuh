// Softmax, its logarithm, and their gradients. The words: IN and OUT (for gradients IN is that of grad_output, SECOND that of the
// result), LOG (0 or 1), and those of rows.cuh for rows of neighbours.
#pragma once

typedef math_of<IN>::type T;

DEVICE T finished(T x, T top, T sum, T log_of_sum) { return LOG ? x - top - log_of_sum : exp(x - top) / sum; }
DEVICE T slope(T g, T y, T sum) { return LOG ? g - exp(y) * sum : y * (g - sum); }
DEVICE T share(T g, T y) { return LOG ? g : g * y; }

#ifndef COLUMNS
#include "rows.cuh"

struct Args {
    int64_t rows, n;
    const IN* in;
    const SECOND* second;
    OUT* out;
};

KERNEL(softmax, Args) {
    SHARED(T, space);
    const int64_t row = own_row();
    const int64_t n = row < a.rows ? a.n : 0;
    Row<IN> x;
    x.read(a.in + row * a.n, n, reinterpret_cast<IN*>(space + 32));
    T top = lowest<T>(), sum = 0;
    if (KEEP == NOWHERE) {  // in one pass, as the row is read from memory again
        x.each([&](T v, int64_t) {
            if (v > top) {
                sum *= exp(top - v);
                top = v;
            }
            sum += top == lowest<T>() ? exp(v) : exp(v - top);
        });
        const T mine = top;
        top = top_of_row(mine, space);
        sum = sum_of_row(mine == lowest<T>() ? sum : sum * exp(mine - top), space);
        if (top == lowest<T>()) sum = NAN;
    } else {
        x.each([&](T v, int64_t) { top = v > top ? v : top; });
        top = top_of_row(top, space);
        x.each([&](T v, int64_t) { sum += exp(v - top); });
        sum = sum_of_row(sum, space);
    }
    const T log_of_sum = LOG ? log(sum) : T(0);
    x.write(a.out + row * a.n, [&](T v, int64_t) { return finished(v, top, sum, log_of_sum); });
}

KERNEL(softmax_backward, Args) {
    SHARED(T, space);
    const int64_t row = own_row();
    const int64_t n = row < a.rows ? a.n : 0;
    Row<IN> g;
    Row<SECOND> y;
    IN* first = reinterpret_cast<IN*>(space + 32);
    g.read(a.in + row * a.n, n, first);
    y.read(a.second + row * a.n, n, reinterpret_cast<SECOND*>(first + n));
    T sum = 0;
    g.each_with(y, [&](T p, T q, int64_t) { sum += share(p, q); });
    sum = sum_of_row(sum, space);
    g.write_with(y, a.out + row * a.n, [&](T p, T q, int64_t) { return slope(p, q, sum); });
}

#else
// Along a dimension whose neighbours are `inner` elements apart. Threads of a warp lie along those; the HEIGHT threads of a column
// share it.
struct Args {
    int64_t columns, n, inner;
    const IN* in;
    const SECOND* second;
    OUT* out;
};
struct Sums {
    T top, sum;
};

KERNEL(softmax, Args) {
    SHARED(Sums, shared);
    const int64_t column = static_cast<int64_t>(blockIdx.x) * 32 + threadIdx.x;
    const bool live = column < a.columns;
    const int64_t first = live ? column / a.inner * a.n * a.inner + column % a.inner : 0;
    T top = lowest<T>(), sum = 0;
    for (int64_t i = threadIdx.y; live && i < a.n; i += HEIGHT) {
        const T v = to<T>(a.in[first + i * a.inner]);
        top = v > top ? v : top;
    }
    shared[threadIdx.y * 32 + threadIdx.x].top = top;
    __syncthreads();
    for (int k = 0; k < HEIGHT; k++) {
        const T other = shared[k * 32 + threadIdx.x].top;
        top = other > top ? other : top;
    }
    for (int64_t i = threadIdx.y; live && i < a.n; i += HEIGHT) sum += exp(to<T>(a.in[first + i * a.inner]) - top);
    shared[threadIdx.y * 32 + threadIdx.x].sum = sum;
    __syncthreads();
    sum = 0;
    for (int k = 0; k < HEIGHT; k++) sum += shared[k * 32 + threadIdx.x].sum;
    const T log_of_sum = LOG ? log(sum) : T(0);
    for (int64_t i = threadIdx.y; live && i < a.n; i += HEIGHT) {
        const int64_t at = first + i * a.inner;
        a.out[at] = to<OUT>(finished(to<T>(a.in[at]), top, sum, log_of_sum));
    }
}

KERNEL(softmax_backward, Args) {
    SHARED(T, shared);
    const int64_t column = static_cast<int64_t>(blockIdx.x) * 32 + threadIdx.x;
    const bool live = column < a.columns;
    const int64_t first = live ? column / a.inner * a.n * a.inner + column % a.inner : 0;
    T sum = 0;
    for (int64_t i = threadIdx.y; live && i < a.n; i += HEIGHT) {
        const int64_t at = first + i * a.inner;
        sum += share(to<T>(a.in[at]), to<T>(a.second[at]));
    }
    shared[threadIdx.y * 32 + threadIdx.x] = sum;
    __syncthreads();
    sum = 0;
    for (int k = 0; k < HEIGHT; k++) sum += shared[k * 32 + threadIdx.x];
    for (int64_t i = threadIdx.y; live && i < a.n; i += HEIGHT) {
        const int64_t at = first + i * a.inner;
        a.out[at] = to<OUT>(slope(to<T>(a.in[at]), to<T>(a.second[at]), sum));
    }
}
#endif
