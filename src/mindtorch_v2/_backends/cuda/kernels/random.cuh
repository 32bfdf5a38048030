// Random numbers: Philox 4x32 with ten rounds, drawn in the order in which PyTorch's kernels draw them, so that a seed gives its
// numbers. The words: OUT (element type), UNROLL (numbers of a draw), KIND (one of the structs below),
// NEIGHBOURS, CHANCE (element type).
// A thread is a subsequence; element i of the r-th turn of thread t lies at t + threads * (UNROLL * r + i); with
// NEIGHBOURS, a divisor of UNROLL, at NEIGHBOURS * (t + threads * r) + i, and a draw lasts for UNROLL / NEIGHBOURS turns.
#pragma once

#include "philox.cuh"

// PyTorch's kernels take the processor's own approximations; the emulated GPU has none.
#ifdef ON_CPU
DEVICE float fast_sin(float x) { return sinf(x); }
DEVICE float fast_cos(float x) { return cosf(x); }
DEVICE float fast_log(float x) { return logf(x); }
DEVICE float fast_tan(float x) { return tanf(x); }
#else
DEVICE float fast_sin(float x) { return __sinf(x); }
DEVICE float fast_cos(float x) { return __cosf(x); }
DEVICE float fast_log(float x) { return __logf(x); }
DEVICE float fast_tan(float x) { return __tanf(x); }
#endif
DEVICE double fast_log(double x) { return log(x); }
DEVICE double fast_tan(double x) { return tan(x); }
// In (0, 1], as cuRAND's.
DEVICE float unit(uint32_t x) { return x * 2.3283064365386963e-10f + 1.1641532182693481e-10f; }
DEVICE double unit_double(uint32_t x, uint32_t y) {
    const uint64_t z = static_cast<uint64_t>(x) ^ static_cast<uint64_t>(y) << 21;
    return z * 1.1102230246251565e-16 + 5.5511151231257827e-17;
}
DEVICE float normal_of(uint32_t x, uint32_t y, int second) {
    const float u = unit(x), v = y * 1.4629180792671596e-9f + 7.3145903963357981e-10f;
    const float s = sqrtf(-2.0f * logf(u));
    return s * (second ? fast_cos(v) : fast_sin(v));
}
DEVICE double normal_double(const uint4x& r, int second) {
    const double u = unit_double(r.x, r.y), v = unit_double(r.z, r.w) * 2 * 3.14159265358979323846;
    const double s = sqrt(-2.0 * log(u));
    return s * (second ? cos(v) : sin(v));
}

struct Args {
    int64_t n;
    uint64_t seed, offset;
    const uint64_t* recorded_seed;  // of a graph: where a replay finds both
    const uint64_t* recorded_offset;
    OUT* out;
    double p[2];
    int64_t range, base;
    const CHANCE* chance;
};

typedef math_of<OUT>::type M;

// A number of (0, 1]: float from one word, double from two.
struct Unit32 {
    DEVICE static float of(const uint4x& r, int i) { return unit(word(r, i)); }
};
struct Unit64 {
    DEVICE static double of(const uint4x& r, int i) { return i ? unit_double(r.z, r.w) : unit_double(r.x, r.y); }
};
#if UNROLL == 4
typedef Unit32 UnitOf;
typedef float Real;
#else
typedef Unit64 UnitOf;
typedef double Real;
#endif

