// Gradients of activation functions: (grad_output, self or result, parameters).
#include "halves.h"
#include "number.h"
#include "pointwise.h"

namespace mt {
namespace {

constexpr double kInvSqrt2Pi = 0.39894228040143267794;
constexpr double kSqrt2OverPi = 0.79788456080286535588;
constexpr double kGeluCubic = 0.044715;

void gelu_backward_cpu(Out out, const Tensor& grad_output, const Tensor& self, std::string_view approximate) {
    if (approximate == "tanh")
        return pointwise(out, Floats{}, {grad_output, self}, []<class T>(T g, T a) -> T {
            T a2 = a * a;
            T t = vec::tanh(T(kSqrt2OverPi) * (a + T(kGeluCubic) * a2 * a));
            T slope = T(kSqrt2OverPi) * (T(1) + T(3 * kGeluCubic) * a2);
            return g * (T(0.5) * (T(1) + t) + T(0.5) * a * (T(1) - t * t) * slope);
        });
    pointwise(out, Floats{}, {grad_output, self}, []<class T>(T g, T a) -> T {
        T cdf = T(0.5) + vec::normal_less_half(a);
        T pdf = vec::exp(T(-0.5) * a * a) * T(kInvSqrt2Pi);
        return g * (cdf + a * pdf);
    });
}

void silu_backward_cpu(Out out, const Tensor& grad_output, const Tensor& self) {
    pointwise(out, FloatsComplex{}, {grad_output, self}, []<class T>(T g, T a) -> T {
        T s = T(1) / (T(1) + num::exp(-a));
        return g * s * (T(1) + a * (T(1) - s));
    });
}

void mish_backward_cpu(Out out, const Tensor& grad_output, const Tensor& self) {
    pointwise(out, Floats{}, {grad_output, self}, []<class T>(T g, T a) -> T {
        T w = vec::exp(a > T(20) ? T(20) : a);
        T n = w * (w + T(2));
        T t = a > T(20) ? T(1) : n / (n + T(2));
        T s = T(1) / (T(1) + vec::exp(-a));
        return g * (t + a * s * (T(1) - t * t));
    });
}

void elu_backward_cpu(Out out, const Tensor& grad_output, double alpha, double positive, double inner, bool is_result,
                      const Tensor& self_or_result) {
    double negative = alpha * positive;
    MT_CHECK(!is_result || alpha >= 0,
             "In-place elu backward calculation is triggered with a negative slope which is not "
             "supported. This is caused by calling in-place forward function with a negative slope, please call "
             "out-of-place "
             "version instead.");
    DType t = self_or_result.dtype;
    if (is_result)
        return pointwise_as(out, Floats{}, t, {grad_output, self_or_result}, [=]<class T>(T g, T y) -> T {
            return y <= 0 ? g * T(inner) * (y + T(negative)) : g * T(positive);
        });
    pointwise_as(out, Floats{}, t, {grad_output, self_or_result}, [=]<class T>(T g, T a) -> T {
        T e = vec::exp(a > 0 ? T(0) : a * T(inner));
        return a <= 0 ? g * T(inner) * T(negative) * e : g * T(positive);
    });
}

void leaky_relu_backward_cpu(Out out, const Tensor& grad_output, const Tensor& self, double slope,
                             bool self_is_result) {
    MT_CHECK(
        !self_is_result || slope >= 0,
        "In-place leakyReLu backward calculation is triggered with a negative slope which is not "
        "supported. This is caused by calling in-place forward function with a negative slope, please call "
        "out-of-place "
        "version instead. File an issue at https://github.com/pytorch/pytorch if you do require supporting in-place "
        "leakRelu backward calculation with negative slope");
    pointwise(out, Floats{}, {grad_output, self}, [=]<class T>(T g, T a) -> T { return a > 0 ? g : g * T(slope); });
}

// _prelu_kernel_backward(grad_output, self, weight) -> gradients of self and weight, both broadcast
void prelu_kernel_backward_shape(ShapeCall& c, const Tensor& grad, const Tensor& self, const Tensor& weight) {
    Dims sizes = broadcast_sizes(broadcast_sizes(self.sizes(), weight.sizes()), grad.sizes());
    for (int i : {0, 1}) {
        if (grad.sizes() == IntSpan(sizes))
            c.output_like(i, grad);
        else
            c.output(i, sizes, grad.dtype);
    }
}

void prelu_kernel_backward_cpu(Out out, const Tensor& grad_output, const Tensor& self, const Tensor& weight) {
    DType compute = computing_type(Floats{}, promoted({grad_output, self, weight}), out.name());
    Operand o[5] = {{&out[0], nullptr, compute},
                    {&out[1], nullptr, compute},
                    {&grad_output, nullptr, compute},
                    {&self, nullptr, compute},
                    {&weight, nullptr, compute}};
    visit(Floats{}, compute, out.name(), [&]<class T>() {
        run_pointwise(
            o, 5, 2, +[](char* const* p, int64_t n, const void*) {
                T *gs = reinterpret_cast<T*>(p[0]), *gw = reinterpret_cast<T*>(p[1]);
                const T *g = reinterpret_cast<const T*>(p[2]), *a = reinterpret_cast<const T*>(p[3]),
                        *w = reinterpret_cast<const T*>(p[4]);
#pragma GCC ivdep
                for (int64_t i = 0; i < n; i++) {
                    gs[i] = a[i] > 0 ? g[i] : w[i] * g[i];
                    gw[i] = a[i] > 0 ? T(0) : a[i] * g[i];
                }
            });
    });
}

void hardtanh_backward_cpu(Out out, const Tensor& grad_output, const Tensor& self, double low, double high) {
    pointwise(out, Floats{}, {grad_output, self},
              [=]<class T>(T g, T a) -> T { return a <= T(low) || a >= T(high) ? T(0) : g; });
}

void hardsigmoid_backward_cpu(Out out, const Tensor& grad_output, const Tensor& self) {
    pointwise(out, Floats{}, {grad_output, self},
              []<class T>(T g, T a) -> T { return a > T(-3) && a < T(3) ? g / T(6) : T(0); });
}

void hardswish_backward_cpu(Out out, const Tensor& grad_output, const Tensor& self) {
    pointwise(out, Floats{}, {grad_output, self}, []<class T>(T g, T a) -> T {
        return a <= T(-3) ? T(0) : a < T(3) ? g * (a / T(3) + T(0.5)) : g;
    });
}

void softplus_backward_cpu(Out out, const Tensor& grad_output, const Tensor& self, double beta, double threshold) {
    pointwise(out, Floats{}, {grad_output, self}, [=]<class T>(T g, T a) -> T {
        T z = a * T(beta);
        return z > T(threshold) ? g : g / (T(1) + vec::exp(-z));
    });
}

// hardshrink and softshrink alike
void shrink_backward_cpu(Out out, const Tensor& grad_out, const Tensor& self, double lambd) {
    pointwise(out, Floats{}, {grad_out, self},
              [=]<class T>(T g, T a) -> T { return a >= T(-lambd) && a <= T(lambd) ? T(0) : g; });
}

void threshold_backward_cpu(Out out, const Tensor& grad_output, const Tensor& self, const Value& threshold) {
    if (self.dtype == DType::Int64)
        return pointwise_as(out, Types<int64_t>{}, DType::Int64, {grad_output, self, threshold},
                            [](int64_t g, int64_t a, int64_t limit) -> int64_t { return a <= limit ? 0 : g; });
    double limit = threshold.as_double();
    pointwise(out, Floats{}, {grad_output, self}, [=]<class T>(T g, T a) -> T { return a <= T(limit) ? T(0) : g; });
}

void sigmoid_backward_cpu(Out out, const Tensor& grad_output, const Tensor& output) {
    pointwise(out, FloatsComplex{}, {grad_output, output}, []<class T>(T g, T y) -> T {
        if constexpr (num::is_cx<T>)
            return g * std::conj((T(1) - y) * y);
        else
            return g * (T(1) - y) * y;
    });
}

void tanh_backward_cpu(Out out, const Tensor& grad_output, const Tensor& output) {
    pointwise(out, FloatsComplex{}, {grad_output, output}, []<class T>(T g, T y) -> T {
        if constexpr (num::is_cx<T>)
            return g * std::conj(T(1) - y * y);
        else
            return g * (T(1) - y * y);
    });
}

void logit_backward_cpu(Out out, const Tensor& grad_output, const Tensor& self, std::optional<double> given_eps) {
    double eps = given_eps.value_or(-1);
    pointwise(out, Floats{}, {grad_output, self}, [=]<class T>(T g, T a) -> T {
        T low = eps < 0 ? T(0) : T(eps), high = T(1) - low;
        T outside = eps < 0 ? std::numeric_limits<T>::quiet_NaN() : T(0);
        return a < low || a > high ? outside : g / (a * (T(1) - a));
    });
}

// log_sigmoid_backward(grad_output, self, buffer): buffer is e^-|x|
void log_sigmoid_backward_cpu(Out out, const Tensor& grad_output, const Tensor& self, const Tensor& buffer) {
    pointwise(out, Floats{}, {grad_output, self, buffer}, []<class T>(T g, T a, T e) -> T {
        T s = e / (T(1) + e);
        return a < 0 ? g * (T(1) - s) : g * s;
    });
}

// glu_backward(grad_output, self, dim): both halves in one pass
void glu_backward_cpu(Out out, const Tensor& grad_output, const Tensor& self, int64_t dim) {
    TensorRef halves[4] = {half_along(out, dim, 0), half_along(out, dim, 1), half_along(self, dim, 0),
                           half_along(self, dim, 1)};
    MT_CHECK(grad_output.sizes() == halves[0]->sizes(), "glu_backward: expected a gradient of shape ",
             halves[0]->sizes(), ", got ", grad_output.sizes());
    const DType compute = computing_type(Floats{}, self.dtype, out.name());
    Operand o[5] = {{halves[0].get(), nullptr, compute},
                    {halves[1].get(), nullptr, compute},
                    {&grad_output, nullptr, compute},
                    {halves[2].get(), nullptr, compute},
                    {halves[3].get(), nullptr, compute}};
    visit(Floats{}, compute, out.name(), [&]<class T>() {
        run_pointwise(
            o, 5, 2, +[](char* const* p, int64_t n, const void*) {
                T *ga = reinterpret_cast<T*>(p[0]), *gb = reinterpret_cast<T*>(p[1]);
                const T *g = reinterpret_cast<const T*>(p[2]), *a = reinterpret_cast<const T*>(p[3]),
                        *b = reinterpret_cast<const T*>(p[4]);
#pragma GCC ivdep
                for (int64_t i = 0; i < n; i++) {
                    T s = T(1) / (T(1) + vec::exp(-b[i]));
                    ga[i] = g[i] * s;
                    gb[i] = g[i] * s * (T(1) - s) * a[i];
                }
            });
    });
}

KERNELS
{
    structured<prelu_kernel_backward_cpu>("_prelu_kernel_backward");
    shape<prelu_kernel_backward_shape>("prelu_kernel_backward");
    structured<elu_backward_cpu>("elu_backward");
    structured<gelu_backward_cpu>("gelu_backward");
    structured<glu_backward_cpu>("glu_backward");
    structured<shrink_backward_cpu>("hardshrink_backward");
    structured<hardsigmoid_backward_cpu>("hardsigmoid_backward");
    structured<hardswish_backward_cpu>("hardswish_backward");
    structured<hardtanh_backward_cpu>("hardtanh_backward");
    structured<leaky_relu_backward_cpu>("leaky_relu_backward");
    structured<log_sigmoid_backward_cpu>("log_sigmoid_backward");
    structured<logit_backward_cpu>("logit_backward");
    structured<mish_backward_cpu>("mish_backward");
    structured<sigmoid_backward_cpu>("sigmoid_backward");
    structured<silu_backward_cpu>("silu_backward");
    structured<softplus_backward_cpu>("softplus_backward");
    structured<shrink_backward_cpu>("softshrink_backward");
    structured<tanh_backward_cpu>("tanh_backward");
    structured<threshold_backward_cpu>("threshold_backward");
}

}  // namespace
}  // namespace mt
