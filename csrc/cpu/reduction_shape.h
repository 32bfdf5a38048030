// What shape rules and kernels of reductions share.
#pragma once

#include "core/kernel.h"

namespace mt {

// Bit d is set where dimension d is reduced. `dim` is an int, a list, or None; None and the empty list mean all.
uint64_t reduced_dims(const Value& dim, int64_t ndim);

}  // namespace mt
