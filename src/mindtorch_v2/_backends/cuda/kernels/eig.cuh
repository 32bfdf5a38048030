// Schur form of square matrices, and the vectors of triangular ones: Hessenberg form by reflectors, then QR steps with a shift that
// is the last two rows' own eigenvalue. The word: ELEMENT (c64 or c128).
#pragma once

#include "linalg.cuh"

struct Args {
    int64_t n;
    Matrix a, z, x;  // a becomes upper triangular with Z a Z^H as it was; z begins as the identity; x are the vectors of a
    T* work;         // two numbers for each row and matrix
    int32_t* info;   // how many eigenvalues were not found
};

DEVICE R rough(T x) { return fabs(x.re) + fabs(x.im); }

DEVICE void hessenberg(const Args& a, int64_t b, double* space) {
    const int64_t n = a.n, lane = threadIdx.x % 32;
    T* v = a.work + b * 2 * n;
    for (int64_t j = 0; j + 2 < n; j++) {
        double rest = 0;
        for (int64_t i = j + 2 + threadIdx.x; i < n; i += blockDim.x) rest += square(a.a.at(b, i, j));
        const Reflector made(a.a.at(b, j + 1, j), block_sum(rest, space));
        for (int64_t i = j + 1 + threadIdx.x; i < n; i += blockDim.x)
            v[i] = i == j + 1 ? number(1) : a.a.at(b, i, j) * made.scale;
        __syncthreads();
        // From the left on the other columns, from the right on all rows, and on those of z.
        for (int64_t c = j + threadIdx.x / 32; c < n; c += blockDim.x / 32) {
            T along = number(0);
            for (int64_t i = j + 1 + lane; i < n; i += 32) along = along + conj(v[i]) * a.a.at(b, i, c);
            along = warp_sum(along) * conj(made.tau);
            for (int64_t i = j + 1 + lane; i < n; i += 32)
                a.a.at(b, i, c) = c == j && i > j + 1 ? number(0) : a.a.at(b, i, c) - v[i] * along;
        }
        __syncthreads();
        for (int64_t t = threadIdx.x; t < 2 * n; t += blockDim.x) {
            const Matrix& m = t < n ? a.a : a.z;
            T along = number(0);
            for (int64_t k = j + 1; k < n; k++) along = along + m.at(b, t % n, k) * v[k];
            along = along * made.tau;
            for (int64_t k = j + 1; k < n; k++) m.at(b, t % n, k) = m.at(b, t % n, k) - along * conj(v[k]);
        }
        __syncthreads();
    }
}

// The eigenvalue of the last two rows that is next to the last element; now and then another number, so that no cycle lasts.
DEVICE T shift_of(const Args& a, int64_t b, int64_t last, int64_t steps) {
    const T d = a.a.at(b, last, last), below = a.a.at(b, last, last - 1);
    if (steps % 10 == 9) return number(fabs(below.re) + fabs(d.re), 0);
    const T first = a.a.at(b, last - 1, last - 1), half = (first - d) * number(R(0.5));
    const T product = a.a.at(b, last - 1, last) * below, root = sqrt(half * half + product);
    const T sum = rough(half + root) > rough(half - root) ? half + root : half - root;
    return rough(sum) == 0 ? d : d - product / sum;
}

