// Functional tensors in C++: what a kernel for the key Functionalize that is written by hand works with.
#pragma once

#include <mindtorch/keys.h>
#include <mindtorch/tensor.h>

namespace at {
namespace functionalization {
namespace impl {

inline at::Tensor asked(const char* function, const at::Tensor& t) {
    const mt_value made = mindtorch::call_python("mindtorch_v2", function, {mindtorch::arg(t)});
    return at::Tensor::steal(made.as.tensor);
}
inline bool isFunctionalTensor(const at::Tensor& t) {
    return mindtorch::call_python("mindtorch_v2", "_is_functional_tensor", {mindtorch::arg(t)}).as.boolean;
}
inline at::Tensor to_functional_tensor(const at::Tensor& t) { return asked("_to_functional_tensor", t); }
// The tensor's value, with everything that was written so far; a tensor that is not functional is its own.
inline at::Tensor from_functional_tensor(const at::Tensor& t, bool = true) {
    return isFunctionalTensor(t) ? asked("_from_functional_tensor", t) : t;
}
// Views are made anew when they are used: there is nothing to bring up to date, and nothing to commit.
inline void sync(const at::Tensor&) {}
inline void commit_update(const at::Tensor&) {}
inline void propagate_xla_data(const at::Tensor&, const at::Tensor&) {}  // there is none
// `value` is the value of `t` from now on.
inline void replace_(const at::Tensor& t, const at::Tensor& value) {
    mindtorch::call_python("mindtorch_v2", "_functionalize_replace", {mindtorch::arg(t), mindtorch::arg(value)});
}

}  // namespace impl
}  // namespace functionalization

// For a scope, calls go by the key Functionalize: on values, not on functional tensors.
struct AutoDispatchSkipFunctionalize {
    AutoDispatchSkipFunctionalize() : guard_(c10::DispatchKey::Functionalize) {}
    c10::impl::ExcludeDispatchKeyGuard guard_;
};
}  // namespace at
