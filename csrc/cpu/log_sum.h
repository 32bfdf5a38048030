// log(e^a + e^b) of complex numbers.
#pragma once

#include <cmath>
#include <complex>
#include <limits>
#include <utility>

namespace mt {

// log(1 + z), to the last digits near zero too.
template <class T>
std::complex<T> log1p_of(std::complex<T> z) {
    T x = z.real(), y = z.imag();
    return {std::log1p(x * (2 + x) + y * y) / 2, std::atan2(y, 1 + x)};
}

// The one with the larger real part is taken out; a NaN makes both parts NaN.
template <class T>
std::complex<T> log_of_sum(std::complex<T> a, std::complex<T> b) {
    constexpr T nan = std::numeric_limits<T>::quiet_NaN();
    if (std::isnan(a.real()) || std::isnan(a.imag()) || std::isnan(b.real()) || std::isnan(b.imag())) return {nan, nan};
    if (a.real() >= b.real()) std::swap(a, b);
    if (std::isinf(a.real()) && a.real() == b.real()) return a.real() < 0 ? a : std::log(std::exp(a) + std::exp(b));
    return b + log1p_of(std::exp(a - b));
}

}  // namespace mt
