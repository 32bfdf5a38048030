// Attention by tensor cores, for elements of 16 bits whose rows have a multiple of 8 features (attention_args.cuh has the words; further
// ones: TILES of 16 rows for each of a block's four warps, STEP rows of the other side at a time, PART of the gradients: 0 both, 1 of the
// values, 2 of the keys). The next step's rows are copied while this one's are multiplied. Scores are powers of 2: the factor
// log2(e) is in their scale. Each result has one order of sums, so runs agree.
#pragma once
#undef BOUNDS
#define BOUNDS __launch_bounds__(128)
#include "attention_args.cuh"
#include "tensor_core.cuh"

constexpr int ROWS = 64 * TILES, ND = (D + 15) / 16, NDV = (DV + 15) / 16, NS = STEP / 8;
constexpr int WIDE = ND * 16 + 8, WIDE_V = NDV * 16 + 8;  // of rows in shared memory: 8 rows begin in 8 different groups of banks
constexpr float LOG2E = 1.44269504f, LN2 = 0.693147181f;

typedef float Square[4];  // 16 x 8 numbers of a product

// COUNT rows to shared memory, those beyond the end as zeros, and zeros behind their features.
template <int COUNT, int FEATURES>
DEVICE void copy_rows(IN* to_, const IN* from, int64_t stride, int64_t first, int64_t end) {
    constexpr int CHUNKS = (FEATURES + 15) / 16 * 2;
    for (int i = threadIdx.x; i < COUNT * CHUNKS; i += 128) {
        const int row = i / CHUNKS, chunk = i % CHUNKS;
        const bool inside = first + row < end && chunk * 8 < FEATURES;
        copy_later<16>(to_ + row * (CHUNKS * 8 + 8) + chunk * 8, inside ? from + (first + row) * stride + chunk * 8 : from, inside);
    }
}
template <int N>
DEVICE void clear(Square (&x)[N]) {
#pragma unroll
    for (int i = 0; i < N; i++) x[i][0] = x[i][1] = x[i][2] = x[i][3] = 0;
}
// scores[m][n] = rows of `mine` times rows of `others`: 16 TILES rows of a warp with STEP rows, over features.
template <int STEPS>
DEVICE void multiply_rows(Square (&scores)[TILES][NS], const IN* mine, const IN* others, int wide, int row) {
#pragma unroll
    for (int m = 0; m < TILES; m++) clear(scores[m]);
#pragma unroll
    for (int k = 0; k < STEPS; k++) {
        uint32_t a[TILES][4], b[4];
#pragma unroll
        for (int m = 0; m < TILES; m++) load_a(a[m], mine, wide, row + m * 16, k * 16);
#pragma unroll
        for (int n = 0; n < NS; n += 2) {
            load_b_of_rows(b, others, wide, n * 8, k * 16);
#pragma unroll
            for (int m = 0; m < TILES; m++) {
                multiply_add<IN>(scores[m][n], a[m], b[0], b[1]);
                multiply_add<IN>(scores[m][n + 1], a[m], b[2], b[3]);
            }
        }
    }
}
// sums[m] += weights[m] times `others`, over its STEP rows.
template <int FEATURES>
DEVICE void add_weighted(Square (&sums)[TILES][FEATURES], const Square (&weights)[TILES][NS], const IN* others, int wide) {
#pragma unroll
    for (int k = 0; k < NS / 2; k++) {
        uint32_t a[TILES][4], b[4];
#pragma unroll
        for (int m = 0; m < TILES; m++) as_a<IN>(a[m], weights[m][2 * k], weights[m][2 * k + 1]);
#pragma unroll
        for (int f = 0; f < FEATURES; f += 2) {
            load_b_of_columns(b, others, wide, f * 8, k * 16);
#pragma unroll
            for (int m = 0; m < TILES; m++) {
                multiply_add<IN>(sums[m][f], a[m], b[0], b[1]);
                multiply_add<IN>(sums[m][f + 1], a[m], b[2], b[3]);
            }
        }
    }
}
DEVICE float over_row(float x) {  // the sum over the four lanes that share a row
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    return x + __shfl_xor_sync(0xffffffffu, x, 2);
}
// Rows g and g + 8 of each tile, times a factor for each of them.
template <int FEATURES, int N>
DEVICE void store_rows(const Placed<IN>& to_, int64_t b, int64_t h, int64_t row, int64_t end, const Square (&x)[N], const float (&factor)[2]) {
    for (int half = 0; half < 2; half++) {
        if (row + half * 8 >= end) continue;
        IN* at = to_.of(b, h) + (row + half * 8) * to_.position + threadIdx.x % 4 * 2;
#pragma unroll
        for (int n = 0; n < N; n++)
            if (n * 8 < FEATURES)
                *reinterpret_cast<uint32_t*>(at + n * 8) = pair<IN>(x[n][half * 2] * factor[half], x[n][half * 2 + 1] * factor[half]);
    }
}

