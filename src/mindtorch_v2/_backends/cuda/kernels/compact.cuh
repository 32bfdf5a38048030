// Where a mask is true: `places` counts the true elements up to each, itself included. The words: FLAG (the mask's type), DIMS,
// and WORD where values are moved, towards the mask (SCATTER) or to a list.
#pragma once

struct Args {
    int64_t n, limit, step;
    const FLAG* flags;
    const int64_t* places;
#ifdef WORD
    const WORD* in;
    WORD* out;
#else
    int64_t* columns;  // a row of `step` for each dimension
    int64_t size[DIMS];
#endif
};

KERNEL(compact, Args) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= a.n || !to<bool>(a.flags[i])) return;
    const int64_t k = a.places[i] - 1;
#ifdef WORD
    if (SCATTER) {
        assert(k < a.limit && "masked_scatter: fewer elements in source than true ones in mask");
        a.out[i] = a.in[k];
    } else {
        a.out[k] = a.in[i];
    }
#else
    if (k >= a.limit) return;
    int64_t rest = i;
    for (int d = DIMS - 1; d >= 0; d--) {
        a.columns[d * a.step + k] = rest % a.size[d];
        rest /= a.size[d];
    }
#endif
}
