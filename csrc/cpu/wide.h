// Elementary functions on whole AVX-512 registers, for float and double from the same text: they use what plain loops
// cannot express, table look-up in registers and instructions that split and scale floating-point numbers, so that
// every argument (infinite, NaN, subnormal) takes the same path. Within 0.6 ulp unless a function says otherwise.
// Coefficients are our own minimax fits; tables are computed by the compiler.
#pragma once

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include <immintrin.h>

#include <cmath>
#include <type_traits>

namespace mt::wide {

#define MT_WIDE inline __attribute__((always_inline))

typedef float Float __attribute__((vector_size(64)));
typedef double Double __attribute__((vector_size(64)));

MT_WIDE Float fma(Float a, Float b, Float c) { return Float(_mm512_fmadd_ps(__m512(a), __m512(b), __m512(c))); }
MT_WIDE Double fma(Double a, Double b, Double c) { return Double(_mm512_fmadd_pd(__m512d(a), __m512d(b), __m512d(c))); }
// p 2^floor(n), rounded once.
MT_WIDE Float scale(Float p, Float n) { return Float(_mm512_maskz_scalef_ps(0xffff, __m512(p), __m512(n))); }
MT_WIDE Double scale(Double p, Double n) { return Double(_mm512_maskz_scalef_pd(0xff, __m512d(p), __m512d(n))); }
// x = 2^exponent mantissa with the mantissa in [0.75, 1.5); infinity is 2^infinity, zero 2^-infinity, both times 1.
MT_WIDE Float mantissa(Float x) {
    return Float(_mm512_maskz_getmant_ps(0xffff, __m512(x), _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan));
}
MT_WIDE Double mantissa(Double x) {
    return Double(_mm512_maskz_getmant_pd(0xff, __m512d(x), _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan));
}
MT_WIDE Float exponent(Float x, Float m) {
    __m512 e = _mm512_maskz_getexp_ps(0xffff, __m512(x)), one = _mm512_set1_ps(1);
    return Float(_mm512_mask_add_ps(e, _mm512_cmp_ps_mask(__m512(m), one, _CMP_LT_OQ), e, one));
}
MT_WIDE Double exponent(Double x, Double m) {
    __m512d e = _mm512_maskz_getexp_pd(0xff, __m512d(x)), one = _mm512_set1_pd(1);
    return Double(_mm512_mask_add_pd(e, _mm512_cmp_pd_mask(__m512d(m), one, _CMP_LT_OQ), e, one));
}
// high + low, or high alone where that is not finite.
MT_WIDE Float add_to_finite(Float high, Float low) {
    return Float(_mm512_mask_mov_ps(__m512(high + low), _mm512_fpclass_ps_mask(__m512(high), 0x99), __m512(high)));
}
MT_WIDE Double add_to_finite(Double high, Double low) {
    return Double(_mm512_mask_mov_pd(__m512d(high + low), _mm512_fpclass_pd_mask(__m512d(high), 0x99), __m512d(high)));
}
// 1 / x to 14 bits.
MT_WIDE Float rough_reciprocal(Float x) { return Float(_mm512_maskz_rcp14_ps(0xffff, __m512(x))); }
MT_WIDE Double rough_reciprocal(Double x) { return Double(_mm512_maskz_rcp14_pd(0xff, __m512d(x))); }

template <class V>
using Scalar = std::remove_cvref_t<decltype(V{}[0])>;
template <class V>
MT_WIDE V splat(double x) {
    return V{} + static_cast<Scalar<V>>(x);
}
// NaN passes through.
MT_WIDE Float at_most(Float x, double limit) {
    return Float(_mm512_maskz_min_ps(0xffff, __m512(splat<Float>(limit)), __m512(x)));
}
MT_WIDE Float at_least(Float x, double limit) {
    return Float(_mm512_maskz_max_ps(0xffff, __m512(splat<Float>(limit)), __m512(x)));
}
MT_WIDE Double at_most(Double x, double limit) {
    return Double(_mm512_maskz_min_pd(0xff, __m512d(splat<Double>(limit)), __m512d(x)));
}
MT_WIDE Double at_least(Double x, double limit) {
    return Double(_mm512_maskz_max_pd(0xff, __m512d(splat<Double>(limit)), __m512d(x)));
}
template <class V>
MT_WIDE V abs(V x) {
    return V(__m512i(x) & ~__m512i(-V{}));
}
template <class V>
MT_WIDE V with_sign(V magnitude, V sign) {
    return V(_mm512_ternarylogic_epi64(__m512i(-V{}), __m512i(magnitude), __m512i(sign), 0xac));
}
// With the other sign where that of `sign` is negative.
template <class V>
MT_WIDE V flipped(V x, V sign) {
    return V(_mm512_ternarylogic_epi64(__m512i(x), __m512i(-V{}), __m512i(sign), 0x78));
}
// The polynomial with these coefficients, the highest power first.
template <class V, class... C>
MT_WIDE V poly(V x, double first, C... rest) {
    V y = splat<V>(first);
    ((y = fma(y, x, splat<V>(rest))), ...);
    return y;
}

// Sixteen numbers, each in two parts.
template <class T>
struct Table {
    alignas(64) T high[16], low[16];
};
// Chosen by the lowest four bits of `index`.
MT_WIDE Float pick(const float* t, __m512i index) {
    return Float(_mm512_maskz_permutexvar_ps(0xffff, index, _mm512_load_ps(t)));
}
MT_WIDE Double pick(const double* t, __m512i index) {
    return Double(_mm512_permutex2var_pd(_mm512_load_pd(t), index, _mm512_load_pd(t + 8)));
}

// 2^(j / 16)
template <class T>
constexpr Table<T> kRoots = [] {
    Table<T> t{};
    for (int j = 0; j < 16; j++) {
        long double x = __builtin_exp2l(j / 16.0L);
        t.high[j] = static_cast<T>(x);
        t.low[j] = static_cast<T>(x - t.high[j]);
    }
    return t;
}();
template <class V>
constexpr double kSixteenths =
    sizeof(Scalar<V>) == 4 ? 786432.0 : 422212465065984.0;  // adding it rounds to a sixteenth

// e^x = 2^floor(n) (high + low) (1 + s + s_low)
template <class V>
struct Power {
    V n, high, low, s, s_low;
};
// `kSmall`: s keeps its relative precision where x is small and s nearly all of it.
template <bool kSmall = false, class V>
MT_WIDE Power<V> power_of(V x) {
    constexpr bool kFloat = sizeof(Scalar<V>) == 4;
    V magic = splat<V>(kSixteenths<V>);
    V t = fma(x, splat<V>(1.44269504088896340736), magic);
    V n = t - magic;
    constexpr long double kLn2 = 0.693147180559945309417232121458176568L;
    constexpr double high = kFloat ? double(float(kLn2)) : double(kLn2);
    V low = splat<V>(static_cast<double>(high - kLn2)), left = fma(n, splat<V>(-high), x), r = fma(n, low, left), q;
    if constexpr (kFloat && kSmall)
        q = poly(r, 0.04166757819, 0.1666699092, 0.5);
    else if constexpr (kFloat)
        q = poly(r, 0.1666702533, 0.5000160072);
    else if constexpr (kSmall)
        q = poly(r, 0.000198415418721766742, 0.00138890928165738293, 0.00833333333250315698, 0.0416666666618773674,
                 0.166666666666666741, 0.5);
    else
        q = poly(r, 0.00138891323273225341, 0.00833347202827649598, 0.0416666666594453546, 0.166666666644142299, 0.5);
    const auto& roots = kRoots<Scalar<V>>;
    V square = r * r, s = fma(square, q, r);
    V s_low = fma(square, q, r - s) + fma(n, low, left - r);
    return {n, pick(roots.high, __m512i(t)), pick(roots.low, __m512i(t)), s, s_low};
}
template <class V>
MT_WIDE V exp(V x) {
    constexpr bool kFloat = sizeof(Scalar<V>) == 4;
    Power<V> p = power_of(at_least(at_most(x, kFloat ? 89 : 710), kFloat ? -104 : -746));
    return scale(p.high + fma(p.high, p.s, p.low), p.n);
}

// For each sixteenth of the mantissas, in [0.75, 1.5): a short number near 1 / m, and minus its logarithm, of which the
// first part has few bits, so that it can be added to a multiple of `Base::two` exactly.
template <class T>
constexpr T shortened(long double x) {
    constexpr long double unit = sizeof(T) == 4 ? 0x1p-15L : 0x1p-41L;
    return static_cast<T>(__builtin_roundl(x / unit) * unit);
}
constexpr long double near_reciprocal(int j) {
    long double middle = j < 8 ? 1 + (j + 0.5L) / 16 : 0.5L + (j + 0.5L) / 32;
    return j == 0 || j == 15 ? 1 : __builtin_roundl(32 / middle) / 32;
}
struct Natural {
    static constexpr long double factor = 1;
};
struct Binary {
    static constexpr long double factor = 1.44269504088896340735992468100189214L;
};
struct Decimal {
    static constexpr long double factor = 0.434294481903251827651128918916605082L;
};
template <class T>
constexpr Table<T> kReciprocals = [] {
    Table<T> t{};
    for (int j = 0; j < 16; j++) t.high[j] = static_cast<T>(near_reciprocal(j));
    return t;
}();
template <class T, class Base>
constexpr Table<T> kLogarithms = [] {
    Table<T> t{};
    for (int j = 0; j < 16; j++) {
        long double x = -__builtin_logl(near_reciprocal(j)) * Base::factor;
        t.high[j] = shortened<T>(x);
        t.low[j] = static_cast<T>(x - t.high[j]);
    }
    return t;
}();
template <class Base, class V>
MT_WIDE V log_to(V x) {
    using T = Scalar<V>;
    constexpr bool kFloat = sizeof(T) == 4;
    V m = mantissa(x), e = exponent(x, m);
    __m512i j =
        kFloat ? _mm512_maskz_srli_epi32(0xffff, __m512i(m), 19) : _mm512_maskz_srli_epi64(0xff, __m512i(m), 48);
    V z = fma(m, pick(kReciprocals<T>.high, j), splat<V>(-1));
    V q;
    if constexpr (kFloat)
        q = poly(z, -0.1608251312, 0.2004831697, -0.250016133, 0.3333329412, -0.5);
    else
        q = poly(z, 0.0848032366684604884, -0.10041629155728654, 0.111147557865625329, -0.124999301085082853,
                 0.142857069314858778, -0.166666667125605684, 0.200000000058725929, -0.249999999999890835,
                 0.33333333333331866, -0.5);
    constexpr long double two = 0.693147180559945309417232121458176568L * Base::factor;
    constexpr T two_high = shortened<T>(two), factor = static_cast<T>(Base::factor);
    V whole = fma(e, splat<V>(two_high), pick(kLogarithms<T, Base>.high, j));
    V high = fma(z, splat<V>(factor), whole);
    V low = fma(z, splat<V>(factor), whole - high);  // what that rounding lost
    V rest = fma(e, splat<V>(static_cast<double>(two - two_high)), pick(kLogarithms<T, Base>.low, j));
    if constexpr (Base::factor != 1) rest = fma(z, splat<V>(static_cast<double>(Base::factor - factor)), rest);
    rest = Base::factor == 1 ? fma(z * z, q, rest) : fma(z * z * splat<V>(factor), q, rest);
    return add_to_finite(high, low + rest);
}
template <class V>
MT_WIDE V log(V x) {
    return log_to<Natural>(x);
}
template <class V>
MT_WIDE V log2(V x) {
    return log_to<Binary>(x);
}
template <class V>
MT_WIDE V log10(V x) {
    return log_to<Decimal>(x);
}

// 1 / x, its error squared once or, for double, twice.
template <class V>
MT_WIDE V reciprocal(V x) {
    V r = rough_reciprocal(x);
    r = fma(r, fma(-x, r, splat<V>(1)), r);
    if constexpr (sizeof(Scalar<V>) == 8) r = fma(r, fma(-x, r, splat<V>(1)), r);
    return r;
}

// y where the mask has a bit, x elsewhere.
MT_WIDE Float select(__mmask16 mask, Float y, Float x) { return Float(_mm512_mask_mov_ps(__m512(x), mask, __m512(y))); }
MT_WIDE Double select(__mmask8 mask, Double y, Double x) {
    return Double(_mm512_mask_mov_pd(__m512d(x), mask, __m512d(y)));
}
// A function of a float from 0 to 14 in pieces: four for each octave above 1/16, one below. The compiler makes a
// polynomial for each from the function's Taylor series at its middle (for the first, at 0) by taking off Chebyshev
// polynomials until it has the degree that is wanted. `kOdd`: what it adds to its argument, in the first piece.
template <int kDegree, bool kOdd>
struct Pieces {
    alignas(64) float middle[32], low[32], coefficients[kDegree + 1][32];
};
constexpr int kPieceBefore = (123 << 2) - 1;  // of 1/16: exponent and two bits of the mantissa
constexpr int kTerms = 14;
template <int kDegree, bool kOdd, class Series>
constexpr Pieces<kDegree, kOdd> pieces_of(const Series& series) {
    long double chebyshev[kTerms][kTerms] = {{1}, {0, 1}};
    for (int k = 2; k < kTerms; k++)
        for (int i = 0; i <= k; i++) chebyshev[k][i] = (i ? 2 * chebyshev[k - 1][i - 1] : 0) - chebyshev[k - 2][i];
    Pieces<kDegree, kOdd> p{};
    for (int j = 0; j < 32; j++) {
        int number = kPieceBefore + j;
        long double unit = __builtin_ldexpl(1, (number >> 2) - 127), half = j ? unit / 8 : 0;
        long double middle = j ? unit * (1 + (number & 3) / 4.0L) + half : 0;
        long double c[kTerms] = {};
        series(middle, c);
        if (kOdd && j == 0) c[1] -= 1;
        for (int k = kTerms - 1; k > kDegree; k--) {
            long double power = half;
            for (int i = k - 1; i >= 0; i--, power *= half) c[i] -= c[k] * power * chebyshev[k][i] / chebyshev[k][k];
        }
        p.middle[j] = static_cast<float>(middle);
        for (int k = 0; k <= kDegree; k++) p.coefficients[k][j] = static_cast<float>(c[k]);
        p.low[j] = static_cast<float>(c[0] - p.coefficients[0][j]);
    }
    return p;
}
struct Sum {
    Float high, low;
};
template <int kDegree, bool kOdd>
MT_WIDE Sum in_pieces(const Pieces<kDegree, kOdd>& p, Float a) {
    __m512i index = _mm512_sub_epi32(_mm512_maskz_srli_epi32(0xffff, __m512i(a), 21), _mm512_set1_epi32(kPieceBefore));
    index = _mm512_maskz_max_epi32(0xffff, index, _mm512_setzero_si512());
    auto pick = [&](const float* t) {
        return Float(_mm512_permutex2var_ps(_mm512_load_ps(t), index, _mm512_load_ps(t + 16)));
    };
    Float d = a - pick(p.middle), q = pick(p.coefficients[kDegree]);
    for (int k = kDegree - 1; k > 0; k--) q = fma(q, d, pick(p.coefficients[k]));
    Float high = pick(p.coefficients[0]);
    if constexpr (kOdd) high = a < splat<Float>(0.0625) ? a : high;
    return {high, fma(q, d, pick(p.low))};
}

constexpr auto kTanh = pieces_of<5, true>([](long double m, long double* c) {
    long double e = __builtin_expl(-2 * m);
    c[0] = (1 - e) / (1 + e);
    for (int k = 0; k + 1 < kTerms; k++) {  // y' = 1 - y^2
        long double sum = k == 0;
        for (int i = 0; i <= k; i++) sum -= c[i] * c[k - i];
        c[k + 1] = sum / (k + 1);
    }
});
MT_WIDE Float tanh(Float x) {
    Sum y = in_pieces(kTanh, at_most(abs(x), 10));
    return with_sign(y.high + y.low, x);
}
// (e^2a - 1) / (e^2a + 1), the quotient corrected by its remainder.
MT_WIDE Double tanh(Double x) {
    Double a = at_most(abs(x), 20);
    Power<Double> p = power_of<true>(a + a);
    Double power = scale(p.high, p.n), rest = power * p.s;
    Double rest_low = fma(power, p.s, -rest) + fma(power, p.s_low, scale(fma(p.low, p.s, p.low), p.n));
    Double whole = power - 1, top = whole + rest, top_low = ((whole - top) + rest) + rest_low;
    Double two = splat<Double>(2), bottom = top + two;
    Double bottom_low = ((top < two ? top : two) - (bottom - (top < two ? two : top))) + top_low;
    Double r = reciprocal(bottom), y = top * r;
    Double left = fma(-y, bottom, top) + fma(-y, bottom_low, top_low);
    return with_sign(fma(left, r, y), x);
}
// (e^a - e^-a) / 2, within 1.1 ulp; computed at half its size, so that it overflows when the result does.
MT_WIDE Double sinh(Double x) {
    Double a = abs(x), c = at_most(a, 711);
    Power<Double> p = power_of<true>(c), q = power_of<true>(-c);
    Double up = scale(p.high, p.n - 2), down = scale(q.high, q.n - 2);
    Double up_rest = fma(up, p.s, fma(up, p.s_low, scale(fma(p.low, p.s, p.low), p.n - 2)));
    Double down_rest = fma(down, q.s, fma(down, q.s_low, scale(fma(q.low, q.s, q.low), q.n - 2)));
    Double y = (up - down) + (up_rest - down_rest);
    return with_sign(a < splat<Double>(0x1p-30) ? a : y + y, x);
}

// x less a multiple of pi / kParts, as a sum; that multiple is in the lowest bits of `index`. |x| < kAngleLimit.
template <class V>
struct Angle {
    V high, low;
    __m512i index;
};
template <int kParts, class V>
MT_WIDE Angle<V> angle_of(V x) {
    constexpr bool kFloat = sizeof(Scalar<V>) == 4;
    V magic = splat<V>(kFloat ? 12582912.0 : 6755399441055744.0);  // adding it rounds to an integer
    V t = fma(x, splat<V>(0.31830988618379067154 * kParts), magic), n = t - magic;
    // pi in three parts
    constexpr double first = -(kFloat ? 3.1415927410125732 : 3.141592653589793116) / kParts;
    constexpr double second = (kFloat ? 8.7422780126189537e-08 : -1.2246467991473532e-16) / kParts;
    constexpr double third = (kFloat ? 3.4302449042552e-15 : 2.9947698097183397e-33) / kParts;
    V left = fma(n, splat<V>(first), x);  // exact
    V more = n * splat<V>(second), high = left + more, back = high - left;
    V low = fma(n, splat<V>(third), fma(n, splat<V>(second), -more));
    return {high, ((left - (high - back)) + (more - back)) + low, __m512i(t)};
}
// sin(j pi / 8)
template <class T>
constexpr Table<T> kSines = [] {
    Table<T> t{};
    for (int j = 0; j < 16; j++) {
        long double x = j % 8 == 0 ? 0 : __builtin_sinl(j * 0.392699081698724154807830422909937861L);
        t.high[j] = static_cast<T>(x);
        t.low[j] = static_cast<T>(x - t.high[j]);
    }
    return t;
}();
// A bit for each lane; none for NaN.
MT_WIDE unsigned not_below(Float x, double limit) {
    return _mm512_cmp_ps_mask(__m512(x), __m512(splat<Float>(limit)), _CMP_GE_OQ);
}
MT_WIDE unsigned not_below(Double x, double limit) {
    return _mm512_cmp_pd_mask(__m512d(x), __m512d(splat<Double>(limit)), _CMP_GE_OQ);
}
// Lanes of y whose argument is too large for `angle_of` become f(x).
constexpr double kAngleLimit = 1e6;
template <class V, class F>
MT_WIDE V replace_far(V y, V x, const F& f) {
    if (unsigned far = not_below(abs(x), kAngleLimit)) [[unlikely]]
        for (unsigned i = 0; i < 64 / sizeof(Scalar<V>); i++)
            if (far >> i & 1) y[i] = static_cast<Scalar<V>>(f(static_cast<double>(x[i])));
    return y;
}
// The sine of a sum; the cosine begins a quarter of a turn later.
template <bool kCosine, class V>
MT_WIDE V sin_or_cos(V x) {
    using T = Scalar<V>;
    Angle<V> a = angle_of<8>(x);
    V z = a.high * a.high, sine, cosine;  // less the angle, less 1
    if constexpr (sizeof(T) == 4) {
        sine = poly(z, 0.008322704642, -0.1666665404);
        cosine = poly(z, 0.04159227895, -0.4999991164);
    } else {
        sine = poly(z, -2.5033830773882144e-8, 2.75573114839036679e-6, -0.000198412698397819999, 0.00833333333333320853,
                    -0.166666666666666666);
        cosine = poly(z, -2.75335596000576611e-7, 0.0000248015772402029089, -0.00138888888869548526,
                      0.0416666666666650444, -0.5);
    }
    sine = fma(a.high * z, sine, a.low);
    cosine = cosine * z;
    auto plus = [](__m512i j, int k) {
        return _mm512_add_epi32(j, _mm512_set1_epi64(k * (sizeof(T) == 4 ? 0x100000001 : 1)));
    };
    __m512i at = kCosine ? plus(a.index, 4) : a.index, next = plus(a.index, kCosine ? 8 : 4);
    const Table<T>& t = kSines<T>;
    V s = pick(t.high, at), c = pick(t.high, next);
    V high = fma(c, a.high, s);
    V low = fma(c, a.high, s - high);  // what that rounding lost
    low = low + fma(pick(t.low, next), a.high, pick(t.low, at));
    V y = high + (fma(s, cosine, low) + c * sine);
    if constexpr (kCosine)
        return replace_far(y, x, [](double v) { return std::cos(v); });
    else
        return replace_far(x == 0 ? x : y, x, [](double v) { return std::sin(v); });
}
// big - (y + rest) for y < big, which does not lose what the larger difference does.
template <class V>
MT_WIDE V less(double big, V y, V rest) {
    V d = splat<V>(big) - y;
    return d + (((splat<V>(big) - d) - y) - rest);
}
constexpr double kHalfPi[2] = {1.57079632679489661923, 6.12323399573676588613e-17};
constexpr double kHalfPiFloat[2] = {1.57079637, -4.37113883e-08};

constexpr auto kAtan = pieces_of<5, true>([](long double m, long double* c) {
    c[0] = __builtin_atanl(m);
    long double y[kTerms] = {};  // of 1 / (1 + x^2)
    for (int k = 0; k + 1 < kTerms; k++) {
        y[k] = ((k == 0) - (k > 0 ? 2 * m * y[k - 1] : 0) - (k > 1 ? y[k - 2] : 0)) / (1 + m * m);
        c[k + 1] = y[k] / (k + 1);
    }
});
MT_WIDE Float atan(Float x) {
    Float a = abs(x);
    Sum y = in_pieces(kAtan, at_most(a, 13));
    __mmask16 far = _mm512_cmp_ps_mask(__m512(a), _mm512_set1_ps(13), _CMP_GT_OQ);
    if (far) [[unlikely]] {  // pi / 2 - atan(1 / a)
        Float r = 1 / a, z = r * r;
        Float rest = fma(r * z, poly(z, -0.2, 0.33333333), splat<Float>(-4.37113883e-08)) - r;
        y.high = select(far, splat<Float>(1.57079637), y.high);
        y.low = select(far, rest, y.low);
    }
    return with_sign(y.high + y.low, x);
}

// asin(y) = y + rest for y in [0, 1/2]; beyond that pi / 2 - 2 asin(sqrt((1 - x) / 2)), the root as a sum.
template <class V>
struct ArcSine {
    V y, rest;
    decltype(V{} > V{}) outer;
};
MT_WIDE Float rough_inverse_root(Float x) { return Float(_mm512_maskz_rsqrt14_ps(0xffff, __m512(x))); }
MT_WIDE Double rough_inverse_root(Double x) { return Double(_mm512_maskz_rsqrt14_pd(0xff, __m512d(x))); }
template <class V>
MT_WIDE ArcSine<V> arc_sine(V a) {
    constexpr bool kFloat = sizeof(Scalar<V>) == 4;
    auto outer = a > splat<V>(0.5);
    V half = fma(a, splat<V>(-0.5), splat<V>(0.5));
    V r = at_most(rough_inverse_root(half), 1e18);
    if constexpr (!kFloat) r = r * fma(half * r, r * splat<V>(-0.5), splat<V>(1.5));
    V root = half * r, half_r = splat<V>(0.5) * r;
    root = fma(fma(-root, root, half), half_r, root);
    V lost = fma(-root, root, half) * half_r;
    V y = outer ? root : a, z = outer ? half : a * a, q;
    if constexpr (kFloat)
        q = poly(z, 3.7630106065e-2, 1.4358481965e-2, 3.1828689445e-2, 4.4514468741e-2, 7.5005170228e-2,
                 1.6666659776e-1);
    else
        q = poly(z, 0.0319583149263717782, -0.0162931809766637461, 0.0195733861336271833, 0.0065110190633600391,
                 0.012173248753786975, 0.0138846014591797013, 0.0173597710469435254, 0.022371753503621703,
                 0.0303819593335729133, 0.0446428568233683388, 0.0750000000034329863, 0.16666666666665381);
    return {y, fma(y * z, q, outer ? lost : V{}), outer};
}
template <class V>
MT_WIDE V asin(V x) {
    const double* half_pi = sizeof(Scalar<V>) == 4 ? kHalfPiFloat : kHalfPi;
    ArcSine<V> s = arc_sine(abs(x));
    V beyond = less(half_pi[0], s.y + s.y, s.rest + s.rest - splat<V>(half_pi[1]));
    return with_sign(s.outer ? beyond : s.y + s.rest, x);
}
template <class V>
MT_WIDE V acos(V x) {
    const double* half_pi = sizeof(Scalar<V>) == 4 ? kHalfPiFloat : kHalfPi;
    ArcSine<V> s = arc_sine(abs(x));
    // pi / 2 - asin(x), or twice the inner one, or pi less that
    V big = s.outer ? (x > 0 ? V{} : splat<V>(2 * half_pi[0])) : splat<V>(half_pi[0]);
    V factor = flipped(s.outer ? splat<V>(-2) : splat<V>(1), x), y = s.y * factor, d = big - y;
    V rest = fma(big, splat<V>(-half_pi[1] / half_pi[0]), s.rest * factor);
    return d + (((big - d) - y) - rest);
}

// A float function that is computed in double and rounded once, each half by itself.
template <class G>
MT_WIDE Float through_double(Float x, const G& g) {
    typedef float Half __attribute__((vector_size(32)));
    Half low = __builtin_convertvector(
        g(__builtin_convertvector(__builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7), Double)), Half);
    Half high = __builtin_convertvector(
        g(__builtin_convertvector(__builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15), Double)), Half);
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
// To 2^-32 of their size and, for the logarithm, of one.
struct BriefPower {
    Double n, root, s;
};
MT_WIDE BriefPower brief_power(Double x) {
    Double magic = splat<Double>(kSixteenths<Double>);
    Double t = fma(x, splat<Double>(1.44269504088896340736), magic), n = t - magic;
    Double r = fma(n, splat<Double>(-0.69314718055994530942), x);
    Double s = fma(r * r, poly(r, 0.04166764467, 0.1666700599, 0.5), r);
    return {n, pick(kRoots<double>.high, __m512i(t)), s};
}
MT_WIDE Double brief_log(Double x) {
    Double m = mantissa(x), e = exponent(x, m);
    __m512i j = _mm512_maskz_srli_epi64(0xff, __m512i(m), 48);
    Double z = fma(m, pick(kReciprocals<double>.high, j), splat<Double>(-1));
    Double y =
        fma(z * z, poly(z, 0.1371245729, -0.167153707, 0.2000193241, -0.2499994366, 0.3333333195, -0.5000000002), z);
    return y + fma(e, splat<Double>(0.69314718055994530942), pick(kLogarithms<double, Natural>.high, j));
}
MT_WIDE Double brief_reciprocal(Double x) {
    Double r = rough_reciprocal(x), left = fma(-x, r, splat<Double>(1));
    return fma(r, fma(left, left, left), r);
}

