// X of A X = B in place of B, for triangular A. A block has some columns of X. The words: ELEMENT, UPPER, UNIT, CONJUGATE.
#pragma once

#include "linalg.cuh"

struct Args {
    int64_t n, cols, of_block;
    Matrix a, x;
};

KERNEL(triangular, Args) {
    const int64_t b = blockIdx.y, first = static_cast<int64_t>(blockIdx.x) * a.of_block;
    const int64_t cols = a.cols - first < a.of_block ? a.cols - first : a.of_block;
    for (int64_t step = 0; step < a.n; step++) {
        const int64_t j = UPPER ? a.n - 1 - step : step, left = a.n - 1 - step, begin = UPPER ? 0 : j + 1;
        if (!UNIT) {
            const T d = CONJUGATE ? conj(a.a.at(b, j, j)) : a.a.at(b, j, j);
            for (int64_t c = threadIdx.x; c < cols; c += blockDim.x) a.x.at(b, j, first + c) = a.x.at(b, j, first + c) / d;
            __syncthreads();
        }
        for (int64_t t = threadIdx.x; t < left * cols; t += blockDim.x) {
            const int64_t i = begin + t / cols, c = first + t % cols;
            const T factor = CONJUGATE ? conj(a.a.at(b, i, j)) : a.a.at(b, i, j);
            a.x.at(b, i, c) = a.x.at(b, i, c) - factor * a.x.at(b, j, c);
        }
        __syncthreads();
    }
}
