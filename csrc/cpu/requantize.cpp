// Rounding to quantized numbers, and sums of products brought back to eight bits.
#include "requantize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace mt {
namespace {

bool fits(const Tensor& t, DType dtype, int64_t channels) {
    return t.dtype == dtype && t.is_contiguous() && (t.numel() == 1 || t.numel() == channels);
}

}  // namespace

void check_requantization(const Requantization& r, int64_t channels, const char* name) {
    MT_CHECK(fits(r.weight_scales, DType::Float32, channels) && fits(r.weight_zeros, DType::Int32, channels) &&
                 fits(r.weight_sums, DType::Int32, channels) && r.weight_sums.numel() == channels,
             name, ": expected sums (int32) of the weights of ", channels,
             " channels, and scales (float32) and zero points (int32) of them, or one of each");
    MT_CHECK(!r.bias || (r.bias->dtype == DType::Float32 && r.bias->is_contiguous() && r.bias->numel() == channels),
             name, ": expected a bias of ", channels, " numbers of float32");
}

bool has_weight_zeros(const Requantization& r) {
    const int32_t* zeros = r.weight_zeros.data<int32_t>();
    return std::any_of(zeros, zeros + r.weight_zeros.numel(), [](int32_t z) { return z != 0; });
}

void requantize(const Requantization& r, int64_t rows, int64_t channels, const int32_t* sums, const int32_t* input_sums,
                int64_t groups, int64_t count, uint8_t* to) {
    const auto n = static_cast<size_t>(channels);
    std::vector<int32_t> offset(n), zero(n);
    std::vector<float> factor(n), add(n, 0.f);
    const bool each_scale = r.weight_scales.numel() > 1, each_zero = r.weight_zeros.numel() > 1;
    const auto x_scale = static_cast<float>(r.input_scale), y_scale = static_cast<float>(r.output_scale);
    const auto x_zero = static_cast<int32_t>(r.input_zero);
    for (size_t j = 0; j < n; j++) {
        zero[j] = r.weight_zeros.data<int32_t>()[each_zero ? j : 0];
        offset[j] = x_zero * (r.weight_sums.data<int32_t>()[j] - static_cast<int32_t>(count) * zero[j]);
        const float scale = x_scale * r.weight_scales.data<float>()[each_scale ? j : 0];
        const float bias = r.bias ? r.bias->data<float>()[j] : 0.f;
        factor[j] = r.scaled_first ? scale : scale / y_scale;
        add[j] = r.scaled_first || !r.bias ? bias : bias / scale;
    }
    const float y_zero = static_cast<float>(r.output_zero), low = r.relu ? y_zero : 0.f, inverse = 1.f / y_scale;
    const auto whole_zero = static_cast<int32_t>(r.output_zero);
    const int64_t in_group = channels / std::max<int64_t>(groups, 1);
    parallel_for(rows, grain_for(channels * 2), [&](int64_t begin, int64_t end) {
        std::vector<int32_t> moved(input_sums ? n : 0);
        for (int64_t i = begin; i < end; i++) {
            const int32_t* sum = sums + i * channels;
            uint8_t* y = to + i * channels;
            if (input_sums) {
                for (int64_t j = 0; j < channels; j++)
                    moved[static_cast<size_t>(j)] =
                        sum[j] - zero[static_cast<size_t>(j)] * input_sums[i * groups + j / in_group];
                sum = moved.data();
            }
            const int32_t* away = offset.data();
            const float *times = factor.data(), *plus = add.data();
            if (r.scaled_first) {
                for (int64_t j = 0; j < channels; j++) {
                    const float value = static_cast<float>(sum[j] - away[j]) * times[j] + plus[j];
                    const float whole = std::nearbyint(value * inverse + y_zero);
                    y[j] = static_cast<uint8_t>(std::min(std::max(whole, low), 255.f));
                }
            } else {
                const float least = low - y_zero, most = 255.f - y_zero;
                for (int64_t j = 0; j < channels; j++) {
                    const float whole = std::nearbyint((static_cast<float>(sum[j] - away[j]) + plus[j]) * times[j]);
                    y[j] =
                        static_cast<uint8_t>(static_cast<int32_t>(std::min(std::max(whole, least), most)) + whole_zero);
                }
            }
        }
    });
}

