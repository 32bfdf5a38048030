// Linear layers and convolutions of quantized tensors: exact sums of 32 bits, then eight bits again.
#include <algorithm>
#include <vector>

#include "conv.h"
#include "int8_product.h"
#include "requantize.h"

namespace mt {
namespace {

// ---- quantized_linear ----

TensorRef quantized_linear_cpu(const Tensor& self, double scale, int64_t zero_point, const Tensor& weight,
                               const Tensor& weight_sums, const Tensor& weight_scales, const Tensor& weight_zeros,
                               const Tensor* bias, double output_scale, int64_t output_zero, bool relu) {
    MT_CHECK(self.dtype == DType::UInt8 && weight.dtype == DType::Int8 && weight.ndim == 2 && self.ndim > 0 &&
                 self.size(self.ndim - 1) == weight.size(1),
             "quantized_linear: an input of sizes ", self.sizes(), " (", dtype_name(self.dtype),
             ") does not fit a weight of sizes ", weight.sizes());
    const int64_t n = weight.size(0), k = weight.size(1);
    const Requantization r{weight_sums,  weight_scales, weight_zeros, bias, scale,
                           output_scale, zero_point,    output_zero,  relu, false};
    check_requantization(r, n, "quantized_linear");
    TensorRef x = contiguous(self), w = contiguous(weight);
    Dims sizes(self.sizes());
    sizes[self.ndim - 1] = n;
    TensorRef out = empty(sizes, DType::UInt8);
    const int64_t m = n ? out->numel() / n : 0;
    if (m == 0) return out;
    TensorRef sums = empty({m, n}, DType::Int32);
    const uint8_t* from = x->data<uint8_t>();
    int8_product(m, n, k, from, w->data<int8_t>(), sums->data<int32_t>());
    std::vector<int32_t> input_sums;
    if (has_weight_zeros(r)) {
        input_sums.resize(static_cast<size_t>(m));
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < k; j++) input_sums[static_cast<size_t>(i)] += from[i * k + j];
    }
    requantize(r, m, n, sums->data<int32_t>(), input_sums.empty() ? nullptr : input_sums.data(), 1, k,
               out->data<uint8_t>());
    return out;
}

// ---- quantized_sums ----

TensorRef quantized_sums_cpu(const Tensor& self, int64_t zero_point, const Tensor& weight, const Tensor& weight_sums,
                             const Tensor& weight_zeros) {
    MT_CHECK(self.dtype == DType::UInt8 && weight.dtype == DType::Int8 && weight.ndim == 2 && self.ndim > 0 &&
                 self.size(self.ndim - 1) == weight.size(1),
             "quantized_sums: an input of sizes ", self.sizes(), " (", dtype_name(self.dtype),
             ") does not fit a weight of sizes ", weight.sizes());
    const int64_t n = weight.size(0), k = weight.size(1);
    MT_CHECK(weight_sums.dtype == DType::Int32 && weight_sums.numel() == n && weight_zeros.dtype == DType::Int32 &&
                 (weight_zeros.numel() == n || weight_zeros.numel() == 1),
             "quantized_sums: expected sums of the weights of ", n, " rows, and zero points of them");
    TensorRef x = contiguous(self), w = contiguous(weight), of_weights = contiguous(weight_sums),
              zeros = contiguous(weight_zeros);
    Dims sizes(self.sizes());
    sizes[self.ndim - 1] = n;
    TensorRef out = empty(sizes, DType::Int32);
    const int64_t m = n ? out->numel() / n : 0;
    if (m == 0) return out;
    const uint8_t* from = x->data<uint8_t>();
    const int32_t *of_weight = of_weights->data<int32_t>(), *zero = zeros->data<int32_t>();
    int32_t* sums = out->data<int32_t>();
    int8_product(m, n, k, from, w->data<int8_t>(), sums);
    const auto x_zero = static_cast<int32_t>(zero_point), count = static_cast<int32_t>(k);
    const bool each = zeros->numel() > 1;
    for (int64_t i = 0; i < m; i++) {
        int32_t of_inputs = 0;
        for (int64_t j = 0; j < k; j++) of_inputs += from[i * k + j];
        for (int64_t j = 0; j < n; j++)
            sums[i * n + j] -= x_zero * of_weight[j] + zero[each ? j : 0] * (of_inputs - count * x_zero);
    }
    return out;
}

// ---- quantized_conv ----

// The image, channels last, within a border of `fill`.
TensorRef bordered(const Tensor& image, IntSpan padding, uint8_t fill) {
    const int dims = static_cast<int>(image.ndim) - 2;
    Dims sizes(image.sizes());
    bool any = false;
    for (int i = 0; i < dims; i++) sizes[i + 2] += 2 * padding[i], any = any || padding[i];
    Dims strides = channels_last_strides(sizes);
    TensorRef out = empty_strided(sizes, strides, DType::UInt8);
    uint8_t* to = out->data<uint8_t>();
    if (any) std::fill(to, to + out->numel(), fill);
    int64_t offset = 0;
    for (int i = 0; i < dims; i++) offset += padding[i] * out->stride(i + 2);
    TensorRef inside = as_strided(*out, image.sizes(), out->strides(), offset);
    copy_into(*inside, image);
    return out;
}

// Where there is no library for it: a row of results at a time.
void plain_sums(const conv::Geometry& g, const Tensor& image, const Tensor& weight, Tensor& sums) {
    const int64_t in_group = g.channels / g.groups, out_group = g.filters / g.groups;
    const bool deep = g.spatial == 3;
    const int64_t od = deep ? g.map[0] : 1, oh = g.map[g.spatial - 2], ow = g.map[g.spatial - 1];
    const int64_t kd = deep ? g.kernel[0] : 1, kh = g.kernel[g.spatial - 2], kw = g.kernel[g.spatial - 1];
    const int s = g.spatial - 2;
    const uint8_t* x = image.data<uint8_t>();
    const int8_t* w = weight.data<int8_t>();
    int32_t* y = sums.data<int32_t>();
    parallel_for(g.batch * od * oh, 1, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; row++) {
            const int64_t b = row / (od * oh), d = row / oh % od, h = row % oh;
            for (int64_t v = 0; v < ow; v++)
                for (int64_t o = 0; o < g.filters; o++) {
                    const int64_t first = o / out_group * in_group;
                    int32_t sum = 0;
                    for (int64_t i = 0; i < kd; i++)
                        for (int64_t j = 0; j < kh; j++)
                            for (int64_t l = 0; l < kw; l++) {
                                const int64_t deepness =
                                    deep ? (d * g.stride[0] + i * g.dilation[0]) * image.stride(2) : 0;
                                const uint8_t* from =
                                    x + b * image.stride(0) + deepness +
                                    (h * g.stride[s] + j * g.dilation[s]) * image.stride(g.spatial) +
                                    (v * g.stride[s + 1] + l * g.dilation[s + 1]) * image.stride(g.spatial + 1) + first;
                                const int8_t* by = w + ((o * in_group * kd + i) * kh + j) * kw + l;
                                for (int64_t c = 0; c < in_group; c++) sum += from[c] * by[c * kd * kh * kw];
                            }
                    y[(row * ow + v) * g.filters + o] = sum;
                }
        }
    });
}

