// Reductions. The words: IN and OUT (element types), OP (one of the structs below, by name), COLUMNS (threads of a warp
// lie along the outputs, not along what is reduced), VECTOR (elements of a load, of rows
// whose length it divides), KEPT and REDUCED (numbers of dimensions), OUTPUTS (1 or 2), SECOND
// (element type of the second output).
//
// A block is THREADS_X * THREADS_Y threads. Of rows, THREADS_X threads reduce one output together and a block has THREADS_Y
// of them; of columns, THREADS_X are outputs and THREADS_Y share what each reduces. Where outputs are few, `parts` blocks
// share one, and write what they have to `partial`; the same kernel with FINISH joins that. The order is always the same.
#pragma once

#include "strided.cuh"

typedef math_of<IN>::type In;
typedef math_of<OUT>::type Out;

template <class T>
struct wide_of {
    typedef int64_t type;
};
template <>
struct wide_of<float> {
    typedef float type;
};
template <>
struct wide_of<double> {
    typedef double type;
};
template <class R>
struct wide_of<complex<R>> {
    typedef complex<R> type;
};
typedef wide_of<Out>::type Wide;

struct Sum {
    Wide value;
    DEVICE void begin(const double*) { value = Wide(0); }
    DEVICE void add(In x, int64_t, const double*) { value = value + to<Wide>(x); }
    DEVICE void join(const Sum& o, const double*) { value = value + o.value; }
    DEVICE Out result(const double* p) const { return to<Out>(value); }
    DEVICE int64_t second(const double*) const { return 0; }
};
struct NanSum : Sum {
    DEVICE void add(In x, int64_t, const double*) { value = is_nan(x) ? value : value + to<Wide>(x); }
};
struct Mean : Sum {  // p[0]: the number of elements
    DEVICE Out result(const double* p) const { return to<Out>(value / to<Wide>(p[0])); }
};
struct Prod {
    Wide value;
    DEVICE void begin(const double*) { value = Wide(1); }
    DEVICE void add(In x, int64_t, const double*) { value = value * to<Wide>(x); }
    DEVICE void join(const Prod& o, const double*) { value = value * o.value; }
    DEVICE Out result(const double*) const { return to<Out>(value); }
    DEVICE int64_t second(const double*) const { return 0; }
};
struct Any {
    bool value;
    DEVICE void begin(const double*) { value = false; }
    DEVICE void add(In x, int64_t, const double*) { value = value || static_cast<bool>(x); }
    DEVICE void join(const Any& o, const double*) { value = value || o.value; }
    DEVICE Out result(const double*) const { return to<Out>(value); }
    DEVICE int64_t second(const double*) const { return 0; }
};
struct All {
    bool value;
    DEVICE void begin(const double*) { value = true; }
    DEVICE void add(In x, int64_t, const double*) { value = value && static_cast<bool>(x); }
    DEVICE void join(const All& o, const double*) { value = value && o.value; }
    DEVICE Out result(const double*) const { return to<Out>(value); }
    DEVICE int64_t second(const double*) const { return 0; }
};
struct Count {
    int64_t value;
    DEVICE void begin(const double*) { value = 0; }
    DEVICE void add(In x, int64_t, const double*) { value += static_cast<bool>(x); }
    DEVICE void join(const Count& o, const double*) { value += o.value; }
    DEVICE Out result(const double*) const { return to<Out>(value); }
    DEVICE int64_t second(const double*) const { return 0; }
};
#ifdef ORDERED
// The greatest (or smallest) element; NaN wins.
template <bool GREATEST>
struct Outermost {
    In value;
    DEVICE void begin(const double*) { value = GREATEST ? lowest<In>() : highest<In>(); }
    DEVICE void add(In x, int64_t, const double*) { value = GREATEST ? larger(value, x) : smaller(value, x); }
    DEVICE void join(const Outermost& o, const double*) { value = GREATEST ? larger(value, o.value) : smaller(value, o.value); }
    DEVICE Out result(const double*) const { return to<Out>(value); }
    DEVICE int64_t second(const double*) const { return 0; }
};
typedef Outermost<true> Greatest;
typedef Outermost<false> Smallest;
// The greatest (or smallest) element and its place: the first of equal ones; NaN wins.
template <bool GREATEST>
struct Extremum {
    In value;
    int64_t place;
    DEVICE void begin(const double*) {
        value = GREATEST ? lowest<In>() : highest<In>();
        place = -1;
    }
    DEVICE void take(In x, int64_t at) {
        const bool better = GREATEST ? x > value : x < value;
        const bool nan = is_nan(x), had = is_nan(value);
        if (place < 0 || (nan && !had) || (!had && better) || (at < place && (nan ? had : x == value))) {
            value = x;
            place = at;
        }
    }
    DEVICE void add(In x, int64_t at, const double*) { take(x, at); }
    DEVICE void join(const Extremum& o, const double*) {
        if (o.place >= 0) take(o.value, o.place);
    }
    DEVICE Out result(const double* p) const { return to<Out>(value); }
    DEVICE int64_t second(const double*) const { return place; }
};
typedef Extremum<true> Max;
typedef Extremum<false> Min;
struct ArgMax : Max {
    DEVICE void join(const ArgMax& o, const double* p) { Max::join(o, p); }
    DEVICE Out result(const double*) const { return to<Out>(place); }
};
struct ArgMin : Min {
    DEVICE void join(const ArgMin& o, const double* p) { Min::join(o, p); }
    DEVICE Out result(const double*) const { return to<Out>(place); }
};
struct Both {  // the smallest and, second, the greatest
    Extremum<false> low;
    Extremum<true> high;
    DEVICE void begin(const double* p) {
        low.begin(p);
        high.begin(p);
    }
    DEVICE void add(In x, int64_t at, const double* p) {
        low.add(x, at, p);
        high.add(x, at, p);
    }
    DEVICE void join(const Both& o, const double* p) {
        low.join(o.low, p);
        high.join(o.high, p);
    }
    DEVICE Out result(const double*) const { return to<Out>(low.value); }
    DEVICE In second(const double*) const { return high.value; }
};
#endif
#ifdef REAL
// Sums of powers of magnitudes. p[0]: the power.
struct Norm {
    double large;
    Out value;
    DEVICE void begin(const double* p) { value = p[0] < 0 && is_inf(p[0]) ? to<Out>(highest<Out>()) : Out(0); }
    DEVICE void add(In x, int64_t, const double* p) {
        const Out m = to<Out>(magnitude(x));
        if (is_inf(p[0]))
            value = p[0] > 0 ? larger(value, m) : smaller(value, m);
        else
            value += p[0] == 2 ? m * m : p[0] == 1 ? m : p[0] == 0 ? Out(m != 0) : to<Out>(pow(m, to<Out>(p[0])));
    }
    DEVICE void join(const Norm& o, const double* p) {
        if (is_inf(p[0]))
            value = p[0] > 0 ? larger(value, o.value) : smaller(value, o.value);
        else
            value += o.value;
    }
    DEVICE Out result(const double* p) const {
        return is_inf(p[0]) || p[0] == 1 || p[0] == 0 ? value : p[0] == 2 ? sqrt(value) : to<Out>(pow(value, to<Out>(1 / p[0])));
    }
    DEVICE int64_t second(const double*) const { return 0; }
};
struct LogSumExp {
    Out top, value;
    DEVICE void begin(const double*) {
        top = lowest<Out>();
        value = 0;
    }
    DEVICE void take(Out x, Out times) {
        if (is_inf(x) && x < 0) return;
        if (x > top || is_nan(x)) {
            value = value * (is_inf(top) && top < 0 ? Out(0) : exp(top - x)) + times;
            top = x;
        } else {
            value += times * (x == top ? Out(1) : exp(x - top));
        }
    }
    DEVICE void add(In x, int64_t, const double*) { take(to<Out>(x), Out(1)); }
    DEVICE void join(const LogSumExp& o, const double*) { take(o.top, o.value); }
    DEVICE Out result(const double*) const { return is_inf(top) ? top : top + log(value); }
    DEVICE int64_t second(const double*) const { return 0; }
};
// Mean and sum of squares around it. p[0]: correction; p[1]: whether the root is wanted. Second: the mean.
struct Variance {
    Out mean, squares;
    double count;
    DEVICE void begin(const double*) { mean = squares = 0, count = 0; }
    DEVICE void add(In x, int64_t, const double*) {
        const Out v = to<Out>(x), d = v - mean;
        count += 1;
        mean += d / to<Out>(count);
        squares += d * (v - mean);
    }
    DEVICE void join(const Variance& o, const double*) {
        if (o.count == 0) return;
        const double all = count + o.count;
        const Out d = o.mean - mean, share = to<Out>(o.count / all);
        mean += d * share;
        squares += o.squares + d * d * to<Out>(count) * share;
        count = all;
    }
    DEVICE Out result(const double* p) const {
        const double n = count - p[0];
        const Out v = squares / to<Out>(n > 0 ? n : 0.0);
        return p[1] != 0 ? sqrt(v) : v;
    }
    DEVICE Out second(const double*) const { return count == 0 ? to<Out>(static_cast<double>(NAN)) : mean; }
};
#endif