struct Uniform {  // [p0, p1)
    DEVICE static OUT of(const uint4x& r, int i, const Args& a, int64_t at) {
        const Real from = static_cast<Real>(a.p[0]), range = static_cast<Real>(a.p[1] - a.p[0]);
        const Real x = UnitOf::of(r, i) * range + from;
        const OUT made = to<OUT>(x);
        return to<M>(made) == to<M>(to<OUT>(static_cast<Real>(a.p[1]))) ? to<OUT>(from) : made;
    }
};
struct Normal {  // mean p0, deviation p1
    DEVICE static OUT of(const uint4x& r, int i, const Args& a, int64_t at) {
#if UNROLL == 4
        const Real x = i < 2 ? normal_of(r.x, r.y, i) : normal_of(r.z, r.w, i - 2);
#else
        const Real x = normal_double(r, i);
#endif
        return to<OUT>(x * static_cast<Real>(a.p[1]) + static_cast<Real>(a.p[0]));
    }
};
struct Bernoulli {
    DEVICE static OUT of(const uint4x& r, int i, const Args& a, int64_t at) { return to<OUT>(UnitOf::of(r, i) < static_cast<Real>(a.p[0])); }
};
struct BernoulliOf {  // a chance for each element
    DEVICE static OUT of(const uint4x& r, int i, const Args& a, int64_t at) {
        return to<OUT>(UnitOf::of(r, i) <= to<Real>(a.chance[at]));
    }
};
struct Exponential {  // rate p0
    DEVICE static OUT of(const uint4x& r, int i, const Args& a, int64_t at) {
        const Real x = UnitOf::of(r, i);
        const Real tiny = sizeof(Real) == 4 ? Real(5.9604644775390625e-08) : Real(1.1102230246251565e-16);
        const Real l = x >= 1 - tiny ? -tiny : fast_log(x);
        return to<OUT>(-l / static_cast<Real>(a.p[0]));
    }
};
struct Cauchy {
    DEVICE static OUT of(const uint4x& r, int i, const Args& a, int64_t at) {
        const Real tiny = sizeof(Real) == 4 ? Real(1.1920929e-07) : Real(2.220446049250313e-16);
        Real x = UnitOf::of(r, i);
        x = x > 1 - tiny ? 1 - tiny : x < tiny ? tiny : x;
        return to<OUT>(static_cast<Real>(a.p[0]) + static_cast<Real>(a.p[1]) * fast_tan(Real(3.14159265358979323846) * (x - Real(0.5))));
    }
};
struct LogNormal {
    DEVICE static OUT of(const uint4x& r, int i, const Args& a, int64_t at) {
#if UNROLL == 4
        const Real x = i < 2 ? normal_of(r.x, r.y, i) : normal_of(r.z, r.w, i - 2);
#else
        const Real x = normal_double(r, i);
#endif
        return to<OUT>(exp(x * static_cast<Real>(a.p[1]) + static_cast<Real>(a.p[0])));
    }
};
struct Geometric {
    DEVICE static OUT of(const uint4x& r, int i, const Args& a, int64_t at) {
        return to<OUT>(ceil(log(UnitOf::of(r, i)) / log(Real(1) - static_cast<Real>(a.p[0]))));
    }
};
struct Integer32 {  // base + [0, range)
    DEVICE static OUT of(const uint4x& r, int i, const Args& a, int64_t at) {
        return to<OUT>(static_cast<int64_t>(word(r, i) % static_cast<uint32_t>(a.range)) + a.base);
    }
};
struct Integer64 {
    DEVICE static OUT of(const uint4x& r, int i, const Args& a, int64_t at) {
        const uint64_t x = i ? static_cast<uint64_t>(r.z) << 32 | r.w : static_cast<uint64_t>(r.x) << 32 | r.y;
        return to<OUT>(static_cast<int64_t>(a.range ? x % static_cast<uint64_t>(a.range) + static_cast<uint64_t>(a.base) : x));
    }
};

KERNEL(draw, Args) {
    const int64_t thread = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const int64_t threads = static_cast<int64_t>(gridDim.x) * blockDim.x;
    const uint64_t seed = a.recorded_seed ? *a.recorded_seed : a.seed;
    uint64_t counter = (a.recorded_offset ? *a.recorded_offset + a.offset : a.offset) / 4;
#if NEIGHBOURS
    uint4x r = {};
    int left = 0;
    for (int64_t first = thread * NEIGHBOURS; first < a.n; first += threads * NEIGHBOURS) {
        if (!left) {
            r = philox(seed, static_cast<uint64_t>(thread), counter++);
            left = UNROLL / NEIGHBOURS;
        }
#pragma unroll
        for (int i = 0; i < NEIGHBOURS; i++)
            if (first + i < a.n) a.out[first + i] = KIND::of(r, i, a, first + i);
        left--;
        r = {r.z, r.w, r.z, r.w};
    }
#else
    for (int64_t first = thread; first - thread < a.n; first += threads * UNROLL) {
        const uint4x r = philox(seed, static_cast<uint64_t>(thread), counter++);
#pragma unroll
        for (int i = 0; i < UNROLL; i++) {
            const int64_t at = first + threads * i;
            if (at < a.n) a.out[at] = KIND::of(r, i, a, at);
        }
    }
#endif
}

struct AlikeArgs {
    int64_t n;
    uint64_t seed, offset;
    const uint64_t* recorded_seed;
    const uint64_t* recorded_offset;
    const int64_t* keys;
    int64_t* places;
};

// What has the same key is shuffled among itself, by the thread of the first of them.
KERNEL(shuffle_alike, AlikeArgs) {
    const int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (first + 1 >= a.n || a.keys[first] != a.keys[first + 1] || (first > 0 && a.keys[first - 1] == a.keys[first])) return;
    int64_t size = 2;
    while (first + size < a.n && a.keys[first + size] == a.keys[first]) size++;
    const uint64_t seed = a.recorded_seed ? *a.recorded_seed : a.seed;
    const uint64_t counter = (a.recorded_offset ? *a.recorded_offset + a.offset : a.offset) / 4;
    for (int64_t i = size - 1, drawn = 0; i > 0; i--, drawn++) {
        const uint4x r = philox(seed, static_cast<uint64_t>(first), counter + static_cast<uint64_t>(drawn / 4));
        const int64_t with = word(r, static_cast<int>(drawn % 4)) % static_cast<uint32_t>(i + 1);
        const int64_t kept = a.places[first + i];
        a.places[first + i] = a.places[first + with];
        a.places[first + with] = kept;
    }
}
