// CUDA's functions of real numbers, for float and double. What the host's C library has is declared here, not included:
// its headers would take most of the time of compiling a kernel.
#pragma once

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define HUGE_VAL __builtin_huge_val()
#define HUGE_VALF __builtin_huge_valf()
#define M_PI 3.14159265358979323846
#define M_SQRT2 1.41421356237309504880
#define M_E 2.71828182845904523536
#define CUDART_PI 3.14159265358979323846
#define CUDART_PI_F 3.14159265358979323846f
#define CUDART_INF __builtin_inf()
#define CUDART_INF_F __builtin_inff()
#define CUDART_NAN __builtin_nan("")
#define CUDART_NAN_F __builtin_nanf("")

extern "C" int printf(const char*, ...);

// The function for double, that for float, and the double's name for float too.
#define EMULATED_1(name)                                     \
    extern "C" double name(double) noexcept;                 \
    extern "C" float name##f(float) noexcept;                \
    static inline float name(float x) { return name##f(x); } \
    static_assert(true, "")
#define EMULATED_2(name)                                                 \
    extern "C" double name(double, double) noexcept;                     \
    extern "C" float name##f(float, float) noexcept;                     \
    static inline float name(float x, float y) { return name##f(x, y); } \
    static_assert(true, "")
EMULATED_1(acos);
EMULATED_1(acosh);
EMULATED_1(asin);
EMULATED_1(asinh);
EMULATED_1(atan);
EMULATED_1(atanh);
EMULATED_1(cbrt);
EMULATED_1(ceil);
EMULATED_1(cos);
EMULATED_1(cosh);
EMULATED_1(erf);
EMULATED_1(erfc);
EMULATED_1(exp);
EMULATED_1(exp2);
EMULATED_1(expm1);
EMULATED_1(fabs);
EMULATED_1(floor);
EMULATED_1(j0);
EMULATED_1(j1);
EMULATED_1(log);
EMULATED_1(log10);
EMULATED_1(log1p);
EMULATED_1(log2);
EMULATED_1(logb);
EMULATED_1(nearbyint);
EMULATED_1(rint);
EMULATED_1(round);
EMULATED_1(sin);
EMULATED_1(sinh);
EMULATED_1(sqrt);
EMULATED_1(tan);
EMULATED_1(tanh);
EMULATED_1(tgamma);
EMULATED_1(trunc);
EMULATED_1(y0);
EMULATED_1(y1);
EMULATED_2(atan2);
EMULATED_2(copysign);
EMULATED_2(fdim);
EMULATED_2(fmax);
EMULATED_2(fmin);
EMULATED_2(fmod);
EMULATED_2(hypot);
EMULATED_2(nextafter);
EMULATED_2(pow);
EMULATED_2(remainder);
#undef EMULATED_1
#undef EMULATED_2

extern "C" double lgamma_r(double, int*) noexcept;
extern "C" float lgammaf_r(float, int*) noexcept;
extern "C" double fma(double, double, double) noexcept;
extern "C" float fmaf(float, float, float) noexcept;
extern "C" double ldexp(double, int) noexcept;
extern "C" float ldexpf(float, int) noexcept;
extern "C" double frexp(double, int*) noexcept;
extern "C" float frexpf(float, int*) noexcept;
extern "C" double modf(double, double*) noexcept;
extern "C" float modff(float, float*) noexcept;
extern "C" double remquo(double, double, int*) noexcept;
extern "C" float remquof(float, float, int*) noexcept;
extern "C" int ilogb(double) noexcept;
extern "C" int ilogbf(float) noexcept;
extern "C" long lrint(double) noexcept;
extern "C" long lrintf(float) noexcept;
extern "C" long long llrint(double) noexcept;
extern "C" long long llrintf(float) noexcept;
extern "C" long lround(double) noexcept;
extern "C" long lroundf(float) noexcept;
extern "C" long long llround(double) noexcept;
extern "C" long long llroundf(float) noexcept;
extern "C" int abs(int) noexcept;
extern "C" long labs(long) noexcept;
extern "C" long long llabs(long long) noexcept;
extern "C" double jn(int, double) noexcept;
extern "C" double yn(int, double) noexcept;
// The library's own keeps the sign in a variable that all threads share.
static inline double lgamma(double x) {
    int sign;
    return lgamma_r(x, &sign);
}
static inline float lgammaf(float x) {
    int sign;
    return lgammaf_r(x, &sign);
}
static inline float lgamma(float x) { return lgammaf(x); }
static inline float fma(float a, float b, float c) { return fmaf(a, b, c); }
static inline float ldexp(float x, int n) { return ldexpf(x, n); }
static inline double scalbn(double x, int n) { return ldexp(x, n); }
static inline float scalbnf(float x, int n) { return ldexpf(x, n); }
static inline float scalbn(float x, int n) { return ldexpf(x, n); }
static inline float frexp(float x, int* n) { return frexpf(x, n); }
static inline float modf(float x, float* n) { return modff(x, n); }
static inline float remquo(float x, float y, int* n) { return remquof(x, y, n); }
static inline int ilogb(float x) { return ilogbf(x); }
static inline long lrint(float x) { return lrintf(x); }
static inline long long llrint(float x) { return llrintf(x); }
static inline long lround(float x) { return lroundf(x); }
static inline long long llround(float x) { return llroundf(x); }
static inline long abs(long x) { return labs(x); }
static inline long long abs(long long x) { return llabs(x); }
static inline float abs(float x) { return __builtin_fabsf(x); }
static inline double abs(double x) { return __builtin_fabs(x); }

// A macro of a header that was included before must not take their place.
#undef isnan
#undef isinf
#undef isfinite
#undef signbit
#define EMULATED_TEST(name)                                          \
    static inline bool name(float x) { return __builtin_##name(x); } \
    static inline bool name(double x) { return __builtin_##name(x); }
EMULATED_TEST(isnan)
EMULATED_TEST(isinf)
EMULATED_TEST(isfinite)
EMULATED_TEST(signbit)
#undef EMULATED_TEST

// min and max of numbers of different types, as CUDA's overloads: of floating ones, the one that is a number.
template <class T>
struct emulated_kind {
    static const bool floating = false, is_signed = (T)-1 < (T)0;
};
template <>
struct emulated_kind<float> {
    static const bool floating = true, is_signed = true;
};
template <>
struct emulated_kind<double> {
    static const bool floating = true, is_signed = true;
};
template <class A, class B>
static inline auto min(A a, B b) {
    using T = decltype(a + b);
    T x = (T)a, y = (T)b;
    if constexpr (emulated_kind<T>::floating)
        return x != x ? y : y != y ? x : y < x ? y : x;
    else
        return y < x ? y : x;
}
template <class A, class B>
static inline auto max(A a, B b) {
    using T = decltype(a + b);
    T x = (T)a, y = (T)b;
    if constexpr (emulated_kind<T>::floating)
        return x != x ? y : y != y ? x : x < y ? y : x;
    else
        return x < y ? y : x;
}

static inline float rsqrtf(float x) { return (float)(1.0 / sqrt((double)x)); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
static inline float rsqrt(float x) { return rsqrtf(x); }
static inline double rcbrt(double x) { return 1.0 / cbrt(x); }
static inline float rcbrtf(float x) { return (float)(1.0 / cbrt((double)x)); }
static inline float fdividef(float a, float b) { return a / b; }
static inline float __fdividef(float a, float b) { return a / b; }
static inline float __expf(float x) { return expf(x); }
static inline float __exp10f(float x) { return powf(10.0f, x); }
static inline double exp10(double x) { return pow(10.0, x); }
static inline float exp10f(float x) { return (float)pow(10.0, (double)x); }
static inline float exp10(float x) { return exp10f(x); }
static inline float __logf(float x) { return logf(x); }
static inline float __log2f(float x) { return log2f(x); }
static inline float __log10f(float x) { return log10f(x); }
static inline float __sinf(float x) { return sinf(x); }
static inline float __cosf(float x) { return cosf(x); }
static inline float __tanf(float x) { return tanf(x); }
static inline float __powf(float x, float y) { return powf(x, y); }
static inline float __saturatef(float x) { return x != x ? 0.0f : x < 0 ? 0.0f : x > 1 ? 1.0f : x; }
static inline float saturate(float x) { return __saturatef(x); }
static inline float __frcp_rn(float x) { return 1.0f / x; }
static inline double __drcp_rn(double x) { return 1.0 / x; }
static inline float __fsqrt_rn(float x) { return sqrtf(x); }
static inline double __dsqrt_rn(double x) { return sqrt(x); }
static inline float __frsqrt_rn(float x) { return rsqrtf(x); }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
// Never contracted into one operation with what stands beside them.
#define EMULATED_ROUNDED(name, type, operation) \
    static inline type name(type a, type b) {   \
        volatile type result = a operation b;   \
        return result;                          \
    }
EMULATED_ROUNDED(__fadd_rn, float, +)
EMULATED_ROUNDED(__fsub_rn, float, -)
EMULATED_ROUNDED(__fmul_rn, float, *)
EMULATED_ROUNDED(__fdiv_rn, float, /)
EMULATED_ROUNDED(__dadd_rn, double, +)
EMULATED_ROUNDED(__dsub_rn, double, -)
EMULATED_ROUNDED(__dmul_rn, double, *)
EMULATED_ROUNDED(__ddiv_rn, double, /)
#undef EMULATED_ROUNDED

static inline void sincos(double x, double* s, double* c) { *s = sin(x), *c = cos(x); }
static inline void sincosf(float x, float* s, float* c) { *s = sinf(x), *c = cosf(x); }
static inline void sincos(float x, float* s, float* c) { sincosf(x, s, c); }
static inline void __sincosf(float x, float* s, float* c) { sincosf(x, s, c); }
// The argument in halves of a turn, first reduced exactly.
static inline double sinpi(double x) {
    double r = remainder(x, 2.0);
    if (r == 0 || r == 1 || r == -1) return copysign(0.0, x);
    return r > 0.5 ? sin(M_PI * (1 - r)) : r < -0.5 ? -sin(M_PI * (1 + r)) : sin(M_PI * r);
}
static inline double cospi(double x) {
    double r = fabs(remainder(x, 2.0));
    return r == 0.5 ? 0.0 : r < 0.25 ? cos(M_PI * r) : r < 0.75 ? sin(M_PI * (0.5 - r)) : -cos(M_PI * (1 - r));
}
static inline float sinpif(float x) { return (float)sinpi((double)x); }
static inline float cospif(float x) { return (float)cospi((double)x); }
static inline float sinpi(float x) { return sinpif(x); }
static inline float cospi(float x) { return cospif(x); }
static inline void sincospi(double x, double* s, double* c) { *s = sinpi(x), *c = cospi(x); }
static inline void sincospif(float x, float* s, float* c) { *s = sinpif(x), *c = cospif(x); }
static inline double rhypot(double x, double y) { return 1.0 / hypot(x, y); }
static inline float rhypotf(float x, float y) { return (float)rhypot((double)x, (double)y); }
static inline double norm3d(double a, double b, double c) { return hypot(hypot(a, b), c); }
static inline float norm3df(float a, float b, float c) { return (float)norm3d(a, b, c); }
static inline float jnf(int n, float x) { return (float)jn(n, (double)x); }
static inline float ynf(int n, float x) { return (float)yn(n, (double)x); }

// The x with erfc(x) = y. A first guess from the tail's leading term, then steps of Halley's method on log(erfc), which
// is smooth down to the smallest numbers.
static inline double erfcinv(double y) {
    if (!(y >= 0 && y <= 2)) return __builtin_nan("");
    if (y == 0) return __builtin_inf();
    if (y == 2) return -__builtin_inf();
    if (y > 1) return -erfcinv(2 - y);
    double x;
    if (y > 0.5) {
        double t = (1 - y) * 0.88622692545275801;  // sqrt(pi) / 2
        x = t * (1 + t * t / 3);
    } else {
        double t = sqrt(-log(y * 1.7724538509055161 * sqrt(-log(y))));
        x = t > 0 ? t : 0.5;
    }
    for (int i = 0; i < 12; i++) {
        double value = erfc(x);
        if (value == 0) {
            x *= 0.99;
            continue;
        }
        double slope = -1.1283791670955126 * exp(-x * x);  // of erfc
        double f = y > 0.5 ? (value - y) / slope : log(value / y) * value / slope;
        // f'' / f' of erfc is -2 x; of its logarithm that less the first derivative.
        double bend = y > 0.5 ? -2 * x : -2 * x - slope / value;
        double step = f / (1 - 0.5 * f * bend);
        x -= step;
        if (fabs(step) <= 1e-16 * fabs(x)) break;
    }
    return x;
}
static inline double erfinv(double y) {
    if (!(y >= -1 && y <= 1)) return __builtin_nan("");
    if (y == 0) return y;
    if (y < 0) return -erfinv(-y);
    if (y == 1) return __builtin_inf();
    if (y > 0.5) return erfcinv(1 - y);
    double t = y * 0.88622692545275801, x = t * (1 + t * t / 3);
    for (int i = 0; i < 8; i++) {
        double f = (erf(x) - y) / (1.1283791670955126 * exp(-x * x));
        double step = f / (1 + f * x);
        x -= step;
        if (fabs(step) <= 1e-16 * fabs(x)) break;
    }
    return x;
}
static inline double normcdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }
static inline double normcdfinv(double p) { return -M_SQRT2 * erfcinv(2 * p); }
static inline float erfinvf(float x) { return (float)erfinv((double)x); }
static inline float erfcinvf(float x) { return (float)erfcinv((double)x); }
static inline float normcdff(float x) { return (float)normcdf((double)x); }
static inline float normcdfinvf(float x) { return (float)normcdfinv((double)x); }
static inline float erfinv(float x) { return erfinvf(x); }
static inline float erfcinv(float x) { return erfcinvf(x); }
static inline float normcdf(float x) { return normcdff(x); }
static inline float normcdfinv(float x) { return normcdfinvf(x); }
// exp(x^2) erfc(x): from 26 on erfc is too small, and its continued fraction is short.
static inline double erfcx(double x) {
    if (x < 25) return exp(x * x) * erfc(x);
    double f = 0;
    for (int i = 40; i > 0; i--) f = 0.5 * i / (x + f);
    return 0.56418958354775629 / (x + f);
}
static inline float erfcxf(float x) { return (float)erfcx((double)x); }
static inline float erfcx(float x) { return erfcxf(x); }

// Bessel functions of an imaginary argument: the series, and for large arguments the asymptotic one.
static inline double emulated_bessel_i(int order, double x) {
    double a = fabs(x), sign = order && x < 0 ? -1 : 1;
    if (a != a) return a;
    if (a < 30) {
        double quarter = a * a / 4, term = order ? a / 2 : 1, sum = term;
        for (int k = 1; k < 200 && term > sum * 1e-17; k++) {
            term *= quarter / ((double)k * (k + order));
            sum += term;
        }
        return sign * sum;
    }
    double term = 1, sum = 1, mu = 4.0 * order * order;
    for (int k = 1; k < 60; k++) {
        double next = term * -(mu - (2.0 * k - 1) * (2.0 * k - 1)) / (k * 8.0 * a);
        if (fabs(next) >= fabs(term)) break;
        term = next;
        sum += term;
        if (fabs(term) < 1e-17) break;
    }
    double half = exp(a / 2);  // exp(a) alone is infinite before the result is
    return sign * half * (sum / sqrt(2 * M_PI * a)) * half;
}
static inline double cyl_bessel_i0(double x) { return emulated_bessel_i(0, x); }
static inline double cyl_bessel_i1(double x) { return emulated_bessel_i(1, x); }
static inline float cyl_bessel_i0f(float x) { return (float)cyl_bessel_i0((double)x); }
static inline float cyl_bessel_i1f(float x) { return (float)cyl_bessel_i1((double)x); }
static inline float cyl_bessel_i0(float x) { return cyl_bessel_i0f(x); }
static inline float cyl_bessel_i1(float x) { return cyl_bessel_i1f(x); }
