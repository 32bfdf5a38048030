// Elements of rows by the places that a sort gave: `count` of each row from `first` on. The word: WORD.
#pragma once

struct Args {
    int64_t total, n, first, count;
    const WORD* in;
    const int32_t* places;
    WORD* values;
    int64_t* indices;
};

KERNEL(take_sorted, Args) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= a.total) return;
    const int64_t row = i / a.count, at = a.places[row * a.n + a.first + i % a.count];
    if (a.values) a.values[i] = a.in[row * a.n + at];
    if (a.indices) a.indices[i] = at;
}
