// Convolution's geometry, and the three products that forward, backward and transposed convolution are made of.
#pragma once

#include "core/typed_kernel.h"

namespace mt::conv {

// A plain convolution from `image` (batch, channels, spatial...) to `map` (batch, filters, spatial...). A transposed
// one is the gradient of this with respect to the image.
struct Geometry {
    int spatial = 0;  // 1 to 3
    int64_t batch = 0, channels = 0, filters = 0, groups = 1;
    Dims image, map, kernel, stride, padding, dilation;

    // Padding at the far end: the same as at the near end where that gives the map's size (rounded down), else what
    // fits exactly.
    int64_t far_padding(int i) const {
        int64_t reach = (kernel[i] - 1) * dilation[i] + 1;
        if ((image[i] + 2 * padding[i] - reach) / stride[i] + 1 == map[i]) return padding[i];
        return (map[i] - 1) * stride[i] + reach - image[i] - padding[i];
    }
    bool is_pointwise() const;  // 1 x 1, stride 1, no padding
};

// All tensors are dense, row-major or channels-last; image and map in the same one of these orders (`channels_last`).
// map = image * weight (+ bias)
void forward(const Geometry& g, const Tensor& image, const Tensor& weight, const Tensor* bias, Tensor& map,
             bool channels_last);
// image = gradient of the image, given the map's
void backward_data(const Geometry& g, const Tensor& map, const Tensor& weight, Tensor& image, bool channels_last);
// weight = gradient of the weight
void backward_weight(const Geometry& g, const Tensor& image, const Tensor& map, Tensor& weight, bool channels_last);

// Through oneDNN (float32, bfloat16); false where it has no primitive.
bool onednn_forward(const Geometry& g, const Tensor& image, const Tensor& weight, const Tensor* bias, Tensor& map,
                    bool channels_last);
// Sums of 32 bits of an image of uint8 and a weight of int8, exact; false where oneDNN has none.
bool onednn_int8_forward(const Geometry& g, const Tensor& image, const Tensor& weight, Tensor& sums);
bool onednn_backward_data(const Geometry& g, const Tensor& map, const Tensor& weight, Tensor& image,
                          bool channels_last);
bool onednn_backward_weight(const Geometry& g, const Tensor& image, const Tensor& map, Tensor& weight,
                            bool channels_last);

// Through columns and a matrix product: any dtype, row-major tensors.
void columns_forward(const Geometry& g, const Tensor& image, const Tensor& weight, const Tensor* bias, Tensor& map);
void columns_backward_data(const Geometry& g, const Tensor& map, const Tensor& weight, Tensor& image);
void columns_backward_weight(const Geometry& g, const Tensor& image, const Tensor& map, Tensor& weight);

// The columns themselves: (batch, channels * kernel, map) from (batch, channels, image), and the sum back.
void image_to_columns(const Geometry& g, const Tensor& image, Tensor& columns);
void columns_to_image(const Geometry& g, const Tensor& columns, Tensor& image);

}  // namespace mt::conv
