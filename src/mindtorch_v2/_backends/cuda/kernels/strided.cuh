// Where the i-th element of strided dimensions lies, counted in row-major order.
#pragma once

template <int N>
DEVICE int64_t place(int64_t i, const int64_t* size, const int64_t* stride) {
    int64_t at = 0;
#pragma unroll
    for (int d = N - 1; d > 0; d--) {
        at += i % size[d] * stride[d];
        i /= size[d];
    }
    return at + i * stride[0];
}
