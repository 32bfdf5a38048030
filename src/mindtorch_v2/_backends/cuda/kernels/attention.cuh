// Attention in tiles: the scores of 16 queries (or keys) against 32 keys (or queries) are all that exists at a time; the softmax runs
// along (attention_args.cuh has the words). A block is 4 warps, each of which has 4 of the 16.
#pragma once
#undef BOUNDS
#define BOUNDS __launch_bounds__(128)
#include "attention_args.cuh"

constexpr int FEATURES = ((D > DV ? D : DV) + 31) / 32;

DEVICE T warp_sum(T x) {
    for (int m = 16; m > 0; m /= 2) x += __shfl_xor_sync(0xffffffffu, x, m);
    return x;
}
DEVICE T warp_top(T x) {
    for (int m = 16; m > 0; m /= 2) {
        const T other = __shfl_xor_sync(0xffffffffu, x, m);
        x = other > x ? other : x;
    }
    return x;
}

// Rows of a tensor to shared memory; those beyond its end are 0.
template <int ROWS, int N, int STRIDE>
DEVICE void load_rows(T* to_, const IN* from, int64_t stride, int64_t first, int64_t rows) {
    for (int i = threadIdx.y * 32 + threadIdx.x; i < ROWS * N; i += 128) {
        const int row = i / N, feature = i % N;
        to_[row * STRIDE + feature] = first + row < rows ? to<T>(from[(first + row) * stride + feature]) : T(0);
    }
}
template <int N>
DEVICE T dot(const T* x, const T* y) {
    T sum = 0;
#pragma unroll 8
    for (int i = 0; i < N; i++) sum += x[i] * y[i];
    return sum;
}

DEVICE T score(const Args& a, const Place& p, int64_t query, int64_t key, T product) {
    return product * T(a.scale) + masked(a, p, query, key);
}
// acc[f] += weights[j] * rows[j][feature] over 32 rows.
template <int N, int STRIDE>
DEVICE void accumulate(T* acc, const T* weights, const T* rows) {
    for (int j = 0; j < 32; j++) {
        const T w = weights[j];
#pragma unroll
        for (int f = 0; f < (N + 31) / 32; f++)
            if (f * 32 + threadIdx.x < N) acc[f] += w * rows[j * STRIDE + f * 32 + threadIdx.x];
    }
}

KERNEL(attend, Args) {
    SHARED(T, space);
    T *ks = space, *vs = ks + 32 * (D + 1), *qs = vs + 32 * (DV + 1), *ps = qs + 16 * D + threadIdx.y * 128;
    const int64_t of_head = (a.queries + 15) / 16, first = blockIdx.x % of_head * 16;
    const Place p = place_of(a, blockIdx.x / of_head);
    const int lane = threadIdx.x, row = threadIdx.y * 4;
    load_rows<16, D, D>(qs, a.q.of(p.b, p.h), a.q.position, first, a.queries);
    T top[4], sum[4], acc[4][FEATURES];
    for (int r = 0; r < 4; r++) {
        top[r] = lowest<T>(), sum[r] = 0;
        for (int f = 0; f < FEATURES; f++) acc[r][f] = 0;
    }
    const int64_t last = CAUSAL && first + 16 < a.keys ? first + 16 : a.keys;
    for (int64_t tile = 0; tile < last; tile += 32) {
        __syncthreads();
        load_rows<32, D, D + 1>(ks, a.k.of(p.b, p.key_h), a.k.position, tile, a.keys);
        load_rows<32, DV, DV + 1>(vs, a.v.of(p.b, p.key_h), a.v.position, tile, a.keys);
        __syncthreads();
        const int64_t key = tile + lane;
#pragma unroll
        for (int r = 0; r < 4; r++) {
            const int64_t query = first + row + r;
            const T s = sees(a, query, key) ? score(a, p, query, key, dot<D>(qs + (row + r) * D, ks + lane * (D + 1))) : lowest<T>();
            T above = warp_top(s);
            above = top[r] > above ? top[r] : above;
            const T shift = above == lowest<T>() ? T(0) : above, less = exp(top[r] - shift), weight = exp(s - shift);
            top[r] = above;
            sum[r] = sum[r] * less + warp_sum(weight);
            ps[r * 32 + lane] = sees(a, query, key) ? weight * keep(a, p, query, key) : T(0);
            for (int f = 0; f < FEATURES; f++) acc[r][f] *= less;
        }
        __syncwarp();
#pragma unroll
        for (int r = 0; r < 4; r++) accumulate<DV, DV + 1>(acc[r], ps + r * 32, vs);
        __syncwarp();
    }
    for (int r = 0; r < 4; r++) {
        const int64_t query = first + row + r;
        if (query >= a.queries) continue;
        for (int f = 0; f < FEATURES; f++)
            if (f * 32 + lane < DV) a.out.of(p.b, p.h)[query * a.out.position + f * 32 + lane] = to<IN>(sum[r] == 0 ? T(0) : acc[r][f] / sum[r]);
        if (lane == 0) a.lse.of(p.b, p.h)[query * a.lse.position] = sum[r] == 0 ? T(0) : top[r] + log(sum[r]);
    }
}

