// Elementary functions for kernels' inner loops: no branches, so that g++ turns a loop over them into vector code.
//
// float: exp, log, tanh, erf, sigmoid have their own polynomials (within 1 ulp); the others run in double and are
// rounded once. double: glibc's vector library (libmvec, within 4 ulp, most within 2), which g++ calls because the
// scalar functions are declared `simd` here. Coefficients are our own minimax fits (weighted least squares iterated to
// equal ripple).
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
#ifdef __FMA__
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}
MT_INLINE double fma(double a, double b, double c) {
#ifdef __FMA__
    return __builtin_fma(a, b, c);
#else
    return a * b + c;
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
    float p;    // e^r
    int32_t n;  // power of two
};
MT_INLINE ExpParts exp_parts(float x) {
    constexpr float kMagic = 12582912.0f;  // adding it rounds to an integer
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
    return {fma(r * r, q, r) + 1.0f, bits_of(t) - bits_of(kMagic)};
}
MT_INLINE float exp(float x) {
    float c = x > 89.0f ? 89.0f : x;  // written so that NaN passes through
    c = c < -104.0f ? -104.0f : c;
    ExpParts e = exp_parts(c);
    int32_t half = e.n >> 1;  // in two factors: 2^-150 and 2^128 are no floats
    return e.p * from_bits((half + 127) << 23) * from_bits((e.n - half + 127) << 23);
}
// For arguments known to lie in [-87, 88]: one factor suffices.
MT_INLINE float exp_inner(float x) {
    ExpParts e = exp_parts(x);
    return from_bits(bits_of(e.p) + (e.n << 23));
}
MT_INLINE double exp(double x) { return ::exp(x); }

MT_INLINE float log(float x) {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    bool tiny = x < 1.17549435e-38f;
    float y = tiny ? x * 8388608.0f : x;  // subnormals get an exponent
    int32_t b = bits_of(y) - 0x3f3504f3;  // sqrt(1/2): mantissa in [sqrt(1/2), sqrt(2))
    float e = static_cast<float>((b >> 23) - (tiny ? 23 : 0));
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
    float z = f * f;
    float low = fma(e, 1.42860682030941723e-6f, z * f * q);
    low = fma(z, -0.5f, low);
    float r = fma(e, 0.693145751953125f, f + low);
    r = x == 0.0f ? -kInf : r;
    r = x < 0.0f ? std::numeric_limits<float>::quiet_NaN() : r;
    return x < kInf ? r : (x == kInf ? kInf : x + x);
}
MT_INLINE double log(double x) { return ::log(x); }

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

// Sine and cosine of a float below kTrigonometricLimit: reduced by multiples of pi / 2 and summed in double.
constexpr float kTrigonometricLimit = 1e6f;
template <bool kCosine>
MT_INLINE float sin_or_cos(float value) {
    constexpr double kMagic = 6755399441055744.0;  // adding it rounds to an integer
    double x = value;
    double t = x * 0.63661977236758134308 + kMagic;
    double n = t - kMagic;
    double r = (x - n * 1.57079632673412561417) - n * 6.07710050650619224932e-11;
    double z = r * r;
    double sine = r + r * z * (-1.0 / 6 + z * (1.0 / 120 + z * (-1.0 / 5040 + z * (1.0 / 362880))));
    double cosine = 1 + z * (-0.5 + z * (1.0 / 24 + z * (-1.0 / 720 + z * (1.0 / 40320 - z * (1.0 / 3628800)))));
    int64_t quarter;
    std::memcpy(&quarter, &t, 8);
    quarter += kCosine;
    double y = quarter & 1 ? cosine : sine;
    return static_cast<float>(quarter & 2 ? -y : y);
}

template <class T>
MT_INLINE T sigmoid(T x) {
    return T(1) / (T(1) + vec::exp(-x));
}

#define MT_THROUGH_DOUBLE(name)                                                                  \
    MT_INLINE float name(float x) { return static_cast<float>(::name(static_cast<double>(x))); } \
    MT_INLINE double name(double x) { return ::name(x); }
MT_THROUGH_DOUBLE(acos)
MT_THROUGH_DOUBLE(acosh)
MT_THROUGH_DOUBLE(asin)
MT_THROUGH_DOUBLE(asinh)
MT_THROUGH_DOUBLE(atan)
MT_THROUGH_DOUBLE(atanh)
MT_THROUGH_DOUBLE(cos)
MT_THROUGH_DOUBLE(cosh)
MT_THROUGH_DOUBLE(erfc)
MT_THROUGH_DOUBLE(exp2)
MT_THROUGH_DOUBLE(expm1)
MT_THROUGH_DOUBLE(log10)
MT_THROUGH_DOUBLE(log2)
MT_THROUGH_DOUBLE(sin)
MT_THROUGH_DOUBLE(sinh)
MT_THROUGH_DOUBLE(tan)
#undef MT_THROUGH_DOUBLE

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
MT_INLINE float pow(float x, float y) { return static_cast<float>(vec::pow(double(x), double(y))); }
MT_INLINE float sqrt(float x) { return __builtin_sqrtf(x); }
MT_INLINE double sqrt(double x) { return __builtin_sqrt(x); }

// log(1 + e^x) for any x, without overflow.
MT_INLINE float softplus(float x) { return vec::max(x, 0.0f) + vec::log1p(vec::exp(-abs_f(x))); }
MT_INLINE double softplus(double x) { return vec::max(x, 0.0) + ::log1p(::exp(-__builtin_fabs(x))); }

}  // namespace mt::vec
