// Factors of symmetric and Hermitian matrices after Bunch and Kaufman, in the lower triangle, and solves with them. Pivots are
// LAPACK's: k for a row exchanged with row k, twice -k for a block of two whose second row is. The words: ELEMENT, HERMITIAN.
#pragma once

#include "linalg.cuh"

struct Args {
    int64_t n, cols;
    Matrix a, x;
    int32_t *pivots, *info;
};

DEVICE T other(T x) { return HERMITIAN ? conj(x) : x; }
DEVICE R rough(T x) { return fabs(real(x)) + fabs(imaginary(x)); }
DEVICE R on_diagonal(T x) { return HERMITIAN ? fabs(real(x)) : rough(x); }

// The largest of a column from row `from` on, without row `but`; each thread finds it by itself.
DEVICE int64_t largest(const Args& a, int64_t b, int64_t column, int64_t from, int64_t but, R& top) {
    int64_t place = -1;
    top = 0;
    for (int64_t i = from; i < a.n; i++) {
        const R size = i == but ? R(0) : rough(i >= column ? a.a.at(b, i, column) : a.a.at(b, column, i));
        if (i != but && (place < 0 || size > top)) {
            top = size;
            place = i;
        }
    }
    return place;
}

KERNEL(factor, Args) {
    const int64_t b = blockIdx.x, n = a.n;
    const R alpha = static_cast<R>(0.64038820320220756872767623199676);  // (1 + sqrt(17)) / 8
    int32_t* pivots = a.pivots + b * n;
    for (int64_t k = 0; k < n;) {
        const R own = on_diagonal(a.a.at(b, k, k));
        R top = 0;
        const int64_t row = k + 1 < n ? largest(a, b, k, k + 1, -1, top) : k;
        int64_t with = k, width = 1;
        const bool empty = (own > top ? own : top) == 0 || own != own;
        if (!empty && own < alpha * top) {
            R most;
            largest(a, b, row, k, row, most);
            if (own < alpha * top * (top / most)) {
                with = row;
                if (on_diagonal(a.a.at(b, row, row)) < alpha * most) width = 2;
            }
        }
        __syncthreads();
        if (empty) {
            if (threadIdx.x == 0) {
                if (!a.info[b]) a.info[b] = static_cast<int32_t>(k + 1);
                pivots[k] = static_cast<int32_t>(k + 1);
                if (HERMITIAN) a.a.at(b, k, k) = number(real(a.a.at(b, k, k)));
            }
            k++;
            __syncthreads();
            continue;
        }
        const int64_t place = k + width - 1;
        if (with != place) {
            for (int64_t i = with + 1 + threadIdx.x; i < n; i += blockDim.x) {
                const T kept = a.a.at(b, i, place);
                a.a.at(b, i, place) = a.a.at(b, i, with);
                a.a.at(b, i, with) = kept;
            }
            for (int64_t i = place + 1 + threadIdx.x; i < with; i += blockDim.x) {
                const T kept = other(a.a.at(b, i, place));
                a.a.at(b, i, place) = other(a.a.at(b, with, i));
                a.a.at(b, with, i) = kept;
            }
            if (threadIdx.x == 0) {
                a.a.at(b, with, place) = other(a.a.at(b, with, place));
                const T kept = a.a.at(b, place, place);
                a.a.at(b, place, place) = a.a.at(b, with, with);
                a.a.at(b, with, with) = kept;
                if (width == 2) {
                    const T low = a.a.at(b, place, k);
                    a.a.at(b, place, k) = a.a.at(b, with, k);
                    a.a.at(b, with, k) = low;
                }
            }
            __syncthreads();
        }
        if (HERMITIAN && threadIdx.x == 0) {
            a.a.at(b, k, k) = number(real(a.a.at(b, k, k)));
            a.a.at(b, place, place) = number(real(a.a.at(b, place, place)));
        }
        __syncthreads();
        const int64_t rest = k + width, left = n - rest;
        if (width == 1) {
            const T d = a.a.at(b, k, k);
            for (int64_t t = threadIdx.x; t < left * left; t += blockDim.x) {
                const int64_t i = rest + t % left, j = rest + t / left;
                if (i >= j) a.a.at(b, i, j) = a.a.at(b, i, j) - a.a.at(b, i, k) * other(a.a.at(b, j, k)) / d;
                if (HERMITIAN && i == j) a.a.at(b, i, i) = number(real(a.a.at(b, i, i)));
            }
            __syncthreads();
            for (int64_t i = rest + threadIdx.x; i < n; i += blockDim.x) a.a.at(b, i, k) = a.a.at(b, i, k) / d;
        } else {
            const T x = a.a.at(b, k, k), y = a.a.at(b, k + 1, k), z = a.a.at(b, k + 1, k + 1);
            const T scaled = x / y * (z / other(y)) - number(1);  // the determinant over the square of y
            for (int64_t t = threadIdx.x; t < left * left; t += blockDim.x) {
                const int64_t i = rest + t % left, j = rest + t / left;
                if (i < j) continue;
                const T first = other(a.a.at(b, j, k)), second = other(a.a.at(b, j, k + 1));
                const T up = (z / other(y) * first / y - second / y) / scaled;      // D^-1 times row j's adjoint
                const T low = (x / y * second / other(y) - first / other(y)) / scaled;
                a.a.at(b, i, j) = a.a.at(b, i, j) - a.a.at(b, i, k) * up - a.a.at(b, i, k + 1) * low;
                if (HERMITIAN && i == j) a.a.at(b, i, i) = number(real(a.a.at(b, i, i)));
            }
            __syncthreads();
            for (int64_t i = rest + threadIdx.x; i < n; i += blockDim.x) {
                const T first = other(a.a.at(b, i, k)), second = other(a.a.at(b, i, k + 1));
                a.a.at(b, i, k) = other((z / other(y) * first / y - second / y) / scaled);
                a.a.at(b, i, k + 1) = other((x / y * second / other(y) - first / other(y)) / scaled);
            }
        }
        if (threadIdx.x == 0) {
            pivots[k] = static_cast<int32_t>(width == 1 ? with + 1 : -(with + 1));
            if (width == 2) pivots[k + 1] = pivots[k];
        }
        __syncthreads();
        k += width;
    }
}

