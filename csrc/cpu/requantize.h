// From exact sums of products of whole numbers to the whole numbers of a quantized result.
#pragma once

#include <cstdint>

#include "core/typed_kernel.h"

namespace mt {

// How a layer's sums become its result. PyTorch's engines round differently where a result lies between two numbers.
struct Requantization {
    const Tensor& weight_sums;    // int32, for each channel: the sum of its weights
    const Tensor& weight_scales;  // float32, one or one for each channel
    const Tensor& weight_zeros;   // int32, one or one for each channel
    const Tensor* bias;           // float32, for each channel
    double input_scale, output_scale;
    int64_t input_zero, output_zero;
    bool relu;
    bool scaled_first;  // (sum * scale + bias) / output scale, as oneDNN; else (sum + bias / scale) * (scale / output
                        // scale)
};

// `rows` times `channels` sums, channels innermost; `input_sums` (null: every weight's zero point is 0) has for each
// row, and each of `groups` groups of channels, the sum of the inputs; `count` inputs are in a sum.
void requantize(const Requantization& r, int64_t rows, int64_t channels, const int32_t* sums, const int32_t* input_sums,
                int64_t groups, int64_t count, uint8_t* to);

void check_requantization(const Requantization& r, int64_t channels, const char* name);
bool has_weight_zeros(const Requantization& r);

}  // namespace mt
