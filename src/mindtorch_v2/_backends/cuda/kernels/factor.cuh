// Cholesky and LU factors in place, and rows exchanged as LU says. The words: ELEMENT, PIVOT.
#pragma once

#include "linalg.cuh"

struct Args {
    int64_t rows, cols;
    Matrix a;
    int32_t* info;    // of each matrix: 0, or one more than the place of the first bad pivot
    int64_t base;     // of the places that are told
    int32_t* pivots;  // from `base` + 1
    int64_t pivots_step;
};

// The lower triangle; what is above the diagonal is neither read nor written.
KERNEL(cholesky, Args) {
    const int64_t b = blockIdx.x, n = a.rows;
    if (a.info[b]) return;
    for (int64_t j = 0; j < n; j++) {
        const R pivot = real(a.a.at(b, j, j));
        __syncthreads();
        if (!(pivot > 0)) {
            if (threadIdx.x == 0) a.info[b] = static_cast<int32_t>(a.base + j + 1);
            return;
        }
        const T d = number(sqrt(pivot));
        if (threadIdx.x == 0) a.a.at(b, j, j) = d;
        for (int64_t i = j + 1 + threadIdx.x; i < n; i += blockDim.x) a.a.at(b, i, j) = a.a.at(b, i, j) / d;
        __syncthreads();
        const int64_t left = n - j - 1;
        for (int64_t t = threadIdx.x; t < left * left; t += blockDim.x) {
            const int64_t i = j + 1 + t % left, k = j + 1 + t / left;
            if (i >= k) a.a.at(b, i, k) = a.a.at(b, i, k) - a.a.at(b, i, j) * conj(a.a.at(b, k, j));
        }
        __syncthreads();
    }
}

KERNEL(lu, Args) {
    SHARED(double, space);
    int64_t* places = reinterpret_cast<int64_t*>(space + blockDim.x);
    const int64_t b = blockIdx.x, least = a.rows < a.cols ? a.rows : a.cols;
    for (int64_t j = 0; j < least; j++) {
        int64_t from = j;
        if (PIVOT) {
            double top = -1;
            for (int64_t i = j + threadIdx.x; i < a.rows; i += blockDim.x) {
                const T x = a.a.at(b, i, j);
                const double size = fabs(static_cast<double>(real(x))) + fabs(static_cast<double>(imaginary(x)));
                if (size > top) {
                    top = size;
                    from = i;
                }
            }
            space[threadIdx.x] = top;
            places[threadIdx.x] = from;
            for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
                __syncthreads();
                const unsigned me = threadIdx.x, other = me + half;
                if (me < half && (space[other] > space[me] || (space[other] == space[me] && places[other] < places[me]))) {
                    space[me] = space[other];
                    places[me] = places[other];
                }
            }
            __syncthreads();
            from = places[0];
            for (int64_t c = threadIdx.x; from != j && c < a.cols; c += blockDim.x) {
                const T kept = a.a.at(b, j, c);
                a.a.at(b, j, c) = a.a.at(b, from, c);
                a.a.at(b, from, c) = kept;
            }
            __syncthreads();
        }
        if (threadIdx.x == 0) a.pivots[b * a.pivots_step + j] = static_cast<int32_t>(a.base + from + 1);
        const T pivot = a.a.at(b, j, j);
        if (pivot == number(0)) {
            if (threadIdx.x == 0 && !a.info[b]) a.info[b] = static_cast<int32_t>(a.base + j + 1);
            continue;
        }
        for (int64_t i = j + 1 + threadIdx.x; i < a.rows; i += blockDim.x) a.a.at(b, i, j) = a.a.at(b, i, j) / pivot;
        __syncthreads();
        const int64_t below = a.rows - j - 1, right = a.cols - j - 1;
        for (int64_t t = threadIdx.x; t < below * right; t += blockDim.x) {
            const int64_t i = j + 1 + t % below, k = j + 1 + t / below;
            a.a.at(b, i, k) = a.a.at(b, i, k) - a.a.at(b, i, j) * a.a.at(b, j, k);
        }
        __syncthreads();
    }
}

struct SwapArgs {
    int64_t batches, cols, count;
    Matrix a;
    const int32_t* pivots;
    int64_t pivots_step, base;
    int64_t back;
};

// Exchange row k with the one that pivot k names, for all pivots in their order or from the last one back.
KERNEL(swap_rows, SwapArgs) {
    const int64_t t = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (t >= a.batches * a.cols) return;
    const int64_t b = t / a.cols, c = t % a.cols;
    for (int64_t k = 0; k < a.count; k++) {
        const int64_t to = a.back ? a.count - 1 - k : k, from = a.pivots[b * a.pivots_step + to] - 1 - a.base;
        const T kept = a.a.at(b, to, c);
        a.a.at(b, to, c) = a.a.at(b, from, c);
        a.a.at(b, from, c) = kept;
    }
}
