// set_ with a storage, of which no schema here has a type, among at::native's and at::cpu's functions.
#pragma once

#include <mindtorch/functions.h>

namespace at {
namespace native {
inline Tensor& set_(Tensor& self, Storage source, int64_t offset, IntArrayRef size, IntArrayRef stride = {}) {
    const mindtorch::OwnKernel own('n');
    return self.set_(source, offset, size, stride);
}
inline Tensor& set_(Tensor& self, Storage source) {
    const mindtorch::OwnKernel own('n');
    return self.set_(source);
}
}  // namespace native
namespace cpu {
inline Tensor& set_(Tensor& self, Storage source, int64_t offset, IntArrayRef size, IntArrayRef stride = {}) {
    const mindtorch::OwnKernel own('c');
    return self.set_(source, offset, size, stride);
}
}  // namespace cpu
}  // namespace at
