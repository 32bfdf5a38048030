// Conversion of runs of elements between any two dtypes: what mixed-dtype kernels, copies and casts are built on.
#pragma once

#include "core/kernel.h"

namespace mt {

// n elements of dtype `from` at `src` become dtype `to` at `dst`; strides in bytes. Source and destination may be the
// same memory when neither element size nor stride differs. Values convert as PyTorch's casts do: floats to integers
// truncate, integers wrap, complex to real drops the imaginary part, anything to bool is `!= 0`.
void cast_run(void* dst, int64_t dst_stride, DType to, const void* src, int64_t src_stride, DType from, int64_t n);

// Contiguous 16-bit floats to float and back.
void half_to_float(float* dst, const Half* src, int64_t n);
void float_to_half(Half* dst, const float* src, int64_t n);
void bfloat16_to_float(float* dst, const BFloat16* src, int64_t n);
void float_to_bfloat16(BFloat16* dst, const float* src, int64_t n);
inline void to_float(float* dst, const Half* src, int64_t n) { half_to_float(dst, src, n); }
inline void to_float(float* dst, const BFloat16* src, int64_t n) { bfloat16_to_float(dst, src, n); }
inline void from_float(Half* dst, const float* src, int64_t n) { float_to_half(dst, src, n); }
inline void from_float(BFloat16* dst, const float* src, int64_t n) { float_to_bfloat16(dst, src, n); }

}  // namespace mt
