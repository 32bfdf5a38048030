// Conversion of runs of elements between any two dtypes: what mixed-dtype kernels, copies and casts are built on.
#pragma once

#include "core/typed_kernel.h"

namespace mt {

// n elements of dtype `from` at `src` become dtype `to` at `dst`; strides in bytes. Source and destination may be the
// same memory when neither element size nor stride differs. Values convert as PyTorch's casts do: floats to integers
// truncate, integers wrap, complex to real drops the imaginary part, anything to bool is `!= 0`.
void cast_run(void* dst, int64_t dst_stride, DType to, const void* src, int64_t src_stride, DType from, int64_t n);

}  // namespace mt
