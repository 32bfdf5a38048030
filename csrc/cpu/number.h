// Arithmetic that is defined for every computing type: integers wrap, complex products skip the C99 NaN recovery, and
// functions of floats and complex numbers share one name.
#pragma once

#include <cmath>
#include <complex>
#include <type_traits>

#include "core/dtype.h"
#include "vecmath.h"

namespace mt::num {

template <class T>
constexpr bool is_cx = std::is_same_v<T, c64> || std::is_same_v<T, c128>;
template <class T>
constexpr bool is_int = std::is_integral_v<T>;
template <class T>
constexpr bool is_flt = std::is_floating_point_v<T>;
template <class T>
using unsigned_of = std::make_unsigned_t<T>;

template <class T>
MT_INLINE T add(T a, T b) {
    if constexpr (is_int<T>)
        return static_cast<T>(static_cast<unsigned_of<T>>(a) + static_cast<unsigned_of<T>>(b));
    else
        return a + b;
}
template <class T>
MT_INLINE T sub(T a, T b) {
    if constexpr (is_int<T>)
        return static_cast<T>(static_cast<unsigned_of<T>>(a) - static_cast<unsigned_of<T>>(b));
    else
        return a - b;
}
template <class T>
MT_INLINE T mul(T a, T b) {
    if constexpr (is_int<T>)
        return static_cast<T>(1u * static_cast<unsigned_of<T>>(a) * static_cast<unsigned_of<T>>(b));  // not through int
    else if constexpr (std::is_same_v<T, Bool>)
        return a & b;
    else if constexpr (is_cx<T>)
        return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
    else
        return a * b;
}
template <class T>
MT_INLINE T neg(T a) {
    if constexpr (is_int<T>)
        return static_cast<T>(0 - static_cast<unsigned_of<T>>(a));
    else
        return -a;
}

// Result has the dividend's sign.
template <class T>
MT_INLINE T fmod_float(T a, T b) {
    return std::fmod(a, b);
}
// The same for floats whose quotient is below 2^29: in double it truncates to an integer that is right or one too
// large, and its product with the divisor is exact.
MT_INLINE bool fmod_is_near(float a, float b) { return vec::abs_f(a) < vec::abs_f(b) * 536870912.0f; }
MT_INLINE float fmod_near(float a, float b) {
    double x = vec::abs_f(a), y = vec::abs_f(b), q = __builtin_trunc(x / y);
    double r = q == 0 ? x : x - q * y;  // 0 * infinity is NaN
    r = r < 0 ? r + y : r;
    return vec::copysign_f(static_cast<float>(r), a);
}

// Python's floor division of floats, from fmod: exact where the quotient is, -0 and infinities as CPython gives them.
template <class T>
MT_INLINE T floor_div_of(T a, T b, T mod) {
    T div = (a - mod) / b;
    div = (mod != 0) & ((b < 0) != (mod < 0)) ? div - T(1) : div;
    T whole = std::floor(div);
    whole = div - whole > T(0.5) ? whole + T(1) : whole;
    return div == 0 ? std::copysign(T(0), a / b) : whole;
}
template <class T>
inline T floor_div_float(T a, T b) {
    return b == 0 ? a / b : floor_div_of(a, b, fmod_float(a, b));
}
template <class T>
MT_INLINE T remainder_of(T b, T mod) {
    return (mod != 0) & ((mod < 0) != (b < 0)) ? mod + b : mod;
}
template <class T>
MT_INLINE T trunc_div(T a, T b) {
    if constexpr (is_int<T>)
        return b == T(-1) ? neg(a) : a / b;  // the smallest integer by -1 traps
    else
        return std::trunc(a / b);
}
template <class T>
MT_INLINE T floor_div(T a, T b) {
    if constexpr (is_int<T>) {
        if (b == T(-1)) return neg(a);
        T q = a / b;
        return q - T((a % b != 0) & ((a < 0) != (b < 0)));
    } else {
        return floor_div_float(a, b);
    }
}
// Result has the divisor's sign.
template <class T>
MT_INLINE T remainder(T a, T b) {
    if constexpr (is_int<T>) {
        if (b == T(-1)) return 0;
        T r = a % b;
        return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    } else {
        return remainder_of(b, fmod_float(a, b));
    }
}
// Result has the dividend's sign.
template <class T>
MT_INLINE T fmod(T a, T b) {
    if constexpr (is_int<T>)
        return b == T(-1) ? 0 : a % b;
    else
        return fmod_float(a, b);
}

template <class T>
MT_INLINE T int_pow(T base, T exponent) {
    if (exponent < 0) return base == 1 ? 1 : base == T(-1) ? (exponent % 2 ? T(-1) : T(1)) : 0;
    unsigned_of<T> r = 1, b = static_cast<unsigned_of<T>>(base);
    for (auto e = static_cast<unsigned_of<T>>(exponent); e; e >>= 1) {
        if (e & 1) r *= b;
        b *= b;
    }
    return static_cast<T>(r);
}

// NaN in either operand gives NaN; of two zeros the first, whatever their signs, as in PyTorch.
template <class T>
MT_INLINE T maximum(T a, T b) {
    T larger = b > a ? b : a;
    if constexpr (is_flt<T>) larger = b != b ? b : larger;
    return larger;
}
template <class T>
MT_INLINE T minimum(T a, T b) {
    T smaller = b < a ? b : a;
    if constexpr (is_flt<T>) smaller = b != b ? b : smaller;
    return smaller;
}

template <class T>
MT_INLINE T sign(T a) {
    return T(int(a > T(0)) - int(a < T(0)));
}

#define MT_FLOAT_AND_COMPLEX(name) \
    template <class T>             \
    MT_INLINE T name(T x) {        \
        if constexpr (is_cx<T>)    \
            return std::name(x);   \
        else                       \
            return vec::name(x);   \
    }
MT_FLOAT_AND_COMPLEX(acos)
MT_FLOAT_AND_COMPLEX(acosh)
MT_FLOAT_AND_COMPLEX(asin)
MT_FLOAT_AND_COMPLEX(asinh)
MT_FLOAT_AND_COMPLEX(atan)
MT_FLOAT_AND_COMPLEX(atanh)
MT_FLOAT_AND_COMPLEX(cos)
MT_FLOAT_AND_COMPLEX(cosh)
MT_FLOAT_AND_COMPLEX(exp)
MT_FLOAT_AND_COMPLEX(log)
MT_FLOAT_AND_COMPLEX(log10)
MT_FLOAT_AND_COMPLEX(sin)
MT_FLOAT_AND_COMPLEX(sinh)
MT_FLOAT_AND_COMPLEX(sqrt)
MT_FLOAT_AND_COMPLEX(tan)
MT_FLOAT_AND_COMPLEX(tanh)
#undef MT_FLOAT_AND_COMPLEX

template <class T>
MT_INLINE T log2(T x) {
    if constexpr (is_cx<T>)
        return std::log(x) * typename T::value_type(1.4426950408889634);
    else
        return vec::log2(x);
}
template <class T>
MT_INLINE T exp2(T x) {
    if constexpr (is_cx<T>)
        return std::exp(x * typename T::value_type(0.6931471805599453));
    else
        return vec::exp2(x);
}
template <class T>
MT_INLINE T log1p(T x) {
    if constexpr (is_cx<T>) {
        auto re = x.real(), im = x.imag();
        // |1 + x|^2 - 1 without cancellation.
        return T(std::log1p(re * (2 + re) + im * im) / 2, std::atan2(im, 1 + re));
    } else {
        return vec::log1p(x);
    }
}
template <class T>
MT_INLINE T expm1(T x) {
    if constexpr (is_cx<T>) {
        using R = typename T::value_type;
        R re = x.real(), im = x.imag(), s = std::sin(im / 2), e = std::expm1(re);
        return T(e * std::cos(im) - 2 * s * s, (e + 1) * std::sin(im));
    } else {
        return vec::expm1(x);
    }
}
template <class T>
MT_INLINE T sigmoid(T x) {
    return T(1) / (T(1) + num::exp(-x));
}
template <class T>
MT_INLINE T pow(T a, T b) {
    if constexpr (is_cx<T>)
        return std::pow(a, b);
    else if constexpr (is_int<T>)
        return int_pow(a, b);
    else
        return vec::pow(a, b);
}

}  // namespace mt::num
