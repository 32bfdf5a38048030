// Elements combined with those that are there already, in the order of their picks: `order` sorts the picks by `keys`, where
// each begins in `big`. The words: ELEMENT, OP (one of the structs below), INCLUDE (whether what is there counts), PICKS
// and COLUMNS (numbers of dimensions).
#pragma once

#include "strided.cuh"

typedef math_of<ELEMENT>::type T;

struct Assign {
    static DEVICE T start() { return T(0); }
    static DEVICE T join(T, T x) { return x; }
    static DEVICE T result(T v, int64_t) { return v; }
};
struct Sum {
    static DEVICE T start() { return T(0); }
    static DEVICE T join(T v, T x) { return static_cast<T>(v + x); }
    static DEVICE T result(T v, int64_t) { return v; }
};
struct Mean : Sum {
    static DEVICE T result(T v, int64_t count) { return count < 2 ? v : floor_or_exact(v, count); }
    template <class V>
    static DEVICE V floor_or_exact(V v, int64_t count) {
        return static_cast<V>(floor_quotient(static_cast<int64_t>(v), count));
    }
    static DEVICE float floor_or_exact(float v, int64_t count) { return v / static_cast<float>(count); }
    static DEVICE double floor_or_exact(double v, int64_t count) { return v / static_cast<double>(count); }
    template <class R>
    static DEVICE complex<R> floor_or_exact(complex<R> v, int64_t count) {
        return complex<R>(v.re / static_cast<R>(count), v.im / static_cast<R>(count));
    }
};
struct Prod {
    static DEVICE T start() { return T(1); }
    static DEVICE T join(T v, T x) { return static_cast<T>(v * x); }
    static DEVICE T result(T v, int64_t) { return v; }
};
#ifdef ORDERED
struct Largest {
    static DEVICE T start() { return lowest<T>(); }
    static DEVICE T join(T v, T x) { return larger(v, x); }
    static DEVICE T result(T v, int64_t) { return v; }
};
struct Smallest {
    static DEVICE T start() { return highest<T>(); }
    static DEVICE T join(T v, T x) { return smaller(v, x); }
    static DEVICE T result(T v, int64_t) { return v; }
};
#endif

struct Args {
    int64_t picks, columns;
    ELEMENT* big;
    const ELEMENT* small;
    const int64_t* keys;
    const int32_t* order;
    int64_t pick_size[PICKS], pick_stride[PICKS];  // strides of `small`
    int64_t column_size[COLUMNS], column_big[COLUMNS], column_small[COLUMNS];
};

// A thread has one column of the first of the picks of a place, and goes through the others.
KERNEL(combine, Args) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= a.picks * a.columns) return;
    int64_t k = i / a.columns;
    const int64_t column = i % a.columns, key = a.keys[a.order[k]];
    if (key < 0 || (k > 0 && a.keys[a.order[k - 1]] == key)) return;
    ELEMENT* to = a.big + key + place<COLUMNS>(column, a.column_size, a.column_big);
    const ELEMENT* from = a.small + place<COLUMNS>(column, a.column_size, a.column_small);
    T v = INCLUDE ? ::to<T>(*to) : OP::start();
    int64_t count = INCLUDE;
    for (; k < a.picks && a.keys[a.order[k]] == key; k++, count++)
        v = OP::join(v, ::to<T>(from[place<PICKS>(a.order[k], a.pick_size, a.pick_stride)]));
    *to = ::to<ELEMENT>(OP::result(v, count));
}
