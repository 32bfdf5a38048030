// Arithmetic of sizes and numbers that c10 and at have beside the operators.
#pragma once

#include <mindtorch/types.h>

#include <cmath>
#include <limits>

namespace c10 {

template <class T>
constexpr T pi = static_cast<T>(3.141592653589793238462643383279502L);
template <class T>
constexpr T e = static_cast<T>(2.718281828459045235360287471352662L);
template <class T>
constexpr T sqrt_2 = static_cast<T>(1.414213562373095048801688724209698L);
template <class T>
constexpr T frac_sqrt_pi = static_cast<T>(0.564189583547756286948079451560773L);

template <class T>
constexpr bool is_negative(const T& x) {
    if constexpr (std::is_unsigned_v<T>)
        return false;
    else
        return x < T(0);
}
template <class T>
constexpr int signum(const T& x) {
    return (T(0) < x) - is_negative(x);
}
template <class A, class B>
constexpr bool signs_differ(const A& a, const B& b) {
    return is_negative(a) != is_negative(b);
}
template <class T>
T copysign(T a, T b) {
    return static_cast<T>(std::copysign(static_cast<double>(a), static_cast<double>(b)));
}
// Quotients rounded down, as Python's //.
template <class T>
T div_floor_integer(T a, T b) {
    const T q = a / b;
    return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}
template <class T>
T div_floor_floating(T a, T b) {
    if (b == 0) return a / b;
    T rest = std::fmod(a, b), q = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) q -= 1;
    if (q == 0) return std::copysign(T(0), a / b);
    const T below = std::floor(q);
    return q - below > T(0.5) ? below + 1 : below;
}
template <class T>
T div_mod(T a, T b) {
    T rest = std::fmod(a, b);
    if (rest != 0 && (b < 0) != (rest < 0)) rest += b;
    return rest;
}
template <class T>
bool add_overflows(T a, T b, T* out) {
    return __builtin_add_overflow(a, b, out);
}
template <class T>
bool mul_overflows(T a, T b, T* out) {
    return __builtin_mul_overflow(a, b, out);
}
template <class T>
bool safe_multiplies_u64(const T& numbers, uint64_t* out) {
    bool over = false;
    uint64_t product = 1;
    for (const auto n : numbers) over |= mul_overflows(product, static_cast<uint64_t>(n), &product);
    *out = product;
    return over;
}
// The strides of a contiguous tensor.
inline DimVector contiguous_strides(IntArrayRef sizes) {
    DimVector strides(sizes.size(), 1);
    for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<int64_t>(sizes[i], 1);
    return strides;
}

}  // namespace c10

namespace at {

template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
constexpr T ceil_div(T a, T b) {
    return (a + b - 1) / b;
}
template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
constexpr T round_up(T a, T b) {
    return ceil_div(a, b) * b;
}

namespace Reduction {
enum Reduction { None, Mean, Sum, END };
}

}  // namespace at

template <class T>
static inline T div_rtn(T a, T b) {
    return c10::div_floor_integer(a, b);
}
