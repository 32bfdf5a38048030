// Tensors that a program makes over a storage, with the keys that say whose they are: at::detail::make_tensor.
#pragma once

#include <mindtorch/functions.h>
#include <mindtorch/keys.h>

namespace mindtorch MINDTORCH_HIDDEN {

// The device that the only back end among the keys stands for; none where there is no back end.
inline std::optional<at::DeviceType> device_among(c10::DispatchKeySet keys) {
    using c10::DispatchKey;
    for (const auto& [key, type] :
         {std::pair{DispatchKey::CPU, at::DeviceType::CPU}, std::pair{DispatchKey::CUDA, at::DeviceType::CUDA},
          std::pair{DispatchKey::XPU, at::DeviceType::XPU}, std::pair{DispatchKey::Meta, at::DeviceType::Meta},
          std::pair{DispatchKey::PrivateUse1, at::DeviceType::PrivateUse1}})
        if (keys.has(key)) return type;
    return std::nullopt;
}
// One dimension of no elements, as a TensorImpl begins.
inline at::Tensor new_tensor(const c10::Storage& storage, c10::DispatchKeySet keys, caffe2::TypeMeta dtype) {
    TORCH_CHECK(storage, "make_tensor: the storage is undefined");
    const std::optional<at::DeviceType> type = device_among(keys);
    TORCH_CHECK(!type || *type == storage.device_type(), "make_tensor: keys of ", *type, " for memory of ",
                storage.device());
    return tensor_over(storage, dtype.toScalarType(), {0}, {1}, 0);
}
inline at::Tensor new_tensor(c10::Storage&& storage, c10::DispatchKey key, caffe2::TypeMeta dtype) {
    return new_tensor(storage, c10::DispatchKeySet(key), dtype);
}
// With memory of no bytes.
inline at::Tensor new_tensor(c10::DispatchKeySet keys, caffe2::TypeMeta dtype, std::optional<at::Device> device) {
    const at::DeviceType type = device_among(keys).value_or(at::DeviceType::CPU);
    return at::empty({0}, at::TensorOptions(dtype.toScalarType()).device(device.value_or(at::Device(type))));
}

}  // namespace mindtorch MINDTORCH_HIDDEN
namespace at {
namespace detail {

template <class T, class... A>
Tensor make_tensor(A&&... given) {
    static_assert(std::is_same_v<T, c10::TensorImpl>,
                  "classes that derive from c10::TensorImpl make no tensors here: a tensor is an object of the core. "
                  "docs/cpp-operators.md lists what there is");
    return mindtorch::new_tensor(std::forward<A>(given)...);
}
template <class T, class... A>
TensorBase make_tensor_base(A&&... given) {
    return make_tensor<T>(std::forward<A>(given)...);
}

}  // namespace detail
}  // namespace at
