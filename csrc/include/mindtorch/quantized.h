// Single values of quantised tensors and back. The tensors themselves do not reach C++ here: docs/cpp-operators.md.
#pragma once

#include <mindtorch/dispatch.h>

#include <cmath>

namespace at {
namespace native {

// To the nearest whole number, the even one of two equally near, within the type's range.
template <class T>
T quantize_val(double scale, int64_t zero_point, float value) {
    using limits = std::numeric_limits<typename T::underlying>;
    const double nearest = static_cast<double>(zero_point) +
                           static_cast<double>(std::nearbyint(value * (1.0f / static_cast<float>(scale))));
    const double bounded = std::fmax(limits::min(), std::fmin(limits::max(), nearest));
    return T(static_cast<typename T::underlying>(bounded));
}
template <class T>
float dequantize_val(double scale, int64_t zero_point, T value) {
    const float whole = static_cast<float>(static_cast<int32_t>(value.val_) - static_cast<int32_t>(zero_point));
    return whole * static_cast<float>(scale);
}
template <class From, class To>
To requantize_val(double from_scale, int64_t from_zero_point, double scale, int64_t zero_point, From value) {
    return quantize_val<To>(scale, zero_point, dequantize_val<From>(from_scale, from_zero_point, value));
}
template <class To>
To requantize_from_int(double multiplier, int64_t zero_point, int64_t value) {
    using limits = std::numeric_limits<typename To::underlying>;
    const int64_t down = std::lrint(static_cast<double>(value) * multiplier) + zero_point;
    return To(
        static_cast<typename To::underlying>(std::min<int64_t>(std::max<int64_t>(down, limits::min()), limits::max())));
}

}  // namespace native
}  // namespace at
