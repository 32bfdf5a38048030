// The loop of an element-wise kernel. Before it the source says:
//   Args, VECTOR (elements of a load), ROUNDS (loads of a thread), THREADS, Index, and Element with
//     places(index, a)      where the operands' elements lie, for tensors that are not dense
//     one(a, places)        computes one element
//     many(a, index)        computes VECTOR neighbours of dense tensors
#pragma once

#ifdef DENSE
KERNEL(pointwise, Args) {
    const Index block = static_cast<Index>(blockIdx.x) * (THREADS * VECTOR * ROUNDS);
    const Index n = static_cast<Index>(a.n);
    if (VECTOR > 1 && n - block >= THREADS * VECTOR * ROUNDS) {
#pragma unroll
        for (int r = 0; r < ROUNDS; r++) many(a, block + static_cast<Index>((r * THREADS + threadIdx.x) * VECTOR));
        return;
    }
    Index end = block + THREADS * VECTOR * ROUNDS;
    if (end > n || end < block) end = n;
    for (Index i = block + static_cast<Index>(threadIdx.x); i < end; i += THREADS) one(a, i);
}
#else
KERNEL(pointwise, Args) {
    const Index block = static_cast<Index>(blockIdx.x) * (THREADS * ROUNDS);
    const Index n = static_cast<Index>(a.n) / VECTOR;  // rows are whole vectors
#pragma unroll
    for (int r = 0; r < ROUNDS; r++) {
        const Index i = block + static_cast<Index>(r * THREADS + threadIdx.x);
        if (i >= n) continue;
        if (VECTOR > 1)
            many(a, i);
        else
            one(a, i);
    }
}
#endif