// (t + t / (t + 1)) / 2 with t = e^a - 1
MT_WIDE Float sinh(Float value) {
    Float y = through_double(at_most(abs(value), 90), [](Double a) {
        BriefPower p = brief_power(a);
        Double power = scale(p.root, p.n), t = fma(power, p.s, power - 1);
        return fma(t, brief_reciprocal(t + 1), t) * 0.5;
    });
    return with_sign(y, value);
}
// Of what is left by multiples of pi / 2 a rational function, after odd ones minus its reciprocal.
MT_WIDE Float tan(Float value) {
    Float y = through_double(value, [](Double x) {
        Double magic = splat<Double>(6755399441055744.0);  // adding it rounds to an integer
        Double t = fma(x, splat<Double>(0.63661977236758134308), magic), n = t - magic;
        Double r =
            fma(n, splat<Double>(-6.12323399573676603587e-17), fma(n, splat<Double>(-1.57079632679489661923), x));
        Double z = r * r;
        Double top = r * poly(z, 0.0010751896214078, -0.11136194733893, 1.0000000000223);
        Double bottom = poly(z, 0.015973595882756, -0.44469527899655, 1);
        __mmask8 odd = _mm512_test_epi64_mask(__m512i(t), _mm512_set1_epi64(1));
        return select(odd, -bottom, top) * brief_reciprocal(select(odd, top, bottom));
    });
    return replace_far(value == 0 ? value : y, value, [](double v) { return std::tan(v); });
}

