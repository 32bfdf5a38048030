// Sizes and places of pixels where images are enlarged or made smaller.
#pragma once

#include <mindtorch/tensor.h>
#include <cmath>

namespace at {
namespace native {

namespace upsample {
inline c10::SmallVector<int64_t, 3> compute_output_size(IntArrayRef input, OptionalIntArrayRef output,
                                                        std::optional<ArrayRef<double>> scales) {
    TORCH_CHECK(input.size() > 2, "compute_output_size: expected an image with batch and channels, got sizes ", input);
    TORCH_CHECK(output.has_value() != scales.has_value(), "Must specify exactly one of output_size and scale_factors");
    const size_t dims = input.size() - 2;
    TORCH_CHECK((output ? output->size() : scales->size()) == dims, "compute_output_size: expected ", dims,
                " numbers for an image of sizes ", input, ", got ", output ? output->size() : scales->size());
    c10::SmallVector<int64_t, 3> sizes;
    for (size_t d = 0; d < dims; d++)
        sizes.push_back(output ? (*output)[d] : static_cast<int64_t>(static_cast<double>(input[d + 2]) * (*scales)[d]));
    return sizes;
}
inline std::optional<double> get_scale_value(std::optional<ArrayRef<double>> scales, int i) {
    return scales ? std::optional<double>(scales->at(static_cast<size_t>(i))) : std::nullopt;
}
}  // namespace upsample
// Batch, channels, and the output's height and width.
inline std::array<int64_t, 4> upsample_2d_common_check(IntArrayRef input, IntArrayRef output) {
    TORCH_CHECK(output.size() == 2, "It is expected output_size equals to 2, but got size ", output.size());
    TORCH_CHECK(input.size() == 4, "It is expected input_size equals to 4, but got size ", input.size());
    TORCH_CHECK(input[2] > 0 && input[3] > 0 && output[0] > 0 && output[1] > 0,
                "Input and output sizes should be greater than 0, but got input (H: ", input[2], ", W: ", input[3],
                ") output (H: ", output[0], ", W: ", output[1], ")");
    return {input[0], input[1], output[0], output[1]};
}
using scale_t = std::optional<double>;

// How many pixels of the input one of the output stands for.
template <class T>
T compute_scales_value(std::optional<double> scale, int64_t input, int64_t output) {
    if (scale.has_value() && *scale > 0.) return static_cast<T>(1.0 / *scale);
    return static_cast<T>(input) / static_cast<T>(output);
}
template <class T>
T area_pixel_compute_scale(int64_t input, int64_t output, bool align_corners, std::optional<double> scale) {
    if (!align_corners) return compute_scales_value<T>(scale, input, output);
    return output > 1 ? static_cast<T>(input - 1) / static_cast<T>(output - 1) : static_cast<T>(0);
}
// Where in the input a pixel of the output lies; of cubic interpolation it may lie before the first one.
template <class T>
T area_pixel_compute_source_index(T scale, int64_t index, bool align_corners, bool cubic) {
    if (align_corners) return scale * static_cast<T>(index);
    const T at = scale * (static_cast<T>(index) + static_cast<T>(0.5)) - static_cast<T>(0.5);
    return !cubic && at < static_cast<T>(0) ? static_cast<T>(0) : at;
}
inline int64_t nearest_neighbor_compute_source_index(float scale, int64_t index, int64_t input) {
    return std::min(static_cast<int64_t>(std::floor(static_cast<float>(index) * scale)), input - 1);
}
inline int64_t nearest_neighbor_exact_compute_source_index(float scale, int64_t index, int64_t input) {
    return std::min(static_cast<int64_t>(std::floor((static_cast<double>(index) + 0.5) * scale)), input - 1);
}
inline int64_t nearest_idx(int64_t index, int64_t input, int64_t output, std::optional<double> scale) {
    if (output == input) return index;
    if (output == 2 * input) return index / 2;
    return nearest_neighbor_compute_source_index(compute_scales_value<float>(scale, input, output), index, input);
}

}  // namespace native
}  // namespace at