KERNEL(attend_mma, Args) {
    SHARED(IN, qs);
    IN *ks = qs + ROWS * WIDE, *vs = ks + 2 * STEP * WIDE;
    const int of_head = (static_cast<int>(a.queries) + ROWS - 1) / ROWS, within = blockIdx.x % of_head;
    const Place p = place_of(a, blockIdx.x / of_head);
    const int first = (CAUSAL ? of_head - 1 - within : within) * ROWS, end = static_cast<int>(a.keys);  // the longest rows of keys begin first
    const int last = CAUSAL && first + ROWS < end ? first + ROWS : end;
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 * TILES, g = lane / 4, t = lane % 4;
    const float scale = static_cast<float>(a.scale) * LOG2E;
    const IN *keys = a.k.of(p.b, p.key_h), *values = a.v.of(p.b, p.key_h);
    copy_rows<ROWS, D>(qs, a.q.of(p.b, p.h), a.q.position, first, a.queries);
    copy_rows<STEP, D>(ks, keys, a.k.position, 0, a.keys);
    copy_rows<STEP, DV>(vs, values, a.v.position, 0, a.keys);
    end_copies();
    Square out[TILES][2 * NDV], s[TILES][NS];
    float top[TILES][2], sum[TILES][2];
#pragma unroll
    for (int m = 0; m < TILES; m++) {
        clear(out[m]);
        top[m][0] = top[m][1] = lowest<float>(), sum[m][0] = sum[m][1] = 0;
    }
    int stage = 0;
    for (int tile = 0; tile < last; tile += STEP, stage ^= 1) {
        wait_for_copies<0>();
        __syncthreads();  // all have these rows, and are done with the ones before
        if (tile + STEP < last) {
            copy_rows<STEP, D>(ks + (stage ^ 1) * STEP * WIDE, keys, a.k.position, tile + STEP, a.keys);
            copy_rows<STEP, DV>(vs + (stage ^ 1) * STEP * WIDE_V, values, a.v.position, tile + STEP, a.keys);
        }
        end_copies();
        multiply_rows<ND>(s, qs, ks + stage * STEP * WIDE, WIDE, row);
        const bool whole = !HAS_MASK && tile + STEP <= end && (!CAUSAL || tile + STEP - 1 <= first + row);
#pragma unroll
        for (int m = 0; m < TILES; m++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int query = first + row + m * 16 + half * 8 + g;
                float above = top[m][half];
#pragma unroll
                for (int n = 0; n < NS; n++)
#pragma unroll
                    for (int j = 0; j < 2; j++) {
                        float& x = s[m][n][half * 2 + j];
                        const int key = tile + n * 8 + t * 2 + j;
                        x *= scale;
                        if (!whole) x = sees(a, query, key) ? x + masked(a, p, query, key) * LOG2E : lowest<float>();
                        above = above > x ? above : x;
                    }
                for (int by = 1; by < 4; by *= 2) {
                    const float other = __shfl_xor_sync(0xffffffffu, above, by);
                    above = above > other ? above : other;
                }
                const float shift = above == lowest<float>() ? 0.0f : above, less = power_of_2(top[m][half] - shift);
                top[m][half] = above;
                float more = 0;
#pragma unroll
                for (int n = 0; n < NS; n++)
#pragma unroll
                    for (int j = 0; j < 2; j++) {
                        float& x = s[m][n][half * 2 + j];
                        x = power_of_2(x - shift);
                        more += x;
                        if (DROPOUT) {
                            const int key = tile + n * 8 + t * 2 + j;
                            x = sees(a, query, key) ? x * keep(a, p, query, key) : 0.0f;
                        }
                    }
                sum[m][half] = sum[m][half] * less + more;
#pragma unroll
                for (int f = 0; f < 2 * NDV; f++) out[m][f][half * 2] *= less, out[m][f][half * 2 + 1] *= less;
            }
        add_weighted(out, s, vs + stage * STEP * WIDE_V, WIDE_V);
    }
#pragma unroll
    for (int m = 0; m < TILES; m++) {
        const int query = first + row + m * 16 + g;
        float factor[2];
        for (int half = 0; half < 2; half++) {
            const float all = over_row(sum[m][half]);
            factor[half] = all == 0 ? 0.0f : 1 / all;
            if (t == 0 && query + half * 8 < a.queries)
                a.lse.of(p.b, p.h)[(query + half * 8) * a.lse.position] = all == 0 ? 0.0f : top[m][half] * LN2 + log(all);
        }
        store_rows<DV>(a.out, p.b, p.h, query, a.queries, out[m], factor);
    }
}

