// Whether a number can be written into a tensor of a dtype: what fills and assignments refuse.
#pragma once

#include "value.h"

namespace mt {

// RuntimeError unless `v` is in the range of `dtype`. Fractions may be lost, infinities and NaN may go where there are
// some, and unsigned integers take negative numbers of their range.
void check_number_fits(DType dtype, const Value& v);

}  // namespace mt
