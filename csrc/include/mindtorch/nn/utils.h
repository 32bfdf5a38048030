// torch::nn::utils: gradients that are clipped, parameters as one vector.
#pragma once

#include <mindtorch/nn/module.h>

#include <cmath>
#include <limits>

namespace torch {
namespace nn {
namespace utils {

// The norm of all gradients together, before they were scaled to at most `max_norm`.
inline double clip_grad_norm_(const std::vector<at::Tensor>& parameters, double max_norm, double norm_type = 2.0,
                              bool error_if_nonfinite = false) {
    c10::NoGradGuard guard;
    std::vector<at::Tensor> norms;
    for (const at::Tensor& p : parameters)
        if (p.grad().defined()) norms.push_back(p.grad().norm(norm_type).to(at::kDouble));
    if (norms.empty()) return 0.0;
    const bool largest = norm_type == std::numeric_limits<double>::infinity();
    const at::Tensor all = at::stack(norms);
    const double total = (largest ? all.max() : all.norm(norm_type)).item<double>();
    TORCH_CHECK(!error_if_nonfinite || std::isfinite(total), "The total norm of order ", norm_type,
                " for gradients from `parameters` is non-finite, so it cannot be clipped. To disable this error and "
                "scale the gradients with the non-finite norm anyway, set `error_if_nonfinite=false`");
    const double scale = max_norm / (total + 1e-6);
    if (!(scale >= 1))  // NaN scales too
        for (const at::Tensor& p : parameters)
            if (p.grad().defined()) p.grad().mul_(scale);
    return total;
}
inline double clip_grad_norm_(at::Tensor parameter, double max_norm, double norm_type = 2.0,
                              bool error_if_nonfinite = false) {
    return clip_grad_norm_(std::vector<at::Tensor>{std::move(parameter)}, max_norm, norm_type, error_if_nonfinite);
}
inline void clip_grad_value_(const std::vector<at::Tensor>& parameters, double clip_value) {
    c10::NoGradGuard guard;
    for (const at::Tensor& p : parameters)
        if (p.grad().defined()) p.grad().clamp_(-clip_value, clip_value);
}
inline void clip_grad_value_(at::Tensor parameter, double clip_value) {
    clip_grad_value_(std::vector<at::Tensor>{std::move(parameter)}, clip_value);
}
inline at::Tensor parameters_to_vector(const std::vector<at::Tensor>& parameters) {
    std::vector<at::Tensor> flat;
    for (const at::Tensor& p : parameters) flat.push_back(p.reshape({-1}));
    return at::cat(flat);
}
inline void vector_to_parameters(const at::Tensor& vector, const std::vector<at::Tensor>& parameters) {
    int64_t offset = 0;
    for (at::Tensor p : parameters) {
        p.set_data(vector.slice(0, offset, offset + p.numel()).view_as(p).detach());
        offset += p.numel();
    }
}

}  // namespace utils
}  // namespace nn
}  // namespace torch
