// Writes through views in which several elements are one (expand), and over what is still to be read.
#pragma once

#include "tensor.h"

namespace mt {

bool shows_elements_twice(const Tensor& t);
// RuntimeError for such a view: what is written to it has no defined result.
void check_overlap(const Tensor& t);
// RuntimeError for two different dense views of one memory, a part of which is in both: a write element by element
// would read what it has already written.
void check_apart(const Tensor& read, const Tensor& written);
// The same where the two may not be one view either: what is read decides where is written.
void check_disjoint(const Tensor& read, const Tensor& written);

// A flag of kernels, beside those of kernel.h: no argument but the first may share memory with what is written, in
// place or as out=. Indices, and what is written to where they say.
constexpr uint32_t kWrittenApart = 4;

}  // namespace mt
