// Gradients of the weight and the bias of a norm of rows: sums over the rows. The words: IN and STATISTIC (element types), CENTRED.
// 32 columns and 8 shares of the rows to a block; `parts` blocks share a column, and what they have is summed afterwards.
#pragma once

typedef math_of<IN>::type T;

struct Args {
    int64_t rows, n, parts;
    const IN* in;
    const IN* grad;
    const STATISTIC* mean;
    const STATISTIC* scale;
    T* weight;  // [parts, n]
    T* bias;
};

KERNEL(norm_weights, Args) {
    SHARED(T, space);
    const int64_t column = static_cast<int64_t>(blockIdx.x) * 32 + threadIdx.x;
    const int64_t share = (a.rows + a.parts - 1) / a.parts, first = share * blockIdx.y;
    const int64_t last = first + share < a.rows ? first + share : a.rows;
    T weight = 0, bias = 0;
    for (int64_t row = first + threadIdx.y; column < a.n && row < last; row += 8) {
        const T d = to<T>(a.grad[row * a.n + column]);
        const T mean = CENTRED ? to<T>(a.mean[row]) : T(0);
        weight += d * (to<T>(a.in[row * a.n + column]) - mean) * to<T>(a.scale[row]);
        bias += d;
    }
    T* weights = space + threadIdx.x;
    T* biases = space + 256 + threadIdx.x;
    weights[threadIdx.y * 32] = weight;
    biases[threadIdx.y * 32] = bias;
    __syncthreads();
    if (threadIdx.y || column >= a.n) return;
    for (int k = 1; k < 8; k++) {
        weight += weights[k * 32];
        bias += biases[k * 32];
    }
    a.weight[blockIdx.y * a.n + column] = weight;
    a.bias[blockIdx.y * a.n + column] = bias;
}
