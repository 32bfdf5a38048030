// Matrices with zeros above a diagonal (LOWER), or below it. The words: WORD, DIMS, LOWER. The output is row-major.
#pragma once

#include "strided.cuh"

struct Args {
    int64_t n, rows, columns, diagonal;
    const WORD* in;
    WORD* out;
    int64_t size[DIMS], stride[DIMS];
};

KERNEL(triangle, Args) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= a.n) return;
    const int64_t column = i % a.columns, row = i / a.columns % a.rows, over = column - row - a.diagonal;
    const bool kept = LOWER ? over <= 0 : over >= 0;
    a.out[i] = kept ? a.in[place<DIMS>(i, a.size, a.stride)] : WORD(0);
}
