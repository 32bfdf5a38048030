// Memory that programs reach by other ways than tensors: what reads or writes it cannot be put off.
#pragma once

#include "../tensor.h"

namespace mt {

// Holds for as long as an array, a capsule or a view of bytes made from a storage lives.
// Whether something besides tensors may read or write the memory of `t`.
bool is_exposed(const Tensor& t);

}  // namespace mt
