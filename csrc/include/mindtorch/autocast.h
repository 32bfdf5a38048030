// at::autocast: whether autocast is on, and tensors cast to its type.
#pragma once

#include <mindtorch/functions.h>
#include <mindtorch/keys.h>

namespace at {
namespace autocast {

inline bool is_autocast_enabled(DeviceType d = DeviceType::CUDA) {
    return mindtorch::call_python("mindtorch_v2", "is_autocast_enabled",
                                  {mindtorch::arg(c10::DeviceTypeName(d, /*lower_case=*/true))})
               .as.boolean != 0;
}
inline ScalarType get_autocast_dtype(DeviceType d) {
    return static_cast<ScalarType>(
        mindtorch::call_python("mindtorch_v2", "get_autocast_dtype", {mindtorch::arg(c10::DeviceTypeName(d, true))})
            .as.dtype);
}
inline ScalarType get_lower_precision_fp_from_device_type(DeviceType d) { return get_autocast_dtype(d); }

// What autocast casts: floating tensors of the device, but none of 64 bits.
inline bool is_eligible(const Tensor& t, DeviceType d = DeviceType::CUDA) {
    return t.defined() && t.device().type() == d && t.is_floating_point() && t.scalar_type() != ScalarType::Double;
}
inline Tensor cached_cast(ScalarType to, const Tensor& t, DeviceType d = DeviceType::CUDA) {
    return is_eligible(t, d) && t.scalar_type() != to ? t.to(to) : t;
}
inline std::optional<Tensor> cached_cast(ScalarType to, const std::optional<Tensor>& t,
                                         DeviceType d = DeviceType::CUDA) {
    return t ? std::optional<Tensor>(cached_cast(to, *t, d)) : std::nullopt;
}
inline std::vector<Tensor> cached_cast(ScalarType to, TensorList all, DeviceType d = DeviceType::CUDA) {
    std::vector<Tensor> r;
    for (const Tensor& t : all) r.push_back(cached_cast(to, t, d));
    return r;
}
template <class T>
T cached_cast(ScalarType, T other, DeviceType = DeviceType::CUDA) {
    return other;
}

}  // namespace autocast
}  // namespace at