// The gradient of the queries, and `delta`.
KERNEL(attend_backward_queries, Args) {
    SHARED(T, space);
    T *ks = space, *vs = ks + 32 * (D + 1), *qs = vs + 32 * (DV + 1), *gs = qs + 16 * D, *ps = gs + 16 * DV + threadIdx.y * 128;
    const int64_t of_head = (a.queries + 15) / 16, first = blockIdx.x % of_head * 16;
    const Place p = place_of(a, blockIdx.x / of_head);
    const int lane = threadIdx.x, row = threadIdx.y * 4;
    load_rows<16, D, D>(qs, a.q.of(p.b, p.h), a.q.position, first, a.queries);
    load_rows<16, DV, DV>(gs, a.grad.of(p.b, p.h), a.grad.position, first, a.queries);
    __syncthreads();
    T delta[4], lse[4], acc[4][FEATURES];
    for (int r = 0; r < 4; r++) {
        const int64_t query = first + row + r;
        const bool live = query < a.queries;
        T mine = 0;
        for (int f = lane; live && f < DV; f += 32) mine += gs[(row + r) * DV + f] * to<T>(a.out.of(p.b, p.h)[query * a.out.position + f]);
        delta[r] = warp_sum(mine);
        lse[r] = live ? a.lse.of(p.b, p.h)[query * a.lse.position] : T(0);
        if (live && lane == 0) a.delta.of(p.b, p.h)[query * a.delta.position] = delta[r];
        for (int f = 0; f < FEATURES; f++) acc[r][f] = 0;
    }
    const int64_t last = CAUSAL && first + 16 < a.keys ? first + 16 : a.keys;
    for (int64_t tile = 0; tile < last; tile += 32) {
        __syncthreads();
        load_rows<32, D, D + 1>(ks, a.k.of(p.b, p.key_h), a.k.position, tile, a.keys);
        load_rows<32, DV, DV + 1>(vs, a.v.of(p.b, p.key_h), a.v.position, tile, a.keys);
        __syncthreads();
        const int64_t key = tile + lane;
#pragma unroll
        for (int r = 0; r < 4; r++) {
            const int64_t query = first + row + r;
            T slope = 0;
            if (sees(a, query, key)) {
                const T weight = exp(score(a, p, query, key, dot<D>(qs + (row + r) * D, ks + lane * (D + 1))) - lse[r]);
                slope = weight * (dot<DV>(gs + (row + r) * DV, vs + lane * (DV + 1)) * keep(a, p, query, key) - delta[r]) * T(a.scale);
            }
            ps[r * 32 + lane] = slope;
        }
        __syncwarp();
#pragma unroll
        for (int r = 0; r < 4; r++) accumulate<D, D + 1>(acc[r], ps + r * 32, ks);
        __syncwarp();
    }
    for (int r = 0; r < 4; r++) {
        const int64_t query = first + row + r;
        for (int f = 0; f < FEATURES; f++)
            if (query < a.queries && f * 32 + lane < D) a.by_q.of(p.b, p.h)[query * a.by_q.position + f * 32 + lane] = to<IN>(acc[r][f]);
    }
}

