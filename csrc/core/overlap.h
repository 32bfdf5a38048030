// Writes through views in which several elements are one (expand).
#pragma once

#include "tensor.h"

namespace mt {

bool shows_elements_twice(const Tensor& t);
// RuntimeError for such a view: what is written to it has no defined result.
void check_overlap(const Tensor& t);

}  // namespace mt
