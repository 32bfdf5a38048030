// Eigenvalues of Hermitian matrices and singular values by Jacobi's rotations: pairs of columns that do not meet are turned at once,
// until every pair is orthogonal. The word: ELEMENT.
#pragma once

#include "linalg.cuh"

struct Args {
    int64_t rows, n, sweeps;
    Matrix a, v;    // v begins as the identity and becomes the vectors
    T* rotations;   // for eigenvalues: three numbers for each pair and matrix
    int32_t* info;  // 1 where the rotations did not end
};

DEVICE Rotation kept(const T* numbers) {
    Rotation made;
    made.c = real(numbers[0]);
    made.s = real(numbers[1]);
    made.phase = numbers[2];
    return made;
}

// a becomes diagonal.
KERNEL(hermitian, Args) {
    SHARED(double, space);
    const int64_t b = blockIdx.x, n = a.n, pairs = (n + 1) / 2;
    T* own = a.rotations + b * 3 * pairs;
    double sum = 0;
    for (int64_t t = threadIdx.x; t < n * n; t += blockDim.x) sum += square(a.a.at(b, t % n, t / n));
    const double all = sqrt(block_sum(sum, space)), enough = all * epsilon();
    bool turning = !is_finite(all);
    for (int64_t sweep = 0; sweep < a.sweeps && is_finite(all); sweep++) {
        turning = false;
        for (int64_t round = 0; round < 2 * pairs - 1; round++) {
            bool turned = false;
            int64_t p, q;
            for (int64_t t = threadIdx.x; t < pairs; t += blockDim.x) {
                Rotation made;
                if (pair_of(n, round, t, p, q)) {
                    const T y = a.a.at(b, p, q);
                    if (sqrt(square(y)) > enough) {
                        made = Rotation(real(a.a.at(b, p, p)), y, real(a.a.at(b, q, q)));
                        turned = true;
                    }
                }
                own[3 * t] = number(made.c);
                own[3 * t + 1] = number(made.s);
                own[3 * t + 2] = made.phase;
            }
            if (!__syncthreads_or(turned)) continue;
            turning = true;
            for (int64_t t = threadIdx.x; t < pairs * n; t += blockDim.x) {
                const int64_t pair = t / n, i = t % n;
                if (real(own[3 * pair + 1]) == 0 || !pair_of(n, round, pair, p, q)) continue;
                const Rotation made = kept(own + 3 * pair);
                made.columns(a.a.at(b, i, p), a.a.at(b, i, q));
                made.columns(a.v.at(b, i, p), a.v.at(b, i, q));
            }
            __syncthreads();
            for (int64_t t = threadIdx.x; t < pairs * n; t += blockDim.x) {
                const int64_t pair = t / n, i = t % n;
                if (real(own[3 * pair + 1]) == 0 || !pair_of(n, round, pair, p, q)) continue;
                const Rotation made = kept(own + 3 * pair);
                made.rows(a.a.at(b, p, i), a.a.at(b, q, i));
            }
            __syncthreads();
        }
        if (!turning) break;
    }
    if (threadIdx.x == 0) a.info[b] = turning;
}

// The columns of a become orthogonal: a v = u s.
KERNEL(orthogonal, Args) {
    const int64_t b = blockIdx.x, n = a.n, pairs = (n + 1) / 2, lane = threadIdx.x % 32;
    bool turning = false;
    for (int64_t sweep = 0; sweep < a.sweeps; sweep++) {
        bool turned = false;
        for (int64_t round = 0; round < 2 * pairs - 1; round++) {
            for (int64_t t = threadIdx.x / 32; t < pairs; t += blockDim.x / 32) {
                int64_t p, q;
                if (!pair_of(n, round, t, p, q)) continue;
                double x = 0, z = 0, re = 0, im = 0;
                for (int64_t i = lane; i < a.rows; i += 32) {
                    const T left = a.a.at(b, i, p), right = a.a.at(b, i, q);
                    x += square(left);
                    z += square(right);
                    re += static_cast<double>(real(left)) * real(right) + static_cast<double>(imaginary(left)) * imaginary(right);
                    im += static_cast<double>(real(left)) * imaginary(right) - static_cast<double>(imaginary(left)) * real(right);
                }
                x = warp_sum(x), z = warp_sum(z), re = warp_sum(re), im = warp_sum(im);
                const double both = sqrt(x) * sqrt(z), along = hypot(re, im);
                if (!(along > 4 * epsilon() * both)) continue;
                turned = true;
                Rotation made(x / along, number(static_cast<R>(re / along), static_cast<R>(im / along)), z / along);
                for (int64_t i = lane; i < a.rows; i += 32) made.columns(a.a.at(b, i, p), a.a.at(b, i, q));
                for (int64_t i = lane; i < n; i += 32) made.columns(a.v.at(b, i, p), a.v.at(b, i, q));
            }
            __syncthreads();
        }
        turning = __syncthreads_or(turned);
        if (!turning) break;
    }
    if (threadIdx.x == 0) a.info[b] = turning;
}
