// Elementary functions for kernels' inner loops: no branches, so that g++ turns a loop over them into vector code.
//
// float: exp, exp2, the logarithms, tanh, erf, sin, cos, tan and their inverses have their own polynomials (within 1
// ulp, a few within 1.5); the others run in double and are rounded once, pow with a logarithm and a power of its own.
// double: glibc's vector library (libmvec, within 4 ulp, most within 2), which g++ calls because the scalar functions
// are declared `simd` here. Coefficients are our own minimax fits (weighted least squares iterated to equal ripple).
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#define MT_VECTOR_1(name) extern "C" __attribute__((simd("notinbranch"), const)) double name(double) noexcept
#define MT_VECTOR_2(name) extern "C" __attribute__((simd("notinbranch"), const)) double name(double, double) noexcept
MT_VECTOR_1(acos);
MT_VECTOR_1(acosh);
MT_VECTOR_1(asin);
MT_VECTOR_1(asinh);
MT_VECTOR_1(atan);
MT_VECTOR_1(atanh);
MT_VECTOR_1(cos);
MT_VECTOR_1(cosh);
MT_VECTOR_1(erf);
MT_VECTOR_1(erfc);
MT_VECTOR_1(exp);
MT_VECTOR_1(exp2);
MT_VECTOR_1(expm1);
MT_VECTOR_1(log);
MT_VECTOR_1(log10);
MT_VECTOR_1(log1p);
MT_VECTOR_1(log2);
MT_VECTOR_1(sin);
MT_VECTOR_1(sinh);
MT_VECTOR_1(tan);
MT_VECTOR_1(tanh);
MT_VECTOR_2(atan2);
MT_VECTOR_2(pow);
#undef MT_VECTOR_1
#undef MT_VECTOR_2

