// Rows of neighbours that threads share. The words: THREADS (that share a row, a power of two; more than 32 have the block for
// themselves), ROWS (of a block), VECTOR (elements of a load), HELD (loads of a thread that stay in registers), KEEP
// (REGISTERS, SHARED_MEMORY, or NOWHERE: rows too long for both are read again).
#pragma once

#define REGISTERS 0
#define SHARED_MEMORY 1
#define NOWHERE 2
#undef BOUNDS
#define BOUNDS __launch_bounds__(THREADS * ROWS)

// The block's row of this thread.
DEVICE int64_t own_row() { return static_cast<int64_t>(blockIdx.x) * ROWS + threadIdx.y; }

// The part of a row that this thread has. Rows that are not there have n = 0.
template <class E>
struct Row {
    typedef typename math_of<E>::type T;
    typedef Vector<E, VECTOR> Load;
    const Load* from;
    Load* shared;
    int64_t loads;
    Load held[KEEP == REGISTERS ? HELD : 1];

    // `space`: shared memory of the block for a row, 16-byte aligned; only SHARED_MEMORY needs it.
    DEVICE void read(const E* row, int64_t n, E* space) {
        from = reinterpret_cast<const Load*>(row);
        loads = n / VECTOR;
        shared = reinterpret_cast<Load*>(space);
        if (KEEP == REGISTERS) {
#pragma unroll
            for (int k = 0; k < HELD; k++) {
                const int64_t i = k * THREADS + threadIdx.x;
                if (i < loads) held[k] = from[i];
            }
        } else if (KEEP == SHARED_MEMORY) {  // a thread reads what it has written itself
            for (int64_t i = threadIdx.x; i < loads; i += THREADS) shared[i] = from[i];
        }
    }
    // f(load, number of the load) for each load of this thread.
    template <class F>
    DEVICE void loads_of(F f) const {
        if (KEEP == REGISTERS) {
#pragma unroll
            for (int k = 0; k < HELD; k++) {
                const int64_t i = k * THREADS + threadIdx.x;
                if (i < loads) f(held[k], i, k);
            }
        } else {
            const Load* source = KEEP == SHARED_MEMORY ? shared : from;
            for (int64_t i = threadIdx.x; i < loads; i += THREADS) f(source[i], i, 0);
        }
    }
    // f(element, its place) for each element of this thread.
    template <class F>
    DEVICE void each(F f) const {
        loads_of([&](const Load& load, int64_t i, int) {
#pragma unroll
            for (int j = 0; j < VECTOR; j++) f(to<T>(load.item[j]), i * VECTOR + j);
        });
    }
    // f(element, element of another row, their place).
    template <class G, class F>
    DEVICE void each_with(const Row<G>& other, F f) const {
        loads_of([&](const Load& load, int64_t i, int k) {
            const Vector<G, VECTOR> second = KEEP == REGISTERS ? other.held[k] : KEEP == SHARED_MEMORY ? other.shared[i] : other.from[i];
#pragma unroll
            for (int j = 0; j < VECTOR; j++) f(to<T>(load.item[j]), to<T>(second.item[j]), i * VECTOR + j);
        });
    }
    // The result's row: f(element, its place).
    template <class O, class F>
    DEVICE void write(O* row, F f) const {
        loads_of([&](const Load& load, int64_t i, int) {
            Vector<O, VECTOR> w;
#pragma unroll
            for (int j = 0; j < VECTOR; j++) w.item[j] = to<O>(f(to<T>(load.item[j]), i * VECTOR + j));
            reinterpret_cast<Vector<O, VECTOR>*>(row)[i] = w;
        });
    }
    template <class O, class G, class F>
    DEVICE void write_with(const Row<G>& other, O* row, F f) const {
        loads_of([&](const Load& load, int64_t i, int k) {
            const Vector<G, VECTOR> second = KEEP == REGISTERS ? other.held[k] : KEEP == SHARED_MEMORY ? other.shared[i] : other.from[i];
            Vector<O, VECTOR> w;
#pragma unroll
            for (int j = 0; j < VECTOR; j++) w.item[j] = to<O>(f(to<T>(load.item[j]), to<T>(second.item[j]), i * VECTOR + j));
            reinterpret_cast<Vector<O, VECTOR>*>(row)[i] = w;
        });
    }
};

// What the threads of a row have, joined, for all of them; join(x, y) is symmetric. `space`: 32 elements of shared memory, that
// nothing else uses. All threads of the block take part.
template <class T, class F>
DEVICE T joined(T x, T* space, F join) {
#pragma unroll
    for (int m = (THREADS < 32 ? THREADS : 32) / 2; m > 0; m /= 2) x = join(x, __shfl_xor_sync(0xffffffffu, x, m));
    if (THREADS <= 32) return x;
    __syncthreads();
    if (threadIdx.x % 32 == 0) space[threadIdx.x / 32] = x;
    __syncthreads();
    x = space[0];
    for (int k = 1; k < THREADS / 32; k++) x = join(x, space[k]);
    return x;
}
template <class T>
DEVICE T sum_of_row(T x, T* space) {
    return joined(x, space, [](T p, T q) { return p + q; });
}
template <class T>
DEVICE T top_of_row(T x, T* space) {
    return joined(x, space, [](T p, T q) { return p > q ? p : q; });
}