struct Args {
    int64_t outputs, reduced, parts;
    const IN* in;
    OUT* out;
    SECOND* second;
    void* partial;
    double p[2];
    int64_t kept_size[KEPT], kept_stride[KEPT], reduced_size[REDUCED], reduced_stride[REDUCED];
};

DEVICE void finish(const Args& a, int64_t output, const OP& r) {
    a.out[output] = to<OUT>(r.result(a.p));
    if (OUTPUTS == 2) a.second[output] = to<SECOND>(r.second(a.p));
}

// Joins what the threads of a block have, along x (rows) or y (columns), with the lower places first.
DEVICE void join_block(OP& mine, OP* shared, const double* p) {
    const int x = threadIdx.x, y = threadIdx.y, width = blockDim.x, height = blockDim.y;
    const int at = y * width + x;
    shared[at] = mine;
    __syncthreads();
    for (int half = (COLUMNS ? height : width) / 2; half > 0; half /= 2) {
        if ((COLUMNS ? y : x) < half) {
            mine.join(shared[at + (COLUMNS ? half * width : half)], p);
            shared[at] = mine;
        }
        __syncthreads();
    }
}

KERNEL(reduce, Args) {
    SHARED(OP, shared);
    const int64_t output = COLUMNS ? static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x
                                   : static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
    const int part = blockIdx.y;
    const int lane = COLUMNS ? threadIdx.y : threadIdx.x, lanes = COLUMNS ? blockDim.y : blockDim.x;
    OP mine;
    mine.begin(a.p);
    if (output < a.outputs) {
        const int64_t share = ((a.reduced + a.parts - 1) / a.parts + VECTOR - 1) / VECTOR * VECTOR;
        const int64_t first = share * part, last = first + share < a.reduced ? first + share : a.reduced;
        const IN* from = a.in + place<KEPT>(output, a.kept_size, a.kept_stride);
#if VECTOR > 1
        // Neighbours, loaded together; several results in hand do not wait for each other.
        typedef Vector<IN, VECTOR> Load;
        constexpr int HANDS = VECTOR < 4 ? VECTOR : 4;
        OP hands[HANDS];
#pragma unroll
        for (int h = 0; h < HANDS; h++) hands[h].begin(a.p);
        const int64_t step = static_cast<int64_t>(lanes) * VECTOR;
        int64_t i = first + static_cast<int64_t>(lane) * VECTOR;
        for (; i + 3 * step < last; i += 4 * step) {
            Load x[4];
#pragma unroll
            for (int k = 0; k < 4; k++) x[k] = *reinterpret_cast<const Load*>(from + i + k * step);
#pragma unroll
            for (int k = 0; k < 4; k++)
#pragma unroll
                for (int v = 0; v < VECTOR; v++) hands[v % HANDS].add(to<In>(x[k].item[v]), i + k * step + v, a.p);
        }
        for (; i < last; i += step) {
            const Load x = *reinterpret_cast<const Load*>(from + i);
#pragma unroll
            for (int v = 0; v < VECTOR; v++) hands[v % HANDS].add(to<In>(x.item[v]), i + v, a.p);
        }
#pragma unroll
        for (int h = 0; h < HANDS; h++) mine.join(hands[h], a.p);
#else
        int64_t i = first + lane;
        if (REDUCED == 1) {
            const int64_t step = a.reduced_stride[0];
            for (; i + 3 * lanes < last; i += 4 * lanes) {  // four loads are under way at once
                IN x[4];
#pragma unroll
                for (int k = 0; k < 4; k++) x[k] = from[(i + k * lanes) * step];
#pragma unroll
                for (int k = 0; k < 4; k++) mine.add(to<In>(x[k]), i + k * lanes, a.p);
            }
            for (; i < last; i += lanes) mine.add(to<In>(from[i * step]), i, a.p);
        } else {
            for (; i < last; i += lanes) mine.add(to<In>(from[place<REDUCED>(i, a.reduced_size, a.reduced_stride)]), i, a.p);
        }
#endif
    }
    join_block(mine, shared, a.p);
    if (output < a.outputs && lane == 0) {
        if (a.parts == 1)
            finish(a, output, mine);
        else
            static_cast<OP*>(a.partial)[output * a.parts + part] = mine;
    }
}

// A block an output.
KERNEL(join_parts, Args) {
    SHARED(OP, shared);
    const int64_t output = blockIdx.x;
    const OP* parts = static_cast<const OP*>(a.partial) + output * a.parts;
    const int lane = threadIdx.x, lanes = blockDim.x;
    OP mine;
    mine.begin(a.p);
    for (int64_t k = lane; k < a.parts; k += lanes) mine.join(parts[k], a.p);
    shared[lane] = mine;
    __syncthreads();
    for (int half = lanes / 2; half > 0; half /= 2) {
        if (lane < half) {
            mine.join(shared[lane + half], a.p);
            shared[lane] = mine;
        }
        __syncthreads();
    }
    if (lane == 0) finish(a, output, mine);
}