// R Q + shift of the rows from `first` to `last`, where Q R is what they are less the shift.
DEVICE void step_of(const Args& a, int64_t b, int64_t first, int64_t last, T shift) {
    const int64_t n = a.n;
    T* turns = a.work + b * 2 * n;  // cosine and sine of each
    __syncthreads();                // all have read for the shift
    for (int64_t i = first + threadIdx.x; i <= last; i += blockDim.x) a.a.at(b, i, i) = a.a.at(b, i, i) - shift;
    __syncthreads();
    for (int64_t k = first; k < last; k++) {
        const T x = a.a.at(b, k, k), y = a.a.at(b, k + 1, k);
        const double size = sqrt(square(x) + square(y));
        T c = number(1), s = number(0);
        if (size > 0) {
            c = x / number(static_cast<R>(size));
            s = y / number(static_cast<R>(size));
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            turns[2 * k] = c;
            turns[2 * k + 1] = s;
        }
        for (int64_t j = k + threadIdx.x; j < n; j += blockDim.x) {
            const T up = a.a.at(b, k, j), low = a.a.at(b, k + 1, j);
            a.a.at(b, k, j) = conj(c) * up + conj(s) * low;
            a.a.at(b, k + 1, j) = j == k ? number(0) : c * low - s * up;
        }
        __syncthreads();
    }
    for (int64_t t = threadIdx.x; t < last + 1 + n; t += blockDim.x) {
        const bool own = t <= last;
        const Matrix& m = own ? a.a : a.z;
        const int64_t i = own ? t : t - last - 1;
        for (int64_t k = own && i - 1 > first ? i - 1 : first; k < last; k++) {
            const T c = turns[2 * k], s = turns[2 * k + 1], left = m.at(b, i, k), right = m.at(b, i, k + 1);
            m.at(b, i, k) = left * c + right * s;
            m.at(b, i, k + 1) = right * conj(c) - left * conj(s);
        }
    }
    __syncthreads();
    for (int64_t i = first + threadIdx.x; i <= last; i += blockDim.x) a.a.at(b, i, i) = a.a.at(b, i, i) + shift;
    __syncthreads();
}

KERNEL(schur, Args) {
    SHARED(double, space);
    const int64_t b = blockIdx.x, n = a.n;
    hessenberg(a, b, space);
    double sum = 0;
    for (int64_t t = threadIdx.x; t < n * n; t += blockDim.x) sum += square(a.a.at(b, t % n, t / n));
    const R all = static_cast<R>(sqrt(block_sum(sum, space)));
    int64_t last = n - 1;
    for (int64_t steps = 0; last > 0 && steps < 30 + 30 * n;) {
        int64_t first = last;
        while (first > 0) {
            R beside = rough(a.a.at(b, first, first)) + rough(a.a.at(b, first - 1, first - 1));
            if (beside == 0) beside = all;
            if (!(rough(a.a.at(b, first, first - 1)) > epsilon() * beside)) break;
            first--;
        }
        __syncthreads();
        if (first > 0 && threadIdx.x == 0) a.a.at(b, first, first - 1) = number(0);
        if (first == last) {
            last--;
            steps = 0;
            continue;
        }
        step_of(a, b, first, last, shift_of(a, b, last, steps++));
    }
    if (threadIdx.x == 0) a.info[b] = static_cast<int32_t>(last);
}

// A thread has an eigenvalue of a triangular matrix, and finds its vector from the last row up.
KERNEL(triangular_vectors, Args) {
    const int64_t b = blockIdx.y, k = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (k >= a.n) return;
    const T value = a.a.at(b, k, k);
    R all = 0;
    for (int64_t i = 0; i <= k; i++) all = rough(a.a.at(b, i, i)) > all ? rough(a.a.at(b, i, i)) : all;
    const R least = all > 0 ? all * epsilon() : R(1e-30);
    for (int64_t i = 0; i < a.n; i++) a.x.at(b, i, k) = number(i == k);
    for (int64_t i = k - 1; i >= 0; i--) {
        T sum = number(0);
        for (int64_t j = i + 1; j <= k; j++) sum = sum + a.a.at(b, i, j) * a.x.at(b, j, k);
        T beside = value - a.a.at(b, i, i);
        if (rough(beside) < least) beside = number(least);
        const T found = sum / beside;
        a.x.at(b, i, k) = found;
        const R size = rough(found);
        if (size > 1e10)  // equal eigenvalues without vectors of their own
            for (int64_t j = i; j <= k; j++) a.x.at(b, j, k) = a.x.at(b, j, k) / number(size);
    }
}
