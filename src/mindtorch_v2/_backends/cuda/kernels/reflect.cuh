// Householder reflectors: QR in place, and products of reflectors with other matrices. The words: ELEMENT, CONJUGATE.
#pragma once

#include "linalg.cuh"

struct Args {
    int64_t rows, cols;
    Matrix a;
    T* tau;
};

// R on and above the diagonal, the reflectors below it.
KERNEL(reflect, Args) {
    SHARED(double, space);
    const int64_t b = blockIdx.x, least = a.rows < a.cols ? a.rows : a.cols;
    for (int64_t j = 0; j < least; j++) {
        double rest = 0;
        for (int64_t i = j + 1 + threadIdx.x; i < a.rows; i += blockDim.x) rest += square(a.a.at(b, i, j));
        const Reflector made(a.a.at(b, j, j), block_sum(rest, space));
        __syncthreads();
        if (threadIdx.x == 0) {
            a.a.at(b, j, j) = number(made.beta, imaginary(made.tau) == 0 && real(made.tau) == 0 ? imaginary(a.a.at(b, j, j)) : 0);
            a.tau[b * least + j] = made.tau;
        }
        for (int64_t i = j + 1 + threadIdx.x; i < a.rows; i += blockDim.x) a.a.at(b, i, j) = a.a.at(b, i, j) * made.scale;
        __syncthreads();
        for (int64_t c = j + 1 + threadIdx.x / 32; c < a.cols; c += blockDim.x / 32) {
            T along = number(0);
            for (int64_t i = j + threadIdx.x % 32; i < a.rows; i += 32)
                along = along + (i == j ? number(1) : conj(a.a.at(b, i, j))) * a.a.at(b, i, c);
            along = warp_sum(along) * conj(made.tau);
            for (int64_t i = j + threadIdx.x % 32; i < a.rows; i += 32)
                a.a.at(b, i, c) = a.a.at(b, i, c) - (i == j ? number(1) : a.a.at(b, i, j)) * along;
        }
        __syncthreads();
    }
}

struct ApplyArgs {
    int64_t batches, rows, cols, count;
    Matrix a, x;
    const T* tau;
    int64_t forward;
};

// Each reflector, the first one first or last, or its adjoint, times x; a warp has a column of x.
KERNEL(apply, ApplyArgs) {
    const int64_t t = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (t >= a.batches * a.cols) return;
    const int64_t b = t / a.cols, c = t % a.cols;
    for (int64_t step = 0; step < a.count; step++) {
        const int64_t k = a.forward ? step : a.count - 1 - step;
        const T tau = CONJUGATE ? conj(a.tau[b * a.count + k]) : a.tau[b * a.count + k];
        T along = number(0);
        for (int64_t i = lane; i < a.rows; i += 32)
            if (i >= k) along = along + (i == k ? number(1) : conj(a.a.at(b, i, k))) * a.x.at(b, i, c);
        along = warp_sum(along) * tau;
        for (int64_t i = lane; i < a.rows; i += 32)
            if (i >= k) a.x.at(b, i, c) = a.x.at(b, i, c) - (i == k ? number(1) : a.a.at(b, i, k)) * along;
    }
}
