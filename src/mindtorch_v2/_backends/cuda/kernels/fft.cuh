// One stage of a discrete Fourier transform of rows: RADIX points that lie a stride apart become as many, turned by their places.
// After a stage for each factor of the size the points stand in their order. The words: ELEMENT (c64 or c128), RADIX.
#pragma once

typedef ELEMENT T;
struct Args {
    int64_t points, n, stride;  // of all rows; that the stages before have left of the size; the product of their factors
    double sign;
    const T* in;
    T* out;
};

DEVICE c64 root(c64, double turns) {
    float s, c;
    sincospif(static_cast<float>(2 * turns), &s, &c);
    return c64(c, s);
}
DEVICE c128 root(c128, double turns) {
    double s, c;
    sincospi(2 * turns, &s, &c);
    return c128(c, s);
}
// The root of unity at i / n, turned by at most a half.
DEVICE T root_of(int64_t i, int64_t n, double sign) {
    i %= n;
    return root(T(), sign * static_cast<double>(2 * i > n ? i - n : i) / static_cast<double>(n));
}

KERNEL(fft_stage, Args) {
    const int64_t t = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (t >= a.points) return;
    const int64_t size = a.n * a.stride, row = t / size, at = t % size, left = a.n / RADIX;
    const int64_t q = at % a.stride, j = at / a.stride % RADIX, p = at / a.stride / RADIX;
    const T* from = a.in + row * size + q + a.stride * p;
    T sum = from[0];
    for (int64_t k = 1; k < RADIX; k++) sum = sum + from[a.stride * left * k] * root_of(j * k, RADIX, a.sign);
    a.out[t] = j ? sum * root_of(j * p, a.n, a.sign) : sum;
}
