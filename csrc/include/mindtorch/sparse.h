// at::sparse: helpers of programs that work on the parts of COO tensors.
#pragma once

#include <mindtorch/functions.h>

namespace at {
namespace sparse {

using SparseTensor = Tensor;

// One number for each column of indices: its place if the sizes were those of a dense tensor.
inline Tensor flatten_indices(const Tensor& indices, IntArrayRef sizes, bool force_clone = false) {
    const int64_t dims = indices.size(0);
    if (dims == 1) return force_clone ? indices.squeeze(0).clone() : indices.squeeze(0);
    Tensor flat = at::zeros({indices.size(1)}, indices.options());
    for (int64_t d = 0; d < dims; d++) flat = flat * sizes[static_cast<size_t>(d)] + indices.select(0, d);
    return flat;
}

}  // namespace sparse
}  // namespace at
