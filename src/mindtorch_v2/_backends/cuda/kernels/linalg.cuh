// What kernels of dense linear algebra share. A matrix of a batch has a block, whose threads are a power of two; it lies anywhere
// in memory by its steps. The word: ELEMENT (float, double, c64 or c128).
#pragma once

typedef ELEMENT T;
template <class E>
struct real_of {
    typedef E type;
};
template <class R>
struct real_of<complex<R>> {
    typedef R type;
};
typedef real_of<T>::type R;

DEVICE float real(float x) { return x; }
DEVICE double real(double x) { return x; }
template <class E>
DEVICE E real(complex<E> z) {
    return z.re;
}
DEVICE float imaginary(float) { return 0; }
DEVICE double imaginary(double) { return 0; }
template <class E>
DEVICE E imaginary(complex<E> z) {
    return z.im;
}
DEVICE double square(T x) {
    const double re = real(x), im = imaginary(x);
    return re * re + im * im;
}
DEVICE R size_of(T x) { return hypot(real(x), imaginary(x)); }
DEVICE R epsilon() { return sizeof(R) == 4 ? R(1.1920928955078125e-07) : R(2.220446049250313e-16); }
template <class E>
struct parts {  // a number of two parts, or of one
    DEVICE static E of(E re, E) { return re; }
};
template <class E>
struct parts<complex<E>> {
    DEVICE static complex<E> of(E re, E im) { return complex<E>(re, im); }
};
DEVICE T number(R re, R im = 0) { return parts<T>::of(re, im); }

// A batch of matrices.
struct Matrix {
    T* data;
    int64_t step, row, column;
    DEVICE T& at(int64_t batch, int64_t i, int64_t j) const { return data[batch * step + i * row + j * column]; }
};

DEVICE double warp_sum(double x) {
    for (int m = 16; m > 0; m /= 2) x += __shfl_xor_sync(0xffffffffu, x, m);
    return x;
}
DEVICE float warp_sum(float x) {
    for (int m = 16; m > 0; m /= 2) x += __shfl_xor_sync(0xffffffffu, x, m);
    return x;
}
template <class E>
DEVICE complex<E> warp_sum(complex<E> z) {
    return complex<E>(warp_sum(z.re), warp_sum(z.im));
}

// By all threads of a block; `space` has room for 32.
DEVICE double block_sum(double x, double* space) {
    x = warp_sum(x);
    if (threadIdx.x % 32 == 0) space[threadIdx.x / 32] = x;
    __syncthreads();
    double all = 0;
    for (unsigned w = 0; w < blockDim.x / 32; w++) all += space[w];
    __syncthreads();
    return all;
}

// The reflector I - tau v v^H, v = (1, x * scale), that takes (alpha, x) to (beta, 0); `rest` is the sum of squares of x.
struct Reflector {
    T tau, scale;
    R beta;
    DEVICE Reflector(T alpha, double rest) : tau(number(0)), scale(number(1)), beta(real(alpha)) {
        if (rest == 0 && imaginary(alpha) == 0) return;
        const double all = sqrt(square(alpha) + rest);
        beta = static_cast<R>(real(alpha) < 0 ? all : -all);
        tau = number((beta - real(alpha)) / beta, -imaginary(alpha) / beta);
        scale = number(1) / (alpha - number(beta));
    }
};

// The rotation (p, q) -> (c p - s conj(phase) q, s p + c conj(phase) q) of two columns that makes [[x, y], [conj(y), z]] diagonal.
struct Rotation {
    R c, s;
    T phase;
    DEVICE Rotation() : c(1), s(0), phase(number(1)) {}
    DEVICE Rotation(double x, T y, double z) {
        const double size = sqrt(square(y)), slope = (z - x) / (2 * size);
        const double t = (slope < 0 ? -1 : 1) / (fabs(slope) + sqrt(1 + slope * slope)), cosine = 1 / sqrt(1 + t * t);
        c = static_cast<R>(cosine);
        s = static_cast<R>(t * cosine);
        phase = number(static_cast<R>(real(y) / size), static_cast<R>(imaginary(y) / size));
    }
    DEVICE void columns(T& p, T& q) const {
        const T x = p, y = q * conj(phase);
        p = number(c) * x - number(s) * y;
        q = number(s) * x + number(c) * y;
    }
    DEVICE void rows(T& p, T& q) const {
        const T x = p, y = q * phase;
        p = number(c) * x - number(s) * y;
        q = number(s) * x + number(c) * y;
    }
};

// Columns of a tournament: in each of its rounds everybody meets another one, and after all rounds has met each. False for a bye.
DEVICE bool pair_of(int64_t n, int64_t round, int64_t place, int64_t& p, int64_t& q) {
    const int64_t players = n + n % 2, wheel = players - 1;
    const int64_t x = place ? (round + place) % wheel : wheel, y = place ? (round - place + wheel) % wheel : round;
    p = x < y ? x : y;
    q = x < y ? y : x;
    return q < n;
}