// e^(a^2) erfc(a)
constexpr auto kErfcx = pieces_of<6, false>([](long double m, long double* c) {
    c[0] = __builtin_expl(m * m) * __builtin_erfcl(m);
    c[1] = 2 * m * c[0] - 1.12837916709551257389615890312154517L;  // y' = 2 x y - 2 / sqrt(pi)
    for (int k = 1; k + 1 < kTerms; k++) c[k + 1] = 2 * (m * c[k] + c[k - 1]) / (k + 1);
});
MT_WIDE Float erfc(Float x) {
    Float a = at_most(abs(x), 10.5), square = a * a;
    Power<Float> p = power_of(-square);
    Sum g = in_pieces(kErfcx, a);
    Float s = fma(fma(-a, a, square), p.s + 1, p.s);  // with what the square lost
    Float power = fma(p.high, s, p.low);              // to be added to p.high
    Float high = p.high * g.high;
    Float low = fma(p.high, g.high, -high) + fma(p.high, g.low, power * (g.high + g.low));
    Float y = scale(high + low, p.n);
    Float big = scale(high, p.n), rest = scale(low, p.n);  // 2 - (big + rest)
    Float d = 2 - big;
    return x < 0 ? d + (((2 - d) - big) - rest) : y;
}

// x times a polynomial of w = -log(1 - x^2), or near the ends of its root.
MT_WIDE Float erfinv(Float value) {
    return through_double(value, [](Double x) {
        Double w = -brief_log((1 - x) * (1 + x));
        Double y = poly(w - 2.5, 1.3285623901e-10, 4.3703566393e-10, -1.1023167253e-8, 1.6457159079e-8, 4.7969855958e-7,
                        -3.4260117786e-6, -4.9987589413e-6, 0.00021826355667, -0.0012527048779, -0.0041773246356,
                        0.24664027579, 1.5014093517);
        __mmask8 far = _mm512_cmp_pd_mask(__m512d(w), _mm512_set1_pd(5), _CMP_GT_OQ);
        if (far) {
            Double s = Double(_mm512_maskz_sqrt_pd(0xff, __m512d(w))) - 3;
            Double outer = poly(s, -9.0622472249e-6, -1.6726039424e-5, 0.00017367529078, -0.00029821249819,
                                -0.00012718628445, 0.0014870478063, -0.0035651495322, 0.0056848669138, -0.007643042174,
                                0.0094455366088, 1.0016752509, 2.8329767985);
            y = select(far, w == __builtin_inf() ? w : outer, y);
        }
        return x * y;
    });
}
// Stirling's series at x or, below 8, at x + 8, less the logarithm of the product that leads there.
MT_WIDE Double lgamma_positive(Double x) {
    auto shifted = x < 8;
    Double y = shifted ? x + 8 : x, t = x * (x + 7);
    Double product = shifted ? t * (t + 6) * ((t + 10) * (t + 12)) : splat<Double>(1);
    Double w = reciprocal(y);
    Double series = w * poly(w * w, 0.000772801782573924512, -0.000594322293975428407, 0.000793645762110794866,
                             -0.00277777776805653174, 0.0833333333333303241);
    Double r = fma(y - 0.5, log(y), 0.918938533204672741780 - y) + series - log(product);
    return x < __builtin_inf() ? r : x;
}
MT_WIDE Float lgamma(Float value) {
    return through_double(value, [](Double x) {
        Double a = abs(x), y = lgamma_positive(a);
        __mmask8 negative = _mm512_cmp_pd_mask(__m512d(x), _mm512_setzero_pd(), _CMP_LT_OQ);
        if (negative) {
            // gamma(-a) gamma(a) = -pi / (a sin(pi a))
            Double r = a - Double(_mm512_maskz_roundscale_pd(0xff, __m512d(a), 0));
            Double z = r * r * 9.86960440108935861883;
            Double sine = poly(z, 2.72191773991912581e-15, -7.64306676234232984e-13, 1.60589427956474171e-10,
                               -2.50521069385512519e-8, 2.75573192119066889e-6, -0.0001984126984121404,
                               0.00833333333333320865, -0.166666666666666657, 1);
            Double reflected = -log(abs(a * r * sine)) - y;
            y = select(negative, a < 0x1p52 ? reflected : splat<Double>(__builtin_inf()), y);
        }
        return x == 2 ? splat<Double>(0) : y;  // Stirling's series is off by a rounding there
    });
}
template <class V>
MT_WIDE V sin(V x) {
    return sin_or_cos<false>(x);
}
template <class V>
MT_WIDE V cos(V x) {
    return sin_or_cos<true>(x);
}

}  // namespace mt::wide
#endif