namespace mt::vec {

#define MT_INLINE inline __attribute__((always_inline))

// a * b + c, in one rounding where the instruction set has it (a library call would be far slower than two roundings).
MT_INLINE float fma(float a, float b, float c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}
MT_INLINE double fma(double a, double b, double c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return __builtin_fma(a, b, c);
#else
    return a * b + c;
#endif
}

// a * b + c, nearly always in one rounding on every processor: for what only recovers a rounding error.
MT_INLINE float fused(float a, float b, float c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return __builtin_fmaf(a, b, c);
#else
    return static_cast<float>(double(a) * b + c);
#endif
}

MT_INLINE int32_t bits_of(float x) {
    int32_t u;
    std::memcpy(&u, &x, 4);
    return u;
}
MT_INLINE float from_bits(int32_t u) {
    float x;
    std::memcpy(&x, &u, 4);
    return x;
}
MT_INLINE float copysign_f(float magnitude, float sign) {
    return from_bits((bits_of(magnitude) & 0x7fffffff) | (bits_of(sign) & int32_t(0x80000000)));
}
MT_INLINE float abs_f(float x) { return from_bits(bits_of(x) & 0x7fffffff); }

// Functions that are written once and work for both float and double arguments.
template <class T>
MT_INLINE T max(T a, T b) {
    return a > b ? a : b;
}
template <class T>
MT_INLINE T min(T a, T b) {
    return a < b ? a : b;
}

// e^r = 1 + r + r^2 q(r) on |r| <= ln 2 / 2; x = n ln 2 + r.
struct ExpParts {
    float p;         // e^r
    int32_t biased;  // n + 127, the exponent of 2^n, in the lowest nine bits
};
constexpr float kExpMagic = 12582912.0f + 127.0f;  // adding it rounds to an integer, and adds the bias of exponents
MT_INLINE ExpParts exp_parts(float x) {
    constexpr float kMagic = kExpMagic;
    float t = fma(x, 1.44269504088896341f, kMagic);
    float nf = t - kMagic;
    float r = fma(nf, -0.693145751953125f, x);
    r = fma(nf, -1.42860682030941723e-6f, r);
    float q = 1.991881581e-04f;
    q = fma(q, r, 1.394639257e-03f);
    q = fma(q, r, 8.333263919e-03f);
    q = fma(q, r, 4.166626558e-02f);
    q = fma(q, r, 1.666666716e-01f);
    q = fma(q, r, 0.5f);
    return {fma(r * r, q, r) + 1.0f, bits_of(t)};
}
MT_INLINE float exp(float x) {
    float c = x > 89.0f ? 89.0f : x;  // written so that NaN passes through
    c = c < -104.0f ? -104.0f : c;
    ExpParts e = exp_parts(c);
    int32_t n = e.biased - bits_of(kExpMagic), half = n >> 1;  // in two factors: 2^-150 and 2^128 are no floats
    return e.p * from_bits((half + 127) << 23) * from_bits((n - half + 127) << 23);
}
// For arguments known to lie in [-87, 88], or NaN: one factor suffices.
MT_INLINE float exp_inner(float x) {
    ExpParts e = exp_parts(x);
    return e.p * from_bits(e.biased << 23);
}
MT_INLINE double exp(double x) { return ::exp(x); }
MT_INLINE float exp2(float x) {
    constexpr float kMagic = 12582912.0f;
    float c = x > 129.0f ? 129.0f : x;
    c = c < -151.0f ? -151.0f : c;
    float t = c + kMagic;
    float r = c - (t - kMagic);  // exact
    float q = 1.5196173107e-05f;
    q = fma(q, r, 1.5466737962e-04f);
    q = fma(q, r, 1.3333934779e-03f);
    q = fma(q, r, 9.6180381995e-03f);
    q = fma(q, r, 5.5504103668e-02f);
    q = fma(q, r, 2.4022651066e-01f);
    // ln 2 in two parts: the part that would be lost in rounding is added with the small terms
    float p = fma(r, 0.693147182f, fma(r * r, q, r * -1.90465430e-09f)) + 1.0f;
    int32_t n = bits_of(t) - bits_of(kMagic), half = n >> 1;
    return p * from_bits((half + 127) << 23) * from_bits((n - half + 127) << 23);
}
MT_INLINE double exp2(double x) { return ::exp2(x); }

// A positive normal number is 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), and log(1 + f) = f - f^2 / 2 + rest.
struct LogParts {
    float e, f, rest;
};
MT_INLINE bool log_is_near(float x) { return static_cast<uint32_t>(bits_of(x)) - 0x00800000u < 0x7f000000u; }
MT_INLINE LogParts log_parts(float x) {
    int32_t b = static_cast<int32_t>(static_cast<uint32_t>(bits_of(x)) - 0x3f3504f3u);  // sqrt(1/2); of -0 it wraps
    float e = static_cast<float>(b >> 23);
    float f = from_bits((b & 0x007fffff) + 0x3f3504f3) - 1.0f;
    float q = 6.915424764e-02f;
    q = fma(q, f, -1.178983524e-01f);
    q = fma(q, f, 1.187296584e-01f);
    q = fma(q, f, -1.238434315e-01f);
    q = fma(q, f, 1.421865821e-01f);
    q = fma(q, f, -1.666925102e-01f);
    q = fma(q, f, 2.000222653e-01f);
    q = fma(q, f, -2.499998659e-01f);
    q = fma(q, f, 3.333331048e-01f);
    return {e, f, f * f * f * q};
}
MT_INLINE float log_of(LogParts p) {
    float low = fma(p.e, 1.42860682030941723e-6f, p.rest);
    low = fma(p.f * p.f, -0.5f, low);
    return fma(p.e, 0.693145751953125f, p.f + low);
}
// The logarithm to a base: `scale` is that of 2, in two parts of which the first times e is exact; `factor` is that of
// Euler's number, in two parts.
struct Base {
    float scale, scale_low, factor, factor_low;
};
constexpr Base kBase2 = {1.0f, 0.0f, 1.44269502e+00f, 1.92596303e-08f};
constexpr Base kBase10 = {3.01025391e-01f, 4.60503898e-06f, 4.34294492e-01f, -1.01030501e-08f};
MT_INLINE float log_of(LogParts p, Base base) {
    float half = p.f * p.f * -0.5f;
    float sum = p.f + half;
    float low = (half - (sum - p.f)) + (p.rest + fused(p.f * -0.5f, p.f, -half));
    float y = sum * base.factor;
    float y_low = fused(sum, base.factor, -y) + fma(low, base.factor, sum * base.factor_low);
    float whole = p.e * base.scale;
    float r = whole + y;
    return r + ((y - (r - whole)) + fma(p.e, base.scale_low, y_low));
}
// For any x: subnormals get an exponent, zero and what is no positive number their own results.
template <class F>
MT_INLINE float log_anywhere(float x, const F& f) {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    bool tiny = x < 1.17549435e-38f;
    LogParts p = log_parts(tiny ? x * 8388608.0f : x);
    p.e -= tiny ? 23.0f : 0.0f;
    float r = f(p);
    r = x == 0.0f ? -kInf : r;
    r = x < 0.0f ? std::numeric_limits<float>::quiet_NaN() : r;
    return x < kInf ? r : (x == kInf ? kInf : x + x);
}
MT_INLINE float log(float x) {
    return log_anywhere(x, [](LogParts p) { return log_of(p); });
}
MT_INLINE float log2(float x) {
    return log_anywhere(x, [](LogParts p) { return log_of(p, kBase2); });
}
MT_INLINE float log10(float x) {
    return log_anywhere(x, [](LogParts p) { return log_of(p, kBase10); });
}
MT_INLINE double log(double x) { return ::log(x); }
MT_INLINE double log2(double x) { return ::log2(x); }
MT_INLINE double log10(double x) { return ::log10(x); }

// |x| < 0.8: odd polynomial; else 1 - 2 / (e^2x + 1).
MT_INLINE float tanh(float x) {
    float a = abs_f(x);
    float z = a * a;
    float q = -5.726437666e-04f;
    q = fma(q, z, 2.854353748e-03f);
    q = fma(q, z, -8.510656655e-03f);
    q = fma(q, z, 2.177303471e-02f);
    q = fma(q, z, -5.395385996e-02f);
    q = fma(q, z, 1.333323121e-01f);
    q = fma(q, z, -3.333333135e-01f);
    float small = fma(a * z, q, a);
    float c = a > 10.0f ? 10.0f : a;
    float large = 1.0f - 2.0f / (exp_inner(c + c) + 1.0f);
    return copysign_f(a < 0.8f ? small : large, x);
}
MT_INLINE double tanh(double x) { return ::tanh(x); }

// |x| < 1: odd polynomial; else 1 - e^-g(x) with g = -log(erfc).
MT_INLINE float erf(float x) {
    float a = abs_f(x);
    float z = a * a;
    float q = 7.933116285e-05f;
    q = fma(q, z, -8.035033825e-04f);
    q = fma(q, z, 5.191292148e-03f);
    q = fma(q, z, -2.685548365e-02f);
    q = fma(q, z, 1.128363013e-01f);
    q = fma(q, z, -3.761263192e-01f);
    float small = fma(a, fma(z, q, 0.128379167f), a);  // 2 / sqrt(pi) - 1: keeps the large part exact
    float c = a > 4.0f ? 4.0f : a;
    float g = 2.149604916e-05f;
    g = fma(g, c, -4.391056427e-04f);
    g = fma(g, c, 4.193607718e-03f);
    g = fma(g, c, -2.517895959e-02f);
    g = fma(g, c, 1.083724648e-01f);
    g = fma(g, c, 6.332626343e-01f);
    g = fma(g, c, 1.129556775e+00f);
    g = fma(g, c, -1.834430877e-04f);
    float large = 1.0f - exp_inner(-g);
    return copysign_f(a < 1.0f ? small : large, x);
}
MT_INLINE double erf(double x) { return ::erf(x); }

// What an odd function with poles at 1 and -1 is there, and where it is not defined.
MT_INLINE float at_edge(float x) {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    return abs_f(x) == 1.0f ? copysign_f(kInf, x) : std::numeric_limits<float>::quiet_NaN();
}

// A polynomial of degree 9, the highest power first: the even and the odd powers apart, so that half as many steps wait
// for each other.
MT_INLINE float polynomial_9(float x, const float (&c)[10]) {
    const float z = x * x;
    const float odd = fma(fma(fma(fma(c[0], z, c[2]), z, c[4]), z, c[6]), z, c[8]);
    const float even = fma(fma(fma(fma(c[1], z, c[3]), z, c[5]), z, c[7]), z, c[9]);
    return fma(odd, x, even);
}

// x times a polynomial of w = -log(1 - x^2), or near the ends of its root less 2: first coefficient and rest, both
// positive. 1 - x^2 is rounded once; of what w loses, a quarter reaches the result.
MT_INLINE float erfinv(float x) {
    constexpr float kInner[] = {-9.638646326e-09f, 2.388338771e-07f,  -2.130783059e-06f, 4.698553767e-06f,
                                4.264729432e-05f,  -1.244812593e-04f, -2.336917212e-03f, 1.154979505e-02f,
                                2.320136279e-01f,  3.298144446e-08f};
    constexpr float kOuter[] = {1.195946897e-04f, -1.399915200e-03f, 6.842719857e-03f,  -1.724636182e-02f,
                                1.950094290e-02f, 1.030190848e-02f,  -7.007007301e-02f, 1.127258316e-01f,
                                9.134230614e-01f, 6.268032093e-09f};
    const float inside = fused(-x, x, 1.0f), w = -log_of(log_parts(inside > 0.0f ? inside : 1.0f));
    const float inner = polynomial_9(w, kInner);
    const float far = w > 4.0f ? w : 4.0f, root = __builtin_sqrtf(far);
    const float lost = fused(-root, root, far) * (0.5f / root);  // of the root
    const float outer = polynomial_9((root - 2.0f) + lost, kOuter);
    const float first = w > 4.0f ? 1.858779073e+00f : 8.862268925e-01f;  // the latter: half of the root of pi
    const float r = fma(x, w > 4.0f ? outer : inner, x * first);
    return inside > 0.0f ? r : at_edge(x);
}

// The normal distribution function less 1/2: an odd rational function, within 2^-22 of the exact value.
MT_INLINE float normal_less_half(float x) {
    float c = x > 5.4f ? 5.4f : x;
    c = c < -5.4f ? -5.4f : c;
    float z = c * c;
    float p = 2.3404309008e-08f;
    p = fma(p, z, 6.3556315569e-06f);
    p = fma(p, z, 1.6394422199e-04f);
    p = fma(p, z, 4.6485964683e-03f);
    p = fma(p, z, 3.3337100125e-02f);
    p = fma(p, z, 3.9894225268e-01f);
    float q = 1.2167708701e-06f;
    q = fma(q, z, 7.2268720633e-05f);
    q = fma(q, z, 1.8568864623e-03f);
    q = fma(q, z, 2.8358289912e-02f);
    q = fma(q, z, 2.5022987188e-01f);
    q = fma(q, z, 1.0f);
    float h = c * p / q;
    return abs_f(x) > 5.4f ? copysign_f(0.5f, x) : h;
}
MT_INLINE double normal_less_half(double x) { return 0.5 * ::erf(x * 0.70710678118654752440); }

// log(1 + x) = log(u) + (x - (u - 1)) / u with u the rounded 1 + x; three terms of the series where x is small.
MT_INLINE float log1p(float x) {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    float u = 1.0f + x;
    float lost = x - (u - 1.0f);
    float r = vec::log(u) + lost / u;
    r = u == 0.0f ? -kInf : r;
    float series = fma(x * x, fma(x, 0.333333333f, -0.5f), x);
    r = abs_f(x) < 2.44140625e-4f ? series : r;
    return x == kInf || x == 0.0f ? x : r;
}
MT_INLINE double log1p(double x) { return ::log1p(x); }

// A float below kTrigonometricLimit less a multiple of pi / 2, as high + low: pi / 2 in three parts, and what the sum
// of the first two products loses is kept.
constexpr float kTrigonometricLimit = 1e6f;
struct Angle {
    float high, low;
    int32_t quarter;
};
MT_INLINE Angle reduce_angle(float x) {
    constexpr float kMagic = 12582912.0f;  // adding it rounds to an integer
    float t = fma(x, 0.636619772f, kMagic);
    float n = t - kMagic;
    float first = fused(n, -1.57079637e+00f, x);  // exact
    float second = n * 4.37113883e-08f;
    float high = first + second, back = high - first;
    float low = (first - (high - back)) + (second - back) + fused(n, 4.37113883e-08f, -second);
    return {high, fused(n, 1.71512489e-15f, low), bits_of(t) - bits_of(kMagic)};
}
// Of an angle within pi / 4 (a little more for large arguments): sine = high + rest, cosine = 1 + rest.
MT_INLINE float sine_rest(Angle a, float z) {
    float q = 2.710515133e-6f;
    q = fma(q, z, -1.9838442035e-4f);
    q = fma(q, z, 8.333326355e-3f);
    q = fma(q, z, -1.6666666613e-1f);
    return fma(a.high * z, q, fma(-0.5f * z, a.low, a.low));
}
MT_INLINE float cosine_rest(Angle a, float z) {
    float q = 2.435487785e-5f;
    q = fma(q, z, -1.3886572459e-3f);
    q = fma(q, z, 4.1666629055e-2f);
    return fma(z, -0.5f, fma(z * z, q, -(a.high * a.low)));
}
template <bool kCosine>
MT_INLINE float sin_or_cos(float x) {
    Angle a = reduce_angle(x);
    float z = a.high * a.high;
    float sine = a.high + sine_rest(a, z), cosine = 1.0f + cosine_rest(a, z);
    int32_t quarter = a.quarter + kCosine;
    float y = quarter & 1 ? cosine : sine;
    y = from_bits(bits_of(y) ^ int32_t(static_cast<uint32_t>(quarter & 2) << 30));
    return !kCosine && x == 0.0f ? x : y;
}
// In double: a quotient of two rounded floats would be off by more than a unit in the last place.
MT_INLINE float tan_near(float value) {
    constexpr double kMagic = 6755399441055744.0;  // adding it rounds to an integer
    double x = value;
    double t = x * 0.63661977236758134308 + kMagic;
    double n = t - kMagic;
    double r = fma(n, -6.07710050650619224932e-11, fma(n, -1.57079632673412561417, x));
    double z = r * r;
    double sine = fma(z, 2.710515133e-6, -1.9838442035e-4);
    sine = fma(z, sine, 8.333326355e-3);
    sine = fma(r * z, fma(z, sine, -1.6666666613e-1), r);
    double cosine = fma(z, -2.7131138258e-7, 2.479845667e-5);
    cosine = fma(z, cosine, -1.3888879249e-3);
    cosine = fma(z, cosine, 4.1666666564e-2);
    cosine = fma(z, fma(z, cosine, -0.5), 1.0);
    int64_t quarter;
    std::memcpy(&quarter, &t, 8);
    double y = (quarter & 1 ? -cosine : sine) / (quarter & 1 ? sine : cosine);
    return value == 0.0f ? value : static_cast<float>(y);
}

// big - (y + rest) for y < big, which does not lose what the larger difference does.
MT_INLINE float less(float big, float y, float rest) {
    float d = big - y;
    return d + (((big - d) - y) - rest);
}

// atan on [0, 1]; above 1 by pi / 2 - atan(1 / x).
MT_INLINE float atan(float x) {
    float a = abs_f(x);
    bool steep = a > 1.0f;
    float y = steep ? 1.0f / a : a;
    float z = y * y;
    float q = -1.7821221728e-3f;
    q = fma(q, z, 1.0866152095e-2f);
    q = fma(q, z, -3.1093273848e-2f);
    q = fma(q, z, 5.7878572689e-2f);
    q = fma(q, z, -8.3991885899e-2f);
    q = fma(q, z, 1.0950854061e-1f);
    q = fma(q, z, -1.4264013006e-1f);
    q = fma(q, z, 1.9998529447e-1f);
    q = fma(q, z, -3.3333298564e-1f);
    float lost = steep ? fused(-y, a, 1.0f) * y * fma(z, -0.5f, 1.0f) : 0.0f;  // by the division
    lost = a < 1e30f ? lost : 0.0f;
    lost = fma(fused(y, y, -z), y * -0.17f, lost);  // by the square: about what it changes in the sum
    float cube = y * z;
    float r = steep ? less(1.57079637f, y, fma(cube, q, lost + 4.37113883e-08f)) : fma(cube, q, y);
    return copysign_f(r, x);
}
MT_INLINE double atan(double x) { return ::atan(x); }

// asin(y) = y + rest for y in [0, 1/2]; beyond that pi / 2 - 2 asin(sqrt((1 - x) / 2)), the root with its rounding
// error.
struct ArcSine {
    float y, rest;
    bool outer;
};
MT_INLINE ArcSine arc_sine(float a) {
    bool outer = a > 0.5f;
    float half = fma(a, -0.5f, 0.5f);
    float z = outer ? half : a * a;
    float root = __builtin_sqrtf(half);
    float y = outer ? root : a;
    float lost = outer && half > 0.0f ? fused(-root, root, half) * 0.5f / root : 0.0f;
    float q = 3.7630106065e-2f;
    q = fma(q, z, 1.4358481965e-2f);
    q = fma(q, z, 3.1828689445e-2f);
    q = fma(q, z, 4.4514468741e-2f);
    q = fma(q, z, 7.5005170228e-2f);
    q = fma(q, z, 1.6666659776e-1f);
    return {y, fma(y * z, q, lost), outer};
}
MT_INLINE float asin(float x) {
    ArcSine s = arc_sine(abs_f(x));
    float r = s.outer ? less(1.57079637f, 2.0f * s.y, 2.0f * s.rest + 4.37113883e-08f) : s.y + s.rest;
    return copysign_f(r, x);
}
MT_INLINE double asin(double x) { return ::asin(x); }
MT_INLINE float acos(float x) {
    ArcSine s = arc_sine(abs_f(x));
    float y = copysign_f(s.y, x), rest = copysign_f(1.0f, x) * s.rest;
    float inner = less(1.57079637f, y, rest + 4.37113883e-08f);
    float near = 2.0f * (s.y + s.rest);
    float far = less(3.14159274f, 2.0f * s.y, 2.0f * s.rest + 8.74227766e-08f);
    return s.outer ? (x > 0.0f ? near : far) : inner;
}
MT_INLINE double acos(double x) { return ::acos(x); }

template <class T>
MT_INLINE T sigmoid(T x) {
    return T(1) / (T(1) + vec::exp(-x));
}

#define MT_THROUGH_DOUBLE(name)                                                                  \
    MT_INLINE float name(float x) { return static_cast<float>(::name(static_cast<double>(x))); } \
    MT_INLINE double name(double x) { return ::name(x); }
MT_THROUGH_DOUBLE(acosh)
MT_THROUGH_DOUBLE(asinh)
MT_THROUGH_DOUBLE(cosh)
MT_THROUGH_DOUBLE(erfc)
MT_THROUGH_DOUBLE(expm1)
MT_THROUGH_DOUBLE(sinh)
#undef MT_THROUGH_DOUBLE
// log((1 + x) / (1 - x)) / 2 in double, rounded once; two terms of the series where x is small. The logarithm is asked
// for numbers only: at 0, infinity and below 0 that of a vector library takes one lane after the other.
MT_INLINE float atanh(float value) {
    const double x = value, series = fma(x * x, x * 0.33333333333333333, x);
    const float a = abs_f(value);
    const double quotient = a < 1.0f ? (1.0 + x) / (1.0 - x) : 1.0;
    const float r = static_cast<float>(a < 1e-3f ? series : 0.5 * ::log(quotient));
    return a < 1.0f ? r : at_edge(value);
}
MT_INLINE double atanh(double x) { return ::atanh(x); }
MT_INLINE double cos(double x) { return ::cos(x); }
MT_INLINE double sin(double x) { return ::sin(x); }
MT_INLINE double tan(double x) { return ::tan(x); }

MT_INLINE float atan2(float y, float x) { return static_cast<float>(::atan2(double(y), double(x))); }
MT_INLINE double atan2(double y, double x) { return ::atan2(y, x); }
// The power of |x|; sign and NaN of a negative base are set after it, for the vector library is slow on them.
MT_INLINE double pow(double x, double y) {
    double r = ::pow(__builtin_fabs(x), y);
    bool whole = __builtin_floor(y) == y;
    bool odd = whole && __builtin_floor(y * 0.5) != y * 0.5;
    double finite_negative =
        x < 0 && !whole && x > -std::numeric_limits<double>::infinity() ? std::numeric_limits<double>::quiet_NaN() : r;
    return odd ? __builtin_copysign(r, x) : finite_negative;
}
// 2^(y log2 |x|) in double, log2 to 2^-37 and the power to 2^-34 of their size: rounded once.
MT_INLINE float pow(float x, float y) {
    constexpr double kMagic = 6755399441055744.0;       // adding it rounds to an integer
    constexpr uint64_t kRootBits = 0x3fe6a09e667f3bcd;  // sqrt(1/2): mantissa in [sqrt(1/2), sqrt(2))
    double a = abs_f(x);
    int64_t bits;
    std::memcpy(&bits, &a, 8);
    uint64_t shifted = static_cast<uint64_t>(bits) - kRootBits + (uint64_t(1024) << 52);
    int64_t exponent = static_cast<int64_t>(shifted >> 52) - 1024;
    uint64_t mantissa_bits = static_cast<uint64_t>(bits) - (static_cast<uint64_t>(exponent) << 52);
    double m, e;
    std::memcpy(&m, &mantissa_bits, 8);
    int64_t e_bits = exponent + 0x4338000000000000;
    std::memcpy(&e, &e_bits, 8);
    e -= kMagic;
    double s = (m - 1) / (m + 1), z = s * s;
    double q = 0.34072801388;
    q = fma(q, z, 0.41167282655);
    q = fma(q, z, 0.57708358328);
    q = fma(q, z, 0.96179667335);
    q = fma(q, z, 2.8853900818);
    double l = fma(s, q, e);
    l = x == 0 ? -1e300 : l;
    l = a < std::numeric_limits<double>::infinity() ? l : a * 1e300;
    double t = l * double(y);
    t = t > 200 ? 200 : t;
    t = t < -200 ? -200 : t;
    double n = t + kMagic;
    double r = t - (n - kMagic);
    double p = 1.5196173107e-5;
    p = fma(p, r, 1.5466737962e-4);
    p = fma(p, r, 1.3333934779e-3);
    p = fma(p, r, 9.6180381995e-3);
    p = fma(p, r, 5.5504103668e-2);
    p = fma(p, r, 2.4022651066e-1);
    p = fma(p, r, 0.6931471807);
    p = fma(p, r, 1);
    uint64_t n_bits, p_bits;
    std::memcpy(&n_bits, &n, 8);
    std::memcpy(&p_bits, &p, 8);
    p_bits += n_bits << 52;
    std::memcpy(&p, &p_bits, 8);
    p = t == t ? p : t;
    float power = static_cast<float>(p);
    constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
    float half_y = y * 0.5f;
    bool whole = __builtin_floorf(y) == y;
    bool odd = whole & (__builtin_floorf(half_y) != half_y);
    power = (x < 0) & (x > -kInf) & !whole ? kNan : power;
    power = odd ? copysign_f(power, x) : power;
    bool one = (y == 0) | (x == 1) | ((x == -1) & (abs_f(y) == kInf));
    return one ? 1.0f : power;
}
MT_INLINE float sqrt(float x) { return __builtin_sqrtf(x); }
MT_INLINE double sqrt(double x) { return __builtin_sqrt(x); }

// log(1 + e^x) for any x, without overflow.
MT_INLINE float softplus(float x) { return vec::max(x, 0.0f) + vec::log1p(vec::exp(-abs_f(x))); }
MT_INLINE double softplus(double x) { return vec::max(x, 0.0) + ::log1p(::exp(-__builtin_fabs(x))); }

}  // namespace mt::vec
