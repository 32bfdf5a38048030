// Whether a number can be written into a tensor of a dtype: what fills and assignments refuse.
#pragma once

#include <initializer_list>

#include "typed_kernel.h"

namespace mt {

bool number_fits(DType dtype, const Value& v);
// RuntimeError unless `v` is in the range of `dtype`. Fractions may be lost, infinities and NaN may go where there are
// some, and unsigned integers take negative integers of their range.
void check_number_fits(DType dtype, const Value& v);
// The same for a number that becomes one element, in an assignment or scalar_tensor, as the element holds it: what is
// too large for a 16-bit float is rounded, to its largest number or to an infinity.
Value as_element(DType dtype, const Value& v);
// check_number_fits of the number that a tensor of one element holds.
void check_item_fits(DType dtype, const Tensor& t);
// check_number_fits of those arguments at `positions` that are numbers.
void check_numbers_fit(const Call& c, DType dtype, std::initializer_list<int> positions);
// check_number_fits of those that are numbers.
void check_numbers_fit(DType dtype, std::initializer_list<Input> inputs);
// The number as `dtype` holds it: integers in their range, -1 as 255 in uint8.
Value wrapped_into(DType dtype, const Value& v);

}  // namespace mt