// A thread has a column of X.
KERNEL(solve, Args) {
    const int64_t b = blockIdx.y, c = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x, n = a.n;
    if (c >= a.cols) return;
    const int32_t* pivots = a.pivots + b * n;
    for (int64_t k = 0; k < n;) {
        const bool one = pivots[k] > 0;
        const int64_t width = one ? 1 : 2, place = k + width - 1, with = (one ? pivots[k] : -pivots[k]) - 1;
        const T kept = a.x.at(b, place, c);
        a.x.at(b, place, c) = a.x.at(b, with, c);
        a.x.at(b, with, c) = kept;
        for (int64_t i = k + width; i < n; i++)
            for (int64_t j = k; j <= place; j++) a.x.at(b, i, c) = a.x.at(b, i, c) - a.a.at(b, i, j) * a.x.at(b, j, c);
        if (one) {
            a.x.at(b, k, c) = a.x.at(b, k, c) / a.a.at(b, k, k);
        } else {
            const T x = a.a.at(b, k, k), y = a.a.at(b, k + 1, k), z = a.a.at(b, k + 1, k + 1);
            const T scaled = x / y * (z / other(y)) - number(1), first = a.x.at(b, k, c), second = a.x.at(b, k + 1, c);
            a.x.at(b, k, c) = (z / other(y) * first / y - second / y) / scaled;
            a.x.at(b, k + 1, c) = (x / y * second / other(y) - first / other(y)) / scaled;
        }
        k += width;
    }
    for (int64_t k = n - 1; k >= 0;) {
        const bool one = pivots[k] > 0;
        const int64_t width = one ? 1 : 2, begin = k - width + 1, with = (one ? pivots[k] : -pivots[k]) - 1;
        for (int64_t j = begin; j <= k; j++)
            for (int64_t i = k + 1; i < n; i++) a.x.at(b, j, c) = a.x.at(b, j, c) - other(a.a.at(b, i, j)) * a.x.at(b, i, c);
        const T kept = a.x.at(b, k, c);
        a.x.at(b, k, c) = a.x.at(b, with, c);
        a.x.at(b, with, c) = kept;
        k -= width;
    }
}
