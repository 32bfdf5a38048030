// Whether a number can be had as another type: the rule of PyTorch's checked conversions. Nothing else is included.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace mt {

// What C++ calls an arithmetic type, as PyTorch's errors name it.
template <class T>
constexpr const char* type_name() {
    if (std::is_same<T, bool>::value) return "bool";
    if (std::is_floating_point<T>::value) return sizeof(T) == 4 ? "float" : "double";
    const bool is_signed = std::is_signed<T>::value;
    return sizeof(T) == 1   ? (is_signed ? "int8_t" : "uint8_t")
           : sizeof(T) == 2 ? (is_signed ? "int16_t" : "uint16_t")
           : sizeof(T) == 4 ? (is_signed ? "int" : "uint32_t")
                            : (is_signed ? "int64_t" : "uint64_t");
}

// A fraction is cut off; infinities and NaN are numbers of every floating-point type and of no whole one.
template <class T>
bool fits(double v) {
    if (std::is_same<T, bool>::value || std::is_same<T, double>::value) return true;
    if (std::is_floating_point<T>::value)
        return !std::isfinite(v) || std::fabs(v) <= static_cast<double>(std::numeric_limits<T>::max());
    if (std::is_unsigned<T>::value && v < 0) return false;
    // The largest whole number is not always a double, the one behind it is.
    const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
    const bool above_lowest = v >= static_cast<double>(std::numeric_limits<T>::lowest());  // false for NaN
    return above_lowest && std::trunc(v) < end && v <= static_cast<double>(std::numeric_limits<T>::max());
}

// A negative number is an unsigned one of its bits, as long as its size fits.
template <class T>
bool fits(int64_t v) {
    if (!std::is_integral<T>::value || std::is_same<T, bool>::value || sizeof(T) == 8) return true;
    const int64_t most = static_cast<int64_t>(std::numeric_limits<T>::max());
    return v <= most && v >= (std::is_unsigned<T>::value ? -most : -most - 1);
}

}  // namespace mt
