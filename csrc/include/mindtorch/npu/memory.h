// Tensors in CANN's storage formats, on memory of the program's own, and masks of dropout, by torch_npu's names.
#pragma once

#include <mindtorch/npu/stream.h>

#include <utility>

namespace at_npu {
namespace native {

// A copy that lies in memory in another of CANN's formats, by its number.
inline at::Tensor npu_format_cast(const at::Tensor& self, int64_t format) {
    using Cast = at::Tensor(const at::Tensor&, int64_t, std::optional<int64_t>, std::optional<int64_t>);
    const std::optional<int64_t> as_it_is;
    return mindtorch::npu::ask_own<Cast>("npu::npu_format_cast", "", self, format, as_it_is, as_it_is);
}
// The number of the format in which a tensor lies in memory.
inline int64_t get_npu_format(const at::Tensor& self) {
    return mindtorch::npu::ask_own<int64_t(const at::Tensor&)>("npu::get_npu_format", "", self);
}
inline at::Tensor empty_with_format(at::IntArrayRef sizes, const at::TensorOptions& options, int64_t format,
                                    bool keep_format = false) {
    (void)keep_format;
    return npu_format_cast(at::empty(sizes, options.device(c10::DeviceType::PrivateUse1)), format);
}
// A bit for each number that stays, eight to a byte.
inline at::Tensor npu_dropout_gen_mask(const at::Tensor& self, at::IntArrayRef sizes, double p, int64_t seed,
                                       int64_t offset, std::optional<bool> parallel, std::optional<bool> sync) {
    using Mask = at::Tensor(const at::Tensor&, at::IntArrayRef, double, int64_t, int64_t, std::optional<bool>,
                            std::optional<bool>);
    return mindtorch::npu::ask_own<Mask>("npu::_npu_dropout_gen_mask", "Tensor", self, sizes, p, seed, offset, parallel,
                                         sync);
}
// A tensor on memory that the caller has.
template <class... A>
at::Tensor from_blob(void* data, at::IntArrayRef sizes, A&&... rest) {
    return at::from_blob(data, sizes, std::forward<A>(rest)...);
}

}  // namespace native
}  // namespace at_npu
