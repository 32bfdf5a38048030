// Tensor cores, and copies to shared memory beside the computation: PTX on a GPU from sm_80 on, on_cpu/tensor_core.h on the
// emulated one. Fragments lie as PTX ISA says of mma.m16n8k16: with g = lane / 4 and t = lane % 4, a register of A holds columns
// 2t and 2t + 1 of row g, of row g + 8, and again of columns 8 further; one of B rows 2t and 2t + 1 (and 8 further) of column g;
// C has columns 2t and 2t + 1 of row g, and of row g + 8.
#pragma once

#ifdef ON_CPU
#include "on_cpu/tensor_core.h"
#else
DEVICE uint32_t in_shared(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

// BYTES (4, or 16 at such addresses) from global memory; zeros if not `inside`.
template <int BYTES>
DEVICE void copy_later(void* to, const void* from, bool inside) {
    const int bytes = inside ? BYTES : 0;
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(in_shared(to)), "l"(from), "r"(bytes) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(in_shared(to)), "l"(from), "r"(bytes) : "memory");
}
// What this thread has asked for until here is one group; all groups but the latest N have then come.
DEVICE void end_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N>
DEVICE void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

// Four matrices of 8 x 8: lanes 8 i to 8 i + 7 name the rows of matrix i, of 16 bytes each.
DEVICE void load_matrices(uint32_t (&r)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(in_shared(row))
                 : "memory");
}
DEVICE void load_transposed(uint32_t (&r)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(in_shared(row))
                 : "memory");
}

// c += a b, of 16 x 16 and 16 x 8.
template <class E>
DEVICE void multiply_add(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    if (same<E, bf16>::value)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    else
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Two numbers as elements, the first in the lower half.
template <class E>
DEVICE uint32_t pair(float first, float second) {
    uint32_t r;
    if (same<E, bf16>::value)
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(second), "f"(first));
    else
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(second), "f"(first));
    return r;
}
DEVICE float power_of_2(float x) {
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}
#endif

// ---- operands of products out of shared memory, whose rows are `stride` elements apart ----

// A: rows from `row`, columns from `column`.
template <class E>
DEVICE void load_a(uint32_t (&a)[4], const E* tile, int stride, int row, int column) {
    const int lane = threadIdx.x % 32;
    load_matrices(a, tile + (row + lane % 16) * stride + column + lane / 16 * 8);
}
// B for two products side by side, of a tile whose rows are B's columns: r[0], r[1] are columns n to n + 7, r[2], r[3] the next.
template <class E>
DEVICE void load_b_of_rows(uint32_t (&b)[4], const E* tile, int stride, int n, int k) {
    const int lane = threadIdx.x % 32;
    load_matrices(b, tile + (n + lane % 8 + lane / 16 * 8) * stride + k + lane / 8 % 2 * 8);
}
// The same of a tile whose columns are B's columns.
template <class E>
DEVICE void load_b_of_columns(uint32_t (&b)[4], const E* tile, int stride, int n, int k) {
    const int lane = threadIdx.x % 32;
    load_transposed(b, tile + (k + lane % 16) * stride + n + lane / 16 * 8);
}
// A of what products gave: two neighbouring ones, rounded.
template <class E>
DEVICE void as_a(uint32_t (&a)[4], const float (&left)[4], const float (&right)[4]) {
    a[0] = pair<E>(left[0], left[1]), a[1] = pair<E>(left[2], left[3]);
    a[2] = pair<E>(right[0], right[1]), a[3] = pair<E>(right[2], right[3]);
}