void int8_sums(const conv::Geometry& g, const Tensor& image, const Tensor& weight, Tensor& sums) {
    if (!conv::onednn_int8_forward(g, image, weight, sums)) plain_sums(g, image, weight, sums);
}

TensorRef quantized_conv_cpu(const Tensor& self, double scale, int64_t zero_point, const Tensor& weight,
                             const Tensor& weight_sums, const Tensor& weight_scales, const Tensor& weight_zeros,
                             const Tensor* bias, IntSpan stride, IntSpan padding, IntSpan dilation, int64_t groups,
                             double output_scale, int64_t output_zero, bool relu, bool scaled_first) {
    const int dims = static_cast<int>(self.ndim) - 2;
    MT_CHECK(self.dtype == DType::UInt8 && weight.dtype == DType::Int8 && (dims == 2 || dims == 3) &&
                 weight.ndim == self.ndim && stride.size == dims && padding.size == dims && dilation.size == dims &&
                 groups > 0 && weight.size(0) % groups == 0 && self.size(1) == weight.size(1) * groups,
             "quantized_conv: an input of sizes ", self.sizes(), " (", dtype_name(self.dtype),
             ") does not fit a weight of sizes ", weight.sizes(), " and ", groups, " groups");
    conv::Geometry g;
    g.spatial = dims;
    g.batch = self.size(0), g.channels = self.size(1), g.filters = weight.size(0), g.groups = groups;
    Dims sizes{g.batch, g.filters};
    int64_t count = weight.size(1);
    for (int i = 0; i < dims; i++) {
        MT_CHECK(stride[i] > 0 && dilation[i] > 0 && padding[i] >= 0,
                 "quantized_conv: strides and dilations are at least 1, paddings at least 0");
        const int64_t length = self.size(i + 2) + 2 * padding[i], reach = (weight.size(i + 2) - 1) * dilation[i] + 1;
        MT_CHECK(length >= reach, "quantized_conv: a kernel that reaches over ", reach, " does not fit ", length);
        g.image.push_back(length), g.kernel.push_back(weight.size(i + 2)), g.padding.push_back(0);
        g.stride.push_back(stride[i]), g.dilation.push_back(dilation[i]);
        g.map.push_back((length - reach) / stride[i] + 1);
        sizes.push_back(g.map[i]);
        count *= weight.size(i + 2);
    }
    const Requantization r{weight_sums,  weight_scales, weight_zeros, bias, scale,
                           output_scale, zero_point,    output_zero,  relu, scaled_first};
    check_requantization(r, g.filters, "quantized_conv");
    Dims strides = channels_last_strides(sizes);
    TensorRef out = empty_strided(sizes, strides, DType::UInt8);
    if (out->numel() == 0) return out;
    TensorRef image = bordered(self, padding, static_cast<uint8_t>(zero_point)), w = contiguous(weight);
    TensorRef sums = empty_strided(sizes, strides, DType::Int32), input_sums;
    int8_sums(g, *image, *w, *sums);
    if (has_weight_zeros(r)) {  // the sums of the inputs are those of products with 1
        Dims ones_sizes(w->sizes()), ones_out(sizes);
        ones_sizes[0] = ones_out[1] = g.filters = groups;
        TensorRef ones = empty(ones_sizes, DType::Int8);
        std::fill(ones->data<int8_t>(), ones->data<int8_t>() + ones->numel(), int8_t{1});
        input_sums = empty_strided(ones_out, channels_last_strides(ones_out), DType::Int32);
        int8_sums(g, *image, *ones, *input_sums);
    }
    const int64_t filters = weight.size(0);
    requantize(r, out->numel() / filters, filters, sums->data<int32_t>(),
               input_sums ? input_sums->data<int32_t>() : nullptr, groups, count, out->data<uint8_t>());
    return out;
}

}  // namespace

KERNELS
{
    direct<quantized_linear_cpu>("quantized_linear");
    direct<quantized_conv_cpu>("quantized_conv");
    direct<quantized_sums_cpu>("quantized_sums");
}

}  // namespace mt