// The gradients of keys and values: a block has 16 keys, and goes over the queries of all heads that share them.
KERNEL(attend_backward_keys, Args) {
    SHARED(T, space);
    T *qs = space, *gs = qs + 32 * (D + 1), *ks = gs + 32 * (DV + 1), *vs = ks + 16 * D;
    T *ps = vs + 16 * DV + threadIdx.y * 128, *ds = vs + 16 * DV + 512 + threadIdx.y * 128;
    const int64_t of_head = (a.keys + 15) / 16, place = blockIdx.x / of_head, first = blockIdx.x % of_head * 16;
    const int64_t b = place / a.key_heads, key_h = place % a.key_heads, per = a.heads / a.key_heads;
    const int lane = threadIdx.x, row = threadIdx.y * 4;
    load_rows<16, D, D>(ks, a.k.of(b, key_h), a.k.position, first, a.keys);
    load_rows<16, DV, DV>(vs, a.v.of(b, key_h), a.v.position, first, a.keys);
    T by_k[4][FEATURES], by_v[4][FEATURES];
    for (int r = 0; r < 4; r++)
        for (int f = 0; f < FEATURES; f++) by_k[r][f] = by_v[r][f] = 0;
    for (int64_t shared = 0; shared < per; shared++) {
        const Place p = {b, key_h * per + shared, key_h};
        for (int64_t tile = CAUSAL ? first / 32 * 32 : 0; tile < a.queries; tile += 32) {
            __syncthreads();
            load_rows<32, D, D + 1>(qs, a.q.of(p.b, p.h), a.q.position, tile, a.queries);
            load_rows<32, DV, DV + 1>(gs, a.grad.of(p.b, p.h), a.grad.position, tile, a.queries);
            __syncthreads();
            const int64_t query = tile + lane;
            const T lse = query < a.queries ? a.lse.of(p.b, p.h)[query * a.lse.position] : T(0);
            const T delta = query < a.queries ? a.delta.of(p.b, p.h)[query * a.delta.position] : T(0);
#pragma unroll
            for (int r = 0; r < 4; r++) {
                const int64_t key = first + row + r;
                T weight = 0, slope = 0;
                if (sees(a, query, key)) {
                    const T kept = keep(a, p, query, key);
                    weight = exp(score(a, p, query, key, dot<D>(ks + (row + r) * D, qs + lane * (D + 1))) - lse);
                    slope = weight * (dot<DV>(vs + (row + r) * DV, gs + lane * (DV + 1)) * kept - delta) * T(a.scale);
                    weight *= kept;
                }
                ps[r * 32 + lane] = weight;
                ds[r * 32 + lane] = slope;
            }
            __syncwarp();
#pragma unroll
            for (int r = 0; r < 4; r++) {
                accumulate<DV, DV + 1>(by_v[r], ps + r * 32, gs);
                accumulate<D, D + 1>(by_k[r], ds + r * 32, qs);
            }
            __syncwarp();
        }
    }
    for (int r = 0; r < 4; r++) {
        const int64_t key = first + row + r;
        if (key >= a.keys) continue;
        for (int f = 0; f < FEATURES; f++) {
            if (f * 32 + lane < D) a.by_k.of(b, key_h)[key * a.by_k.position + f * 32 + lane] = to<IN>(by_k[r][f]);
            if (f * 32 + lane < DV) a.by_v.of(b, key_h)[key * a.by_v.position + f * 32 + lane] = to<IN>(by_v[r][f]);
        }
    }
}
