// Element types that C++ has not: 16-bit and 8-bit floats, complex numbers.
#pragma once

#include <mindtorch/api.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>

namespace mindtorch MINDTORCH_HIDDEN {

inline uint32_t bits_of(float f) {
    uint32_t u;
    std::memcpy(&u, &f, 4);
    return u;
}
inline float float_of(uint32_t u) {
    float f;
    std::memcpy(&f, &u, 4);
    return f;
}

inline uint16_t half_of(float value) {
    const uint32_t u = bits_of(value), sign = (u >> 16) & 0x8000u, x = u & 0x7fffffffu;
    if (x > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
    if (x >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7c00u);
    if (x < 0x38800000u)  // subnormal: the float adder rounds
        return static_cast<uint16_t>(sign | (bits_of(float_of(x) + 0.5f) - 0x3f000000u));
    return static_cast<uint16_t>(sign | ((x + 0xc8000fffu + ((x >> 13) & 1u)) >> 13));
}
inline float half_to_float(uint16_t h) {
    const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16, em = h & 0x7fffu;
    if (em >= 0x7c00u) return float_of(sign | 0x7f800000u | ((em & 0x3ffu) << 13));
    if (em >= 0x400u) return float_of(sign | ((em << 13) + 0x38000000u));
    return float_of(bits_of(static_cast<float>(em) * 5.9604644775390625e-08f) | sign);
}
inline uint16_t bfloat16_of(float value) {
    const uint32_t u = bits_of(value);
    if ((u & 0x7fffffffu) > 0x7f800000u) return 0x7fc0;
    return static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

// An 8-bit float of `mantissa` bits. Of `infinities` the largest exponent holds these; else it holds numbers, and all
// ones is NaN, or where there are none that are not `finite` and no negative zero ("fnuz"), the place of that zero is.
enum class Float8 { infinities, finite, fnuz };
template <int mantissa, int bias, Float8 kind>
uint8_t float8_of(float value) {
    const uint32_t u = bits_of(value), sign = (u >> 24) & 0x80u, x = u & 0x7fffffffu;
    constexpr uint32_t nan = kind == Float8::fnuz ? 0x80u : 0x7fu;
    if (x > 0x7f800000u) return static_cast<uint8_t>(sign | nan);
    constexpr int shift = 23 - mantissa;
    constexpr uint32_t least = static_cast<uint32_t>(128 - bias) << 23;  // the smallest normal number: 2^(1-bias)
    uint32_t r;
    if (x < least) {
        const float step = float_of(static_cast<uint32_t>(127 + (1 - bias) - mantissa + 23) << 23);
        r = bits_of(float_of(x) + step) - bits_of(step);
    } else {
        r = (x - (static_cast<uint32_t>(127 - bias) << 23) + ((1u << (shift - 1)) - 1) + ((x >> shift) & 1u)) >> shift;
    }
    constexpr uint32_t last = kind == Float8::infinities ? 0x7cu : kind == Float8::finite ? 0x7eu : 0x7fu;
    if (r > last) r = kind == Float8::fnuz ? nan : last;
    return static_cast<uint8_t>(kind == Float8::fnuz && r == 0 ? 0 : sign | r);
}
template <int mantissa, int bias, Float8 kind>
float float8_to_float(uint8_t h) {
    const int em = h & 0x7f, exponent = em >> mantissa, m = em & ((1 << mantissa) - 1);
    float v;
    if (kind == Float8::infinities && exponent == (1 << (7 - mantissa)) - 1)
        v = m ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
    else if (kind == Float8::finite ? em == 0x7f : kind == Float8::fnuz && h == 0x80)
        v = std::numeric_limits<float>::quiet_NaN();
    else if (exponent)
        v = std::ldexp(static_cast<float>((1 << mantissa) + m), exponent - bias - mantissa);
    else
        v = std::ldexp(static_cast<float>(m), 1 - bias - mantissa);
    return h & 0x80 ? -v : v;
}

// An exponent alone: a power of two, the last one NaN. Half way between two goes up, but from subnormal numbers.
inline uint8_t float8_e8m0_of(float value) {
    const uint32_t x = bits_of(value) & 0x7fffffffu, exponent = x >> 23, rest = x & 0x7fffffu;
    if (exponent == 0xffu) return 0xff;
    return static_cast<uint8_t>(exponent + (exponent ? rest >= 0x400000u : rest > 0x400000u));
}
inline float float8_e8m0_to_float(uint8_t x) {
    return x == 0xff ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0f, x - 127);
}

}  // namespace mindtorch MINDTORCH_HIDDEN

namespace c10 {
namespace detail {
// Of bfloat16.
inline float f32_from_bits(uint16_t bits) { return mindtorch::float_of(static_cast<uint32_t>(bits) << 16); }
inline uint16_t round_to_nearest_even(float value) { return mindtorch::bfloat16_of(value); }
}  // namespace detail
}  // namespace c10

namespace c10 {

#define MINDTORCH_SMALL_FLOAT(Name, Bits, TO, FROM)                                                        \
    struct alignas(sizeof(Bits)) Name {                                                                    \
        Bits x;                                                                                            \
        struct from_bits_t {};                                                                             \
        static constexpr from_bits_t from_bits() { return from_bits_t(); }                                 \
        Name() = default;                                                                                  \
        constexpr Name(Bits bits, from_bits_t) : x(bits) {}                                                \
        Name(float value) : x(TO(value)) {}                                                                \
        operator float() const { return FROM(x); }                                                         \
        bool isnan() const { return std::isnan(static_cast<float>(*this)); }                               \
        bool isinf() const { return std::isinf(static_cast<float>(*this)); }                               \
    };                                                                                                     \
    inline Name operator-(const Name& a) { return Name(-static_cast<float>(a)); }                          \
    inline std::ostream& operator<<(std::ostream& s, const Name& v) { return s << static_cast<float>(v); } \
    MINDTORCH_FLOAT_OPERATOR(Name, +)                                                                      \
    MINDTORCH_FLOAT_OPERATOR(Name, -)                                                                      \
    MINDTORCH_FLOAT_OPERATOR(Name, *)                                                                      \
    MINDTORCH_FLOAT_OPERATOR(Name, /)
#define MINDTORCH_FLOAT_OPERATOR(Name, op)                                                                             \
    inline Name operator op(const Name& a, const Name& b) { return static_cast<float>(a) op static_cast<float>(b); }   \
    inline Name& operator op##=(Name & a, const Name & b) { return a = a op b; }                                       \
    inline float& operator op##=(float& a, const Name & b) { return a op## = static_cast<float>(b); }                  \
    inline float operator op(const Name& a, float b) { return static_cast<float>(a) op b; }                            \
    inline float operator op(float a, const Name& b) { return a op static_cast<float>(b); }                            \
    inline double operator op(const Name& a, double b) { return static_cast<float>(a) op b; }                          \
    inline double operator op(double a, const Name& b) { return a op static_cast<float>(b); }                          \
    inline Name operator op(const Name& a, int b) { return Name(static_cast<float>(a) op static_cast<float>(b)); }     \
    inline Name operator op(int a, const Name& b) { return Name(static_cast<float>(a) op static_cast<float>(b)); }     \
    inline Name operator op(const Name& a, int64_t b) { return Name(static_cast<float>(a) op static_cast<float>(b)); } \
    inline Name operator op(int64_t a, const Name& b) { return Name(static_cast<float>(a) op static_cast<float>(b)); }
MINDTORCH_SMALL_FLOAT(Half, uint16_t, ::mindtorch::half_of, ::mindtorch::half_to_float)
inline float bfloat16_to_float(uint16_t x) { return ::mindtorch::float_of(static_cast<uint32_t>(x) << 16); }
MINDTORCH_SMALL_FLOAT(BFloat16, uint16_t, ::mindtorch::bfloat16_of, bfloat16_to_float)
#define MINDTORCH_FLOAT8(Name, mantissa, bias, kind)                                                          \
    MINDTORCH_SMALL_FLOAT(Name, uint8_t, (::mindtorch::float8_of<mantissa, bias, ::mindtorch::Float8::kind>), \
                          (::mindtorch::float8_to_float<mantissa, bias, ::mindtorch::Float8::kind>))
MINDTORCH_FLOAT8(Float8_e5m2, 2, 15, infinities)
MINDTORCH_FLOAT8(Float8_e4m3fn, 3, 7, finite)
MINDTORCH_FLOAT8(Float8_e5m2fnuz, 2, 16, fnuz)
MINDTORCH_FLOAT8(Float8_e4m3fnuz, 3, 8, fnuz)
MINDTORCH_SMALL_FLOAT(Float8_e8m0fnu, uint8_t, ::mindtorch::float8_e8m0_of, ::mindtorch::float8_e8m0_to_float)
#undef MINDTORCH_FLOAT8
#undef MINDTORCH_SMALL_FLOAT
#undef MINDTORCH_FLOAT_OPERATOR

// Complex numbers: the standard's, which are laid out alike.
template <class T>
struct alignas(sizeof(T) * 2) complex {
    using value_type = T;
    T real_ = T(0), imag_ = T(0);
    constexpr complex() = default;
    constexpr complex(T re, T im = T()) : real_(re), imag_(im) {}
    template <class U>
    constexpr complex(const std::complex<U>& z) : real_(static_cast<T>(z.real())), imag_(static_cast<T>(z.imag())) {}
    template <class U, class = std::enable_if_t<!std::is_same<U, T>::value>>
    constexpr complex(const complex<U>& z) : real_(static_cast<T>(z.real())), imag_(static_cast<T>(z.imag())) {}
    constexpr T real() const { return real_; }
    constexpr T imag() const { return imag_; }
    operator std::complex<T>() const { return {real_, imag_}; }
    complex& operator+=(const complex& o) { return *this = complex(real_ + o.real_, imag_ + o.imag_); }
    complex& operator-=(const complex& o) { return *this = complex(real_ - o.real_, imag_ - o.imag_); }
    complex& operator*=(const complex& o) {
        return *this = complex(real_ * o.real_ - imag_ * o.imag_, real_ * o.imag_ + imag_ * o.real_);
    }
    complex& operator/=(const complex& o) { return *this = complex(std::complex<T>(*this) / std::complex<T>(o)); }
};
template <class T>
complex<T> operator+(complex<T> a, const complex<T>& b) {
    return a += b;
}
template <class T>
complex<T> operator-(complex<T> a, const complex<T>& b) {
    return a -= b;
}
template <class T>
complex<T> operator*(complex<T> a, const complex<T>& b) {
    return a *= b;
}
template <class T>
complex<T> operator/(complex<T> a, const complex<T>& b) {
    return a /= b;
}
template <class T>
complex<T> operator*(complex<T> a, T b) {
    return complex<T>(a.real() * b, a.imag() * b);
}
template <class T>
complex<T> operator*(T b, complex<T> a) {
    return a * b;
}
template <class T>
complex<T> operator-(const complex<T>& a) {
    return complex<T>(-a.real(), -a.imag());
}
template <class T>
constexpr bool operator==(const complex<T>& a, const complex<T>& b) {
    return a.real() == b.real() && a.imag() == b.imag();
}
template <class T>
constexpr bool operator!=(const complex<T>& a, const complex<T>& b) {
    return !(a == b);
}
// Whole numbers beside complex ones.
#define MINDTORCH_WITH_WHOLE(sign)                                                    \
    template <class T, class I, class = std::enable_if_t<std::is_integral<I>::value>> \
    complex<T> operator sign(I a, const complex<T>& b) {                              \
        return complex<T>(static_cast<T>(a)) sign b;                                  \
    }                                                                                 \
    template <class T, class I, class = std::enable_if_t<std::is_integral<I>::value>> \
    complex<T> operator sign(const complex<T>& a, I b) {                              \
        return a sign complex<T>(static_cast<T>(b));                                  \
    }
MINDTORCH_WITH_WHOLE(+)
MINDTORCH_WITH_WHOLE(-)
MINDTORCH_WITH_WHOLE(*)
MINDTORCH_WITH_WHOLE(/)
#undef MINDTORCH_WITH_WHOLE
template <class T>
std::ostream& operator<<(std::ostream& s, const complex<T>& z) {
    return s << std::complex<T>(z);
}

// Of half the width of float.
template <class T>
struct is_reduced_floating_point
    : std::bool_constant<std::is_same<T, Half>::value || std::is_same<T, BFloat16>::value> {};
template <class T>
inline constexpr bool is_reduced_floating_point_v = is_reduced_floating_point<T>::value;
template <class T>
struct is_complex : std::false_type {};
template <class T>
struct is_complex<complex<T>> : std::true_type {};

}  // namespace c10

namespace std {
using c10::is_reduced_floating_point;  // where PyTorch had them at first
using c10::is_reduced_floating_point_v;
template <class T>
T abs(const c10::complex<T>& z) {
    return std::abs(std::complex<T>(z));
}
template <class T>
constexpr T real(const c10::complex<T>& z) {
    return z.real();
}
template <class T>
constexpr T imag(const c10::complex<T>& z) {
    return z.imag();
}
template <class T>
c10::complex<T> conj(const c10::complex<T>& z) {
    return c10::complex<T>(z.real(), -z.imag());
}

#define MINDTORCH_LIMITS(Name, digits_, digits10_, max10, e, E, e10, E10, lowest_, max_, min_, eps, inf, nan, half) \
    template <>                                                                                                     \
    class numeric_limits<c10::Name> {                                                                               \
      public:                                                                                                       \
        static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false,        \
                              has_infinity = inf != nan, has_quiet_NaN = true, has_signaling_NaN = inf != nan,      \
                              is_iec559 = inf != nan, is_bounded = true, is_modulo = false, traps = false,          \
                              tinyness_before = false, has_denorm_loss = true;                                      \
        static constexpr float_denorm_style has_denorm = denorm_present;                                            \
        static constexpr float_round_style round_style = round_to_nearest;                                          \
        static constexpr int max_digits10 = max10, min_exponent10 = e10, max_exponent10 = E10;                      \
        static constexpr int digits = digits_, digits10 = digits10_, radix = 2, min_exponent = e, max_exponent = E; \
        static constexpr c10::Name make(decltype(c10::Name::x) bits) {                                              \
            return c10::Name(bits, c10::Name::from_bits());                                                         \
        }                                                                                                           \
        static constexpr c10::Name denorm_min() { return make(1); }                                                 \
        static constexpr c10::Name round_error() { return make(half); }                                             \
        static constexpr c10::Name signaling_NaN() { return make(nan); }                                            \
        static constexpr c10::Name min() { return make(min_); }                                                     \
        static constexpr c10::Name lowest() { return make(lowest_); }                                               \
        static constexpr c10::Name max() { return make(max_); }                                                     \
        static constexpr c10::Name epsilon() { return make(eps); }                                                  \
        static constexpr c10::Name infinity() { return make(inf); }                                                 \
        static constexpr c10::Name quiet_NaN() { return make(nan); }                                                \
    };
MINDTORCH_LIMITS(Half, 11, 3, 5, -13, 16, -4, 4, 0xfbff, 0x7bff, 0x0400, 0x1400, 0x7c00, 0x7e00, 0x3800)
MINDTORCH_LIMITS(BFloat16, 8, 2, 4, -125, 128, -37, 38, 0xff7f, 0x7f7f, 0x0080, 0x3c00, 0x7f80, 0x7fc0, 0x3f00)
MINDTORCH_LIMITS(Float8_e5m2, 3, 0, 2, -13, 16, -4, 4, 0xfb, 0x7b, 0x04, 0x34, 0x7c, 0x7f, 0x38)
MINDTORCH_LIMITS(Float8_e5m2fnuz, 3, 0, 2, -14, 16, -4, 4, 0xff, 0x7f, 0x04, 0x34, 0x80, 0x80, 0x38)
MINDTORCH_LIMITS(Float8_e4m3fnuz, 4, 0, 3, -6, 8, -1, 2, 0xff, 0x7f, 0x08, 0x28, 0x80, 0x80, 0x38)
MINDTORCH_LIMITS(Float8_e8m0fnu, 1, 0, 1, -126, 128, -38, 38, 0x00, 0xfe, 0x00, 0x7f, 0xff, 0xff, 0x7e)
MINDTORCH_LIMITS(Float8_e4m3fn, 4, 0, 3, -5, 8, -1, 2, 0xfe, 0x7e, 0x08, 0x20, 0x7f, 0x7f, 0x30)
#undef MINDTORCH_LIMITS

#define MINDTORCH_MATH(f)                                                     \
    inline c10::Half f(c10::Half a) { return std::f(static_cast<float>(a)); } \
    inline c10::BFloat16 f(c10::BFloat16 a) { return std::f(static_cast<float>(a)); }
MINDTORCH_MATH(exp)
MINDTORCH_MATH(log)
MINDTORCH_MATH(sqrt)
MINDTORCH_MATH(abs)
MINDTORCH_MATH(tanh)
MINDTORCH_MATH(sin)
MINDTORCH_MATH(cos)
MINDTORCH_MATH(floor)
MINDTORCH_MATH(ceil)
MINDTORCH_MATH(round)
MINDTORCH_MATH(trunc)
#undef MINDTORCH_MATH
inline c10::Half pow(c10::Half a, c10::Half b) { return std::pow(static_cast<float>(a), static_cast<float>(b)); }
inline c10::BFloat16 pow(c10::BFloat16 a, c10::BFloat16 b) {
    return std::pow(static_cast<float>(a), static_cast<float>(b));
}
inline bool isnan(c10::Half a) { return std::isnan(static_cast<float>(a)); }
inline bool isnan(c10::BFloat16 a) { return std::isnan(static_cast<float>(a)); }
inline bool isinf(c10::Half a) { return std::isinf(static_cast<float>(a)); }
inline bool isinf(c10::BFloat16 a) { return std::isinf(static_cast<float>(a)); }
template <>
struct hash<c10::Half> {
    size_t operator()(c10::Half v) const { return v.x; }
};
template <>
struct hash<c10::BFloat16> {
    size_t operator()(c10::BFloat16 v) const { return v.x; }
};
}  // namespace std

namespace at {
// Of every type, also those that have no such numbers.
template <class T>
bool _isnan(T value) {
    if constexpr (std::is_integral_v<T>)
        return false;
    else
        return std::isnan(value);
}
template <class T>
bool _isnan(c10::complex<T> value) {
    return std::isnan(value.real()) || std::isnan(value.imag());
}
template <class T>
bool _isinf(T value) {
    if constexpr (std::is_integral_v<T>)
        return false;
    else
        return std::isinf(value);
}
}  // namespace at
