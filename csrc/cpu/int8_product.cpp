// Products of 8-bit whole numbers, and linear layers whose input is quantized when it comes.
#include "int8_product.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/typed_kernel.h"

namespace mt {
namespace {

constexpr int64_t kFewRows = 4;  // of `a`: up to here each row of `b` is read once, as fast as memory gives it

template <class T>
int32_t dot(const T* a, const int8_t* b, int64_t k) {
    int32_t sum = 0;
    for (int64_t i = 0; i < k; i++) sum += int32_t(a[i]) * int32_t(b[i]);
    return sum;
}

template <class T>
void product(int64_t m, int64_t n, int64_t k, const T* a, const int8_t* b, int32_t* c) {
    if (m > kFewRows && onednn_int8_product(m, n, k, a, std::is_signed_v<T>, b, c)) return;
    parallel_for(n, grain_for(m * k), [&](int64_t begin, int64_t end) {
        for (int64_t j = begin; j < end; j++)
            for (int64_t i = 0; i < m; i++) c[i * n + j] = dot(a + i * k, b + j * k, k);
    });
}

}  // namespace

void int8_product(int64_t m, int64_t n, int64_t k, const int8_t* a, const int8_t* b, int32_t* c) {
    product(m, n, k, a, b, c);
}
void int8_product(int64_t m, int64_t n, int64_t k, const uint8_t* a, const int8_t* b, int32_t* c) {
    product(m, n, k, a, b, c);
}

namespace {

// ---- _int_mm ----

void int_mm_shape(ShapeCall& c, const Tensor& self, const Tensor& other) {
    MT_CHECK(self.ndim == 2 && other.ndim == 2 && self.size(1) == other.size(1),
             "int8_product: expected matrices with rows of one length, got ", self.sizes(), " and ", other.sizes());
    MT_CHECK(self.dtype == DType::Int8 && other.dtype == DType::Int8, "int8_product: expected int8, got ",
             dtype_name(self.dtype), " and ", dtype_name(other.dtype));
    c.output(0, {self.size(0), other.size(0)}, DType::Int32);
}
void int_mm_cpu(Out out, const Tensor& self, const Tensor& other) {
    TensorRef a = contiguous(self), b = contiguous(other);
    if (out->numel())
        int8_product(self.size(0), other.size(0), self.size(1), a->data<int8_t>(), b->data<int8_t>(),
                     out->data<int32_t>());
}

// ---- dynamic_linear ----

struct Quantization {
    float scale;
    int32_t zero_point;
};

// The scale and the zero point with which the numbers from `least` to `greatest` become 0 to `most`, as PyTorch's
// back ends choose them: zero is exact, and a scale is not below 6.1e-5.
Quantization choose(float least, float greatest, int64_t most) {
    double low = std::min(least, 0.f), high = std::max(greatest, 0.f);
    double scale = (high - low) / static_cast<double>(most);
    if (static_cast<float>(scale) == 0 || std::isinf(1.f / static_cast<float>(scale))) scale = 0.1;
    constexpr double kLeastScale = 6.1e-5f;
    if (scale < kLeastScale) {
        const double times = kLeastScale / scale;
        scale = kLeastScale;
        if (low == 0)
            high = kLeastScale * static_cast<double>(most);
        else if (high == 0)
            low = -kLeastScale * static_cast<double>(most);
        else
            low *= times, high *= times;
    }
    const double from_low = -low / scale, from_high = static_cast<double>(most) - high / scale;
    const double error_low = std::fabs(low / scale), error_high = static_cast<double>(most) + std::fabs(high / scale);
    const double zero = std::nearbyint(error_low < error_high ? from_low : from_high);
    return {static_cast<float>(scale), static_cast<int32_t>(std::clamp(zero, 0.0, static_cast<double>(most)))};
}

void dynamic_linear_shape(ShapeCall& c, const Tensor& self, const Tensor& weight, const Tensor& scales,
                          const Tensor* bias) {
    MT_CHECK(self.ndim > 0 && weight.ndim == 2 && self.size(self.ndim - 1) == weight.size(1),
             "dynamic_linear: an input of sizes ", self.sizes(), " does not fit a weight of sizes ", weight.sizes());
    MT_CHECK(self.dtype == DType::Float32 && weight.dtype == DType::Int8 && scales.dtype == DType::Float32,
             "dynamic_linear: expected a float32 input, an int8 weight and float32 scales, got ",
             dtype_name(self.dtype), ", ", dtype_name(weight.dtype), " and ", dtype_name(scales.dtype));
    const int64_t n = weight.size(0);
    MT_CHECK(scales.numel() == 1 || (scales.ndim == 1 && scales.numel() == n),
             "dynamic_linear: expected one scale, or ", n, ", got ", scales.sizes());
    MT_CHECK(!bias || (bias->ndim == 1 && bias->size(0) == n && bias->dtype == DType::Float32),
             "dynamic_linear: expected a float32 bias of ", n, " numbers");
    Dims sizes(self.sizes());
    sizes[self.ndim - 1] = n;
    c.output(0, sizes, DType::Float32);
}
void dynamic_linear_cpu(Out out, const Tensor& self, const Tensor& weight, const Tensor& scales, const Tensor* bias,
                        int64_t most) {
    MT_CHECK_VALUE(most > 0 && most <= 127, "dynamic_linear: an input becomes numbers up to 127, not ", most);
    if (out->numel() == 0) return;
    TensorRef x = contiguous(self), w = contiguous(weight), s = contiguous(scales), b;
    if (bias) b = contiguous(*bias);
    const int64_t n = w->size(0), k = w->size(1), m = out->numel() / n;
    const float* from = x->data<float>();
    float least = 0, greatest = 0;
    for (int64_t i = 0; i < m * k; i++) least = std::min(least, from[i]), greatest = std::max(greatest, from[i]);
    const Quantization q = choose(least, greatest, most);
    const float inverse = 1.f / q.scale, zero = static_cast<float>(q.zero_point);
    TensorRef whole = empty({m, k}, DType::Int8), sums = empty({m, n}, DType::Int32);
    int8_t* to = whole->data<int8_t>();
    parallel_for(m * k, grain_for(4), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) {
            const float moved = std::nearbyint(from[i] * inverse + zero);
            to[i] = static_cast<int8_t>(static_cast<int32_t>(std::clamp(moved, 0.f, static_cast<float>(most))) -
                                        q.zero_point);
        }
    });
    int8_product(m, n, k, to, w->data<int8_t>(), sums->data<int32_t>());
    const int32_t* sum = sums->data<int32_t>();
    const float *scale = s->data<float>(), *add = b ? b->data<float>() : nullptr;
    const bool each = s->numel() > 1;
    float* y = out->data<float>();
    parallel_for(m, grain_for(n), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++)
            for (int64_t j = 0; j < n; j++)
                y[i * n + j] =
                    static_cast<float>(sum[i * n + j]) * (q.scale * scale[each ? j : 0]) + (add ? add[j] : 0.f);
    });
}

}  // namespace

KERNELS
{
    shape<int_mm_shape>("int8_product");
    structured<int_mm_cpu>("int8_product", kContiguousOutputs);
    shape<dynamic_linear_shape>("dynamic_linear");
    structured<dynamic_linear_cpu>("dynamic_linear", kContiguousOutputs);
}

}  // namespace mt
