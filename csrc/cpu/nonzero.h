// Where a tensor is not zero: shared by nonzero, masks in indexing and the masked operators.
#pragma once

#include <vector>

#include "core/typed_kernel.h"

namespace mt {

// One int64 tensor per dimension: the positions of the nonzero elements, row-major.
std::vector<TensorRef> nonzero_columns(const Tensor& t);
// True where nonzero, contiguous bool of t's sizes.
TensorRef truth_of(const Tensor& t);
int64_t count_true(const Tensor& dense_bool);

}  // namespace mt
