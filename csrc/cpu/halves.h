// The two halves of a tensor along a dimension, which gated activations tell apart.
#pragma once

#include "core/typed_kernel.h"

namespace mt {

// Half `which` (0 or 1): the same memory.
inline TensorRef half_along(const Tensor& t, int64_t dim, int which) {
    MT_CHECK(t.ndim > 0, "glu does not support 0-dimensional tensors");
    dim = wrap_dim(dim, t.ndim);
    Dims sizes(t.sizes());
    sizes[dim] /= 2;
    return as_strided(t, sizes, t.strides(), t.offset + which * sizes[dim] * t.stride(dim));
}

}  // namespace mt
