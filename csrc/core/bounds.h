// Tensors that show more than their storage holds: `UntypedStorage.resize_` takes memory away under its views.
#pragma once

#include "kernel.h"

namespace mt {

// RuntimeError if the elements of `t` do not lie within its storage.
void check_bounds(const Tensor& t);
// check_bounds for all tensor arguments of a call, where the operator reads elements.
void check_bounds(const Call& c);

}  // namespace mt