// The gradient of the queries, and `delta`.
KERNEL(attend_mma_backward_queries, Args) {
    SHARED(IN, qs);
    IN *gs = qs + ROWS * WIDE, *ks = gs + ROWS * WIDE_V, *vs = ks + 2 * STEP * WIDE;
    const int of_head = (static_cast<int>(a.queries) + ROWS - 1) / ROWS, within = blockIdx.x % of_head;
    const Place p = place_of(a, blockIdx.x / of_head);
    const int first = (CAUSAL ? of_head - 1 - within : within) * ROWS, end = static_cast<int>(a.keys);
    const int last = CAUSAL && first + ROWS < end ? first + ROWS : end;
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 * TILES, g = lane / 4, t = lane % 4;
    const float scale = static_cast<float>(a.scale) * LOG2E;
    const IN *keys = a.k.of(p.b, p.key_h), *values = a.v.of(p.b, p.key_h);
    copy_rows<ROWS, D>(qs, a.q.of(p.b, p.h), a.q.position, first, a.queries);
    copy_rows<ROWS, DV>(gs, a.grad.of(p.b, p.h), a.grad.position, first, a.queries);
    copy_rows<STEP, D>(ks, keys, a.k.position, 0, a.keys);
    copy_rows<STEP, DV>(vs, values, a.v.position, 0, a.keys);
    end_copies();
    Square by_q[TILES][2 * ND], s[TILES][NS], ds[TILES][NS];
    float lse[TILES][2], delta[TILES][2];
#pragma unroll
    for (int m = 0; m < TILES; m++) {
        clear(by_q[m]);
        for (int half = 0; half < 2; half++) {
            const int query = first + row + m * 16 + half * 8 + g;
            float mine = 0;
            if (query < a.queries) {
                const IN *grad = a.grad.of(p.b, p.h) + query * a.grad.position, *out = a.out.of(p.b, p.h) + query * a.out.position;
                for (int f = t; f < DV; f += 4) mine += to<float>(grad[f]) * to<float>(out[f]);
                lse[m][half] = a.lse.of(p.b, p.h)[query * a.lse.position] * LOG2E;
            } else {
                lse[m][half] = 0;
            }
            delta[m][half] = over_row(mine);
            if (t == 0 && query < a.queries) a.delta.of(p.b, p.h)[query * a.delta.position] = delta[m][half];
        }
    }
    int stage = 0;
    for (int tile = 0; tile < last; tile += STEP, stage ^= 1) {
        wait_for_copies<0>();
        __syncthreads();
        if (tile + STEP < last) {
            copy_rows<STEP, D>(ks + (stage ^ 1) * STEP * WIDE, keys, a.k.position, tile + STEP, a.keys);
            copy_rows<STEP, DV>(vs + (stage ^ 1) * STEP * WIDE_V, values, a.v.position, tile + STEP, a.keys);
        }
        end_copies();
        multiply_rows<ND>(s, qs, ks + stage * STEP * WIDE, WIDE, row);
        multiply_rows<NDV>(ds, gs, vs + stage * STEP * WIDE_V, WIDE_V, row);
        const bool whole = !HAS_MASK && !DROPOUT && tile + STEP <= end && (!CAUSAL || tile + STEP - 1 <= first + row);
#pragma unroll
        for (int m = 0; m < TILES; m++)
#pragma unroll
            for (int n = 0; n < NS; n++)
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    const int query = first + row + m * 16 + i / 2 * 8 + g, key = tile + n * 8 + t * 2 + i % 2;
                    float x = s[m][n][i] * scale, slope = ds[m][n][i];
                    if (!whole) {
                        const bool seen = sees(a, query, key);
                        x = seen ? x + masked(a, p, query, key) * LOG2E : lowest<float>();
                        if (DROPOUT) slope = seen ? slope * keep(a, p, query, key) : 0.0f;
                    }
                    ds[m][n][i] = power_of_2(x - lse[m][i / 2]) * (slope - delta[m][i / 2]);
                }
        add_weighted(by_q, ds, ks + stage * STEP * WIDE, WIDE);
    }
    const float factor[2] = {static_cast<float>(a.scale), static_cast<float>(a.scale)};
#pragma unroll
    for (int m = 0; m < TILES; m++) store_rows<D>(a.by_q, p.b, p.h, first + row + m * 16 + g, a.queries, by_q[m], factor);
}

