// Views that show the conjugates or the negatives of what their memory holds: the keys Conjugate and Negative of a
// tensor say so. Operators on views keep the keys; for all others the numbers are worked out first.
#pragma once

#include "kernel.h"

namespace mt {

constexpr KeySet kLazyKeys = KeySet(Key::Conjugate) | Key::Negative;
inline bool is_lazy(const Tensor& t) { return !(t.keys & kLazyKeys).empty(); }

// The same memory without the keys.
TensorRef bare_of(const Tensor& lazy);
// The numbers that the tensor shows, in memory of their own, laid out as there. CPU tensors only.
TensorRef materialized(const Tensor& lazy);
// Makes the view show these numbers, which have its shape.
void write_through(Tensor& lazy, const Tensor& values);
// The view that shows the conjugates, or the negatives, of what the tensor shows. No view tracking.
TensorRef toggled(const Tensor& t, KeySet keys);
// Whether such a view can be made of the tensor: it has memory on the CPU, and nothing but autograd watches it.
bool may_be_lazy(const Tensor& t);

// The kernel of both keys for every operator.
void run_lazy(Call& c);

}  // namespace mt
