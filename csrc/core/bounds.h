// Tensors that show more than their storage holds: `UntypedStorage.resize_` takes memory away under its views.
#pragma once

#include "kernel.h"

namespace mt {

// RuntimeError if the elements of `t` do not lie within its storage.
void check_bounds(const Tensor& t);
// Views and new tensors of another's form read its sizes only, and some operators change where it lies.
bool reads_elements(const Operator& op);
// check_bounds for all tensor arguments of a call, where the operator reads elements.
void check_bounds(const Call& c);

}  // namespace mt