// The gradients of keys and values: a block has ROWS keys, and goes over the queries of all heads that share them. Scores are
// transposed: a row of them is a key's.
KERNEL(attend_mma_backward_keys, Args) {
    SHARED(IN, ks);
    IN *vs = ks + ROWS * WIDE, *qs = vs + ROWS * WIDE_V, *gs = qs + 2 * STEP * WIDE;
    float *lses = reinterpret_cast<float*>(gs + 2 * STEP * WIDE_V), *deltas = lses + 2 * STEP;
    const int of_head = (static_cast<int>(a.keys) + ROWS - 1) / ROWS, first = blockIdx.x % of_head * ROWS, place = blockIdx.x / of_head;
    const int64_t b = place / a.key_heads, key_h = place % a.key_heads, per = a.heads / a.key_heads;
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 * TILES, g = lane / 4, t = lane % 4;
    const float scale = static_cast<float>(a.scale) * LOG2E;
    const int begin = CAUSAL ? first / STEP * STEP : 0, end = static_cast<int>(a.queries);
    const int steps = begin < end ? (end - begin + STEP - 1) / STEP : 0;
    const int64_t all = steps * per;
    const auto copy_step = [&](int64_t step, int stage) {
        const int64_t h = key_h * per + step / steps;
        const int query = begin + static_cast<int>(step % steps) * STEP;
        copy_rows<STEP, D>(qs + stage * STEP * WIDE, a.q.of(b, h), a.q.position, query, a.queries);
        copy_rows<STEP, DV>(gs + stage * STEP * WIDE_V, a.grad.of(b, h), a.grad.position, query, a.queries);
        for (int i = threadIdx.x; i < 2 * STEP; i += 128) {
            const bool inside = query + i % STEP < a.queries;
            const Placed<T>& from = i < STEP ? a.lse : a.delta;
            copy_later<4>((i < STEP ? lses : deltas) + stage * STEP + i % STEP,
                          from.of(b, h) + (inside ? (query + i % STEP) * from.position : 0), inside);
        }
    };
    copy_rows<ROWS, D>(ks, a.k.of(b, key_h), a.k.position, first, a.keys);
    copy_rows<ROWS, DV>(vs, a.v.of(b, key_h), a.v.position, first, a.keys);
    if (all) copy_step(0, 0);
    end_copies();
    Square by_k[TILES][PART == 1 ? 1 : 2 * ND], by_v[TILES][PART == 2 ? 1 : 2 * NDV], s[TILES][NS], ds[TILES][NS];
#pragma unroll
    for (int m = 0; m < TILES; m++) clear(by_k[m]), clear(by_v[m]);
    int stage = 0;
    for (int64_t step = 0; step < all; step++, stage ^= 1) {
        const Place p = {b, key_h * per + step / steps, key_h};
        const int tile = begin + static_cast<int>(step % steps) * STEP;
        wait_for_copies<0>();
        __syncthreads();
        if (step + 1 < all) copy_step(step + 1, stage ^ 1);
        end_copies();
        multiply_rows<ND>(s, ks, qs + stage * STEP * WIDE, WIDE, row);
        if (PART != 1) multiply_rows<NDV>(ds, vs, gs + stage * STEP * WIDE_V, WIDE_V, row);
        const bool whole = !HAS_MASK && !DROPOUT && tile + STEP <= end && (!CAUSAL || first + row + 16 * TILES - 1 <= tile);
#pragma unroll
        for (int m = 0; m < TILES; m++)
#pragma unroll
            for (int n = 0; n < NS; n++)
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    const int key = first + row + m * 16 + i / 2 * 8 + g, query = tile + n * 8 + t * 2 + i % 2;
                    const int column = stage * STEP + n * 8 + t * 2 + i % 2;
                    float x = s[m][n][i] * scale, kept = 1;
                    if (!whole) {
                        const bool seen = sees(a, query, key);
                        x = seen ? x + masked(a, p, query, key) * LOG2E : lowest<float>();
                        if (DROPOUT && seen) kept = keep(a, p, query, key);
                    }
                    const float weight = power_of_2(x - lses[column] * LOG2E);
                    s[m][n][i] = weight * kept;
                    if (PART != 1) ds[m][n][i] = weight * (ds[m][n][i] * kept - deltas[column]);
                }
        if constexpr (PART != 2) add_weighted(by_v, s, gs + stage * STEP * WIDE_V, WIDE_V);
        if constexpr (PART != 1) add_weighted(by_k, ds, qs + stage * STEP * WIDE, WIDE);
    }
    wait_for_copies<0>();
    const float one[2] = {1, 1}, factor[2] = {static_cast<float>(a.scale), static_cast<float>(a.scale)};
#pragma unroll
    for (int m = 0; m < TILES; m++) {
        const int key = first + row + m * 16 + g;
        if constexpr (PART != 1) store_rows<D>(a.by_k, b, key_h, key, a.keys, by_k[m], factor);
        if constexpr (PART != 2) store_rows<DV>(a.by_v, b, key_h, key, a.keys, by_v[m], one);
    }
}
