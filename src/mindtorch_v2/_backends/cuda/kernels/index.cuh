// Elements at places that index tensors name. One side, `big`, is indexed: in it an element lies at the sum of its
// coordinates times strides, and of what each index tensor says times a step. The words: DIMS (dimensions), TENSORS
// (index tensors), NEGATIVE (whether places count from the end too), IGNORE (what is outside has no place, instead of
// stopping the kernel).
#pragma once

#include "strided.cuh"

struct Indices {
    const int64_t* place[TENSORS + (TENSORS == 0)];
    int64_t extent[TENSORS + (TENSORS == 0)], step[TENSORS + (TENSORS == 0)];
    int64_t stride[TENSORS + (TENSORS == 0)][DIMS];
};

// What the index tensors add to a place in `big`; -1 for none.
DEVICE int64_t picked(const Indices& a, const int64_t* at) {
    int64_t sum = 0;
#pragma unroll
    for (int t = 0; t < TENSORS; t++) {
        const int64_t k = a.place[t][at[t]], extent = a.extent[t];
        const bool inside = k < extent && k >= (NEGATIVE ? -extent : 0);
        if (IGNORE && !inside) return -1;
        assert(inside && "index out of bounds");
        sum += (k < 0 ? k + extent : k) * a.step[t];
    }
    return sum;
}

#ifdef WORD
// Moves words from `big` to `small`, or the other way (WRITE). No arithmetic is done, so only their size matters.
struct Args {
    int64_t n;
    WORD *big, *small;
    int64_t size[DIMS], big_stride[DIMS], small_stride[DIMS];
    Indices indices;
};

KERNEL(move_words, Args) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= a.n) return;
    INDEX rest = static_cast<INDEX>(i);
    int64_t big = 0, small = 0, at[TENSORS + 1] = {};
#pragma unroll
    for (int d = DIMS - 1; d >= 0; d--) {
        const INDEX size = static_cast<INDEX>(a.size[d]), quotient = d ? rest / size : 0, k = rest - quotient * size;
        big += k * a.big_stride[d];
        small += k * a.small_stride[d];
#pragma unroll
        for (int t = 0; t < TENSORS; t++) at[t] += k * a.indices.stride[t][d];
        rest = quotient;
    }
    big += picked(a.indices, at);
    if (WRITE)
        a.big[big] = a.small[small];
    else
        a.small[small] = a.big[big];
}
#endif

#ifdef KEYS
// Where in `big` each pick begins: the order of these keys brings those of one place together.
struct Args {
    int64_t n;
    int64_t* keys;
    int64_t size[DIMS], big_stride[DIMS];
    Indices indices;
};

KERNEL(find_keys, Args) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= a.n) return;
    int64_t at[TENSORS + 1] = {};
#pragma unroll
    for (int t = 0; t < TENSORS; t++) at[t] = place<DIMS>(i, a.size, a.indices.stride[t]);
    const int64_t more = picked(a.indices, at);
    a.keys[i] = more < 0 ? -1 : place<DIMS>(i, a.size, a.big_stride) + more;
}
#endif
