// Running results along a dimension. The words: IN and OUT (element types), OP (one of the structs below), SECOND (whether
// places are written too), LANES (threads of a block, a power of two).
//
// The tensor is `outer` times `n` times `inner`. Where `inner` is 1 a block takes a part of a row, LANES * EACH elements at a
// time: the threads' shares, then the running results of the threads. Parts begin with what `scan_parts` found of those before
// them. Otherwise a thread has one column.
#pragma once

typedef math_of<IN>::type In;

template <class T>
struct running_of {
    typedef int64_t type;
};
template <>
struct running_of<float> {
    typedef double type;
};
template <>
struct running_of<double> {
    typedef double type;
};
template <class R>
struct running_of<complex<R>> {
    typedef c128 type;
};
typedef running_of<math_of<OUT>::type>::type Wide;

struct Sum {
    Wide value;
    DEVICE void begin() { value = Wide(0); }
    DEVICE void set(In x, int64_t) { value = to<Wide>(x); }
    DEVICE void join(const Sum& later) { value = value + later.value; }
    DEVICE int64_t place() const { return 0; }
};
struct Prod {
    Wide value;
    DEVICE void begin() { value = Wide(1); }
    DEVICE void set(In x, int64_t) { value = to<Wide>(x); }
    DEVICE void join(const Prod& later) { value = value * later.value; }
    DEVICE int64_t place() const { return 0; }
};
#ifdef ORDERED
// The last of equal extrema; once NaN, always NaN.
template <bool GREATEST>
struct Extremum {
    In value;
    int64_t at;
    DEVICE void begin() { at = -1; }
    DEVICE void set(In x, int64_t i) { value = x, at = i; }
    DEVICE void join(const Extremum& later) {
        if (later.at < 0) return;
        if (at < 0 || (GREATEST ? later.value >= value : later.value <= value) || is_nan(later.value)) *this = later;
    }
    DEVICE int64_t place() const { return at; }
};
typedef Extremum<true> Max;
typedef Extremum<false> Min;
#endif
#ifdef REAL
struct LogSum {
    Wide value;
    DEVICE void begin() { value = Wide(-INFINITY); }
    DEVICE void set(In x, int64_t) { value = to<Wide>(x); }
    DEVICE void join(const LogSum& later) { value = joined(value, later.value); }
    static DEVICE double joined(double x, double y) {
        if (is_nan(x) || is_nan(y)) return static_cast<double>(NAN);
        const double high = x > y ? x : y, low = x > y ? y : x;
        return is_inf(high) ? high : high + log1p(exp(low - high));
    }
    static DEVICE c128 joined(c128 x, c128 y) {
        if (is_inf(x.re) && x.re < 0) return y;
        if (is_inf(y.re) && y.re < 0) return x;
        return log_of_sum(x, y);
    }
    DEVICE int64_t place() const { return 0; }
};
#endif

struct Args {
    int64_t outer, n, inner, parts;
    const IN* in;
    OUT* out;
    int64_t* second;
    OP* totals;  // of the parts of each row
};

constexpr int EACH = 8;

DEVICE void write(const Args& a, int64_t i, const OP& r) {
    a.out[i] = to<OUT>(r.value);
    if (SECOND) a.second[i] = r.place();
}

// What the threads before this one have together; `all` becomes what all have.
DEVICE OP before(const OP& mine, OP* shared, OP& all) {
    const int lane = threadIdx.x;
    shared[lane] = mine;
    __syncthreads();
    for (int step = 1; step < LANES; step *= 2) {
        OP sum = shared[lane];
        if (lane >= step) {
            sum = shared[lane - step];
            sum.join(shared[lane]);
        }
        __syncthreads();
        shared[lane] = sum;
        __syncthreads();
    }
    OP r;
    r.begin();
    if (lane > 0) r = shared[lane - 1];
    all = shared[LANES - 1];
    __syncthreads();
    return r;
}

DEVICE void part_of(const Args& a, int64_t& first, int64_t& last) {
    const int64_t tile = LANES * EACH, share = ((a.n + a.parts - 1) / a.parts + tile - 1) / tile * tile;
    first = share * blockIdx.y;
    last = first + share < a.n ? first + share : a.n;
}

KERNEL(scan_parts, Args) {
    SHARED(OP, shared);
    int64_t first, last;
    part_of(a, first, last);
    const IN* in = a.in + blockIdx.x * a.n;
    OP carry;
    carry.begin();
    for (int64_t tile = first; tile < last; tile += LANES * EACH) {
        OP mine, all;
        mine.begin();
        const int64_t begin = tile + threadIdx.x * EACH;
        for (int k = 0; k < EACH && begin + k < last; k++) {
            OP x;
            x.set(to<In>(in[begin + k]), begin + k);
            mine.join(x);
        }
        before(mine, shared, all);
        carry.join(all);
    }
    if (threadIdx.x == 0) a.totals[blockIdx.x * a.parts + blockIdx.y] = carry;
}

KERNEL(scan_rows, Args) {
    SHARED(OP, shared);
    int64_t first, last;
    part_of(a, first, last);
    const int64_t row = blockIdx.x * a.n;
    OP carry;
    carry.begin();
    for (int64_t part = 0; part < blockIdx.y; part++) carry.join(a.totals[blockIdx.x * a.parts + part]);
    for (int64_t tile = first; tile < last; tile += LANES * EACH) {
        OP mine, all, items[EACH];
        mine.begin();
        const int64_t begin = tile + threadIdx.x * EACH;
        for (int k = 0; k < EACH && begin + k < last; k++) {
            items[k].set(to<In>(a.in[row + begin + k]), begin + k);
            mine.join(items[k]);
        }
        OP run = carry;
        run.join(before(mine, shared, all));
        for (int k = 0; k < EACH && begin + k < last; k++) {
            run.join(items[k]);
            write(a, row + begin + k, run);
        }
        carry.join(all);
    }
}

KERNEL(scan_columns, Args) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= a.outer * a.inner) return;
    const int64_t base = i / a.inner * a.n * a.inner + i % a.inner;
    OP run;
    run.begin();
    for (int64_t k = 0; k < a.n; k++) {
        OP x;
        x.set(to<In>(a.in[base + k * a.inner]), k);
        run.join(x);
        write(a, base + k * a.inner, run);
    }
}
