// Parts of at::native that extensions call: positions in nested loops, sizes of resampled images, small enums.
#pragma once

#include <mindtorch/functions.h>
#include <mindtorch/vec.h>

namespace at {
namespace native {

enum class EmbeddingBagMode { SUM = 0, MEAN = 1, MAX = 2 };

// The indices (x, with X its size, and so on) of an element, the last the fastest; what is left is given back.
template <class T>
T data_index_init(T offset) {
    return offset;
}
template <class T, class... A>
T data_index_init(T offset, T& x, const T& X, A&&... rest) {
    offset = data_index_init(offset, std::forward<A>(rest)...);
    x = offset % X;
    return offset / X;
}
// The next element's; true where all have come round to zero.
inline bool data_index_step() { return true; }
template <class T, class... A>
bool data_index_step(T& x, const T& X, A&&... rest) {
    if (!data_index_step(std::forward<A>(rest)...)) return false;
    x = x + 1 == X ? T(0) : x + 1;
    return x == 0;
}

namespace utils {
// dst (N x M) of src (M x N); `ld_` are the distances of rows.
template <class T>
void transpose(int64_t M, int64_t N, const T* src, int64_t ld_src, T* dst, int64_t ld_dst) {
    for (int64_t j = 0; j < N; j++)
        for (int64_t i = 0; i < M; i++) dst[j * ld_dst + i] = src[i * ld_src + j];
}
}  // namespace utils

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

}  // namespace native
}  // namespace at