namespace {

// ---- quantized_numbers ----

// PyTorch's element-wise kernels round and add the zero point then, but to what is left over of two vectors of 64
// bytes; there, and where it only quantizes, product and sum are rounded at once.
constexpr int64_t kTwoVectors = 128;

template <class T>
void round_to(const float* from, T* to, int64_t count, double scale, int64_t zero, bool zero_after) {
    const float inverse = 1.f / static_cast<float>(scale), shift = static_cast<float>(zero);
    constexpr float low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    const int64_t after = zero_after ? count - count % kTwoVectors : 0;
    // What is no number becomes the greatest, as in PyTorch's kernel.
    const auto put = [=](int64_t i, float moved) {
        to[i] = static_cast<T>(static_cast<int32_t>(std::max(moved < high ? moved : high, low)));
    };
    parallel_for(after, grain_for(4), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) put(i, std::nearbyint(from[i] * inverse) + shift);
    });
    parallel_for(count - after, grain_for(4), [&](int64_t begin, int64_t end) {
        for (int64_t i = after + begin; i < after + end; i++)
            put(i, std::nearbyint(static_cast<float>(static_cast<double>(from[i]) * static_cast<double>(inverse) +
                                                     static_cast<double>(shift))));
    });
}

TensorRef quantized_numbers_cpu(const Tensor& self, double scale, int64_t zero_point, DType dtype, bool zero_after) {
    MT_CHECK(self.dtype == DType::Float32, "quantized_numbers: expected float32, got ", dtype_name(self.dtype));
    TensorRef x = self.is_non_overlapping_and_dense() ? TensorRef::share(&self) : contiguous(self);
    TensorRef out = empty_strided(x->sizes(), x->strides(), dtype);
    if (dtype == DType::Int8)
        round_to(x->data<float>(), out->data<int8_t>(), x->numel(), scale, zero_point, zero_after);
    else if (dtype == DType::UInt8)
        round_to(x->data<float>(), out->data<uint8_t>(), x->numel(), scale, zero_point, zero_after);
    else
        MT_THROW(Runtime, "quantized_numbers: expected int8 or uint8, got ", dtype_name(dtype));
    return out;
}

// ---- quantized_floats ----

template <class T>
void stand_for(const T* from, float* to, int64_t count, double scale, int64_t zero) {
    const float times = static_cast<float>(scale), plus = times * -static_cast<float>(zero);
    const int64_t whole_vectors = count - count % kTwoVectors;
    for (int64_t i = whole_vectors; i < count; i++)
        to[i] = (static_cast<float>(from[i]) - static_cast<float>(zero)) * times;
    parallel_for(whole_vectors, grain_for(4), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++)
            to[i] = static_cast<float>(static_cast<double>(times) * static_cast<double>(from[i]) +
                                       static_cast<double>(plus));
    });
}

TensorRef quantized_floats_cpu(const Tensor& self, double scale, int64_t zero_point) {
    TensorRef x = self.is_non_overlapping_and_dense() ? TensorRef::share(&self) : contiguous(self);
    TensorRef out = empty_strided(x->sizes(), x->strides(), DType::Float32);
    float* to = out->data<float>();
    if (x->dtype == DType::Int8)
        stand_for(x->data<int8_t>(), to, x->numel(), scale, zero_point);
    else if (x->dtype == DType::UInt8)
        stand_for(x->data<uint8_t>(), to, x->numel(), scale, zero_point);
    else if (x->dtype == DType::Int32)
        stand_for(x->data<int32_t>(), to, x->numel(), scale, zero_point);
    else
        MT_THROW(Runtime, "quantized_floats: expected int8, uint8 or int32, got ", dtype_name(x->dtype));
    return out;
}

}  // namespace

KERNELS
{
    direct<quantized_numbers_cpu>("quantized_numbers");
    direct<quantized_floats_cpu>("quantized_floats");
}

}  // namespace mt
