// Rows sorted by keys, unsigned numbers that have the elements' order (NaN above everything): tiles of a row in shared
// memory, then runs merged by twos. Equal elements keep their order. The words: IN (element type), WORD (of a key, uint32_t
// or uint64_t), TILE (a power of two), DESCENDING.
#pragma once

DEVICE uint32_t key_of(float x) {
    if (x != x) return 0xffffffffu;
    const uint32_t u = x == 0 ? 0u : static_cast<uint32_t>(__float_as_int(x));
    return u >> 31 ? ~u : u | 0x80000000u;
}
DEVICE uint64_t key_of(double x) {
    if (x != x) return ~static_cast<uint64_t>(0);
    const uint64_t u = x == 0 ? 0u : static_cast<uint64_t>(__double_as_longlong(x));
    return u >> 63 ? ~u : u | static_cast<uint64_t>(1) << 63;
}
DEVICE uint64_t key_of(int64_t x) { return static_cast<uint64_t>(x) ^ static_cast<uint64_t>(1) << 63; }
DEVICE uint32_t key_of(int32_t x) { return static_cast<uint32_t>(x) ^ 0x80000000u; }
DEVICE uint32_t key_of(int16_t x) { return key_of(static_cast<int32_t>(x)); }
DEVICE uint32_t key_of(int8_t x) { return key_of(static_cast<int32_t>(x)); }
DEVICE uint64_t key_of(uint64_t x) { return x; }
DEVICE uint32_t key_of(uint32_t x) { return x; }
DEVICE uint32_t key_of(uint16_t x) { return x; }
DEVICE uint32_t key_of(uint8_t x) { return x; }
DEVICE uint32_t key_of(bool x) { return x; }

struct Args {
    int64_t rows, n, width;  // of a run that is merged
    const IN* in;
    WORD *keys, *keys_to;
    int32_t *places, *places_to;
};

KERNEL(sort_tiles, Args) {
    SHARED(WORD, keys);
    int32_t* places = reinterpret_cast<int32_t*>(keys + TILE);
    const int64_t tiles = (a.n + TILE - 1) / TILE, row = blockIdx.x / tiles, first = blockIdx.x % tiles * TILE;
    const int threads = blockDim.x;
    for (int j = threadIdx.x; j < TILE; j += threads) {
        const int64_t at = first + j;
        if (at < a.n) {
            const WORD key = static_cast<WORD>(key_of(to<math_of<IN>::type>(a.in[row * a.n + at])));
            keys[j] = DESCENDING ? static_cast<WORD>(~key) : key;
        } else {
            keys[j] = static_cast<WORD>(~static_cast<WORD>(0));
        }
        places[j] = at < a.n ? static_cast<int32_t>(at) : 0x7fffffff;
    }
    __syncthreads();
    for (int size = 2; size <= TILE; size *= 2) {
        for (int half = size / 2; half > 0; half /= 2) {
            for (int t = threadIdx.x; t < TILE / 2; t += threads) {
                const int low = 2 * t - (t & (half - 1)), high = low + half;
                const WORD x = keys[low], y = keys[high];
                const int32_t p = places[low], q = places[high];
                const bool above = x > y || (x == y && p > q);
                if (above == ((low & size) == 0)) {
                    keys[low] = y, keys[high] = x;
                    places[low] = q, places[high] = p;
                }
            }
            __syncthreads();
        }
    }
    for (int j = threadIdx.x; j < TILE; j += threads) {
        if (first + j >= a.n) break;
        a.keys_to[row * a.n + first + j] = keys[j];
        a.places_to[row * a.n + first + j] = places[j];
    }
}

// Each element goes behind those of the other run that come before it.
KERNEL(merge_runs, Args) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= a.rows * a.n) return;
    const int64_t row = i / a.n, at = i % a.n, run = at / a.width, base = row * a.n;
    const int64_t other = (run ^ 1) * a.width;
    const WORD key = a.keys[i];
    int64_t low = other < a.n ? other : a.n, high = low + a.width < a.n ? low + a.width : a.n;
    const int64_t begin = low;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        const WORD there = a.keys[base + middle];
        if (run % 2 ? there <= key : there < key)
            low = middle + 1;
        else
            high = middle;
    }
    const int64_t target = base + run / 2 * 2 * a.width + (at - run * a.width) + (low - begin);
    a.keys_to[target] = key;
    a.places_to[target] = a.places[i];
}
