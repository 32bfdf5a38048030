// A contiguous tensor along one dimension.
#pragma once

#include "core/typed_kernel.h"

namespace mt {

struct Axis {
    int64_t outer = 1, n = 1, inner = 1;
};
inline Axis axis_of(const Tensor& t, int64_t dim) {
    Axis a;
    dim = wrap_dim(dim, t.ndim);
    for (int64_t d = 0; d < t.ndim; d++) (d < dim ? a.outer : d == dim ? a.n : a.inner) *= t.size(d);
    return a;
}

}  // namespace mt
