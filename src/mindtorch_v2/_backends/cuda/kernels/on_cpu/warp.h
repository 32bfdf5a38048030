// Barriers, and what the lanes of a warp do together.
#pragma once

static inline unsigned emulated_thread() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }

static inline unsigned long long emulated_barrier(int operation, int predicate) {
    uint3 me = threadIdx;
    unsigned long long result = emulated_now->barrier(emulated_now, emulated_thread(), operation, predicate);
    threadIdx = me;
    return result;
}

static inline unsigned long long emulated_warp(int operation, unsigned mask, unsigned long long value,
                                               unsigned source) {
    uint3 me = threadIdx;
    unsigned long long result = emulated_now->warp(emulated_now, emulated_thread(), operation, mask, value, source);
    threadIdx = me;
    return result;
}

static inline void emulated_together(const char* name, void* mine, void (*compute)(void* const*)) {
    uint3 me = threadIdx;
    emulated_now->together(emulated_now, emulated_thread(), name, mine, compute);
    threadIdx = me;
}

static inline void __syncthreads() { emulated_barrier(EMULATED_SYNC, 0); }
static inline int __syncthreads_count(int predicate) { return (int)emulated_barrier(EMULATED_COUNT, predicate); }
static inline int __syncthreads_and(int predicate) { return (int)emulated_barrier(EMULATED_AND, predicate); }
static inline int __syncthreads_or(int predicate) { return (int)emulated_barrier(EMULATED_OR, predicate); }
static inline void __syncwarp(unsigned mask = 0xffffffff) { emulated_warp(EMULATED_SYNC, mask, 0, 0); }
static inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

template <class T>
static inline T emulated_shuffle(unsigned mask, T value, unsigned source) {
    static_assert(sizeof(T) <= 8, "a shuffle carries at most eight bytes");
    unsigned long long bits = 0;
    memcpy(&bits, &value, sizeof(T));
    bits = emulated_warp(EMULATED_SHUFFLE, mask, bits, source);
    memcpy(&value, &bits, sizeof(T));
    return value;
}

template <class T>
static inline T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
    unsigned lane = emulated_thread() % 32, first = lane & ~(unsigned)(width - 1);
    return emulated_shuffle(mask, value, first | ((unsigned)source & (unsigned)(width - 1)));
}
template <class T>
static inline T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32) {
    unsigned lane = emulated_thread() % 32, first = lane & ~(unsigned)(width - 1);
    return emulated_shuffle(mask, value, lane >= first + by ? lane - by : lane);
}
template <class T>
static inline T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32) {
    unsigned lane = emulated_thread() % 32, last = lane | (unsigned)(width - 1);
    return emulated_shuffle(mask, value, lane + by <= last ? lane + by : lane);
}
template <class T>
static inline T __shfl_xor_sync(unsigned mask, T value, int by, int width = 32) {
    unsigned lane = emulated_thread() % 32, last = lane | (unsigned)(width - 1), other = lane ^ (unsigned)by;
    return emulated_shuffle(mask, value, other <= last ? other : lane);
}

static inline unsigned __activemask() { return emulated_now->active(emulated_now, emulated_thread()); }
static inline unsigned __ballot_sync(unsigned mask, int predicate) {
    return (unsigned)emulated_warp(EMULATED_BALLOT, mask, predicate != 0, 0);
}
static inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
static inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, !predicate) == 0; }
template <class T>
static inline unsigned __match_any_sync(unsigned mask, T value) {
    unsigned long long bits = 0;
    memcpy(&bits, &value, sizeof(T));
    return (unsigned)emulated_warp(EMULATED_MATCH, mask, bits, 0);
}

// By all lanes' values in turn: a lane that takes no part adds nothing.
template <class T, class F>
static inline T emulated_reduce(unsigned mask, T value, F combine) {
    T all = value;
    unsigned lane = emulated_thread() % 32;
    for (unsigned i = 0; i < 32; i++) {
        T other = emulated_shuffle(mask, value, i);
        if (i != lane && mask >> i & 1) all = combine(all, other);
    }
    return all;
}
template <class T>
static inline T __reduce_add_sync(unsigned mask, T value) {
    return emulated_reduce(mask, value, [](T a, T b) { return (T)(a + b); });
}
template <class T>
static inline T __reduce_min_sync(unsigned mask, T value) {
    return emulated_reduce(mask, value, [](T a, T b) { return a < b ? a : b; });
}
template <class T>
static inline T __reduce_max_sync(unsigned mask, T value) {
    return emulated_reduce(mask, value, [](T a, T b) { return a > b ? a : b; });
}
static inline unsigned __reduce_and_sync(unsigned mask, unsigned value) {
    return emulated_reduce(mask, value, [](unsigned a, unsigned b) { return a & b; });
}
static inline unsigned __reduce_or_sync(unsigned mask, unsigned value) {
    return emulated_reduce(mask, value, [](unsigned a, unsigned b) { return a | b; });
}
static inline unsigned __reduce_xor_sync(unsigned mask, unsigned value) {
    return emulated_reduce(mask, value, [](unsigned a, unsigned b) { return a ^ b; });
}

static inline void __trap() { emulated_now->fail(emulated_now, 719, "__trap was called"); }
static inline void emulated_assert(const char* condition) { emulated_now->fail(emulated_now, 710, condition); }
#define assert(condition) ((condition) ? (void)0 : emulated_assert("assertion failed: " #condition))
