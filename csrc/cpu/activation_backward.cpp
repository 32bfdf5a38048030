// Gradients of activation functions: (grad_output, self or result, parameters).
#include "halves.h"
#include "number.h"
#include "pointwise.h"

namespace mt {
namespace {

constexpr double kInvSqrt2Pi = 0.39894228040143267794;
constexpr double kSqrt2OverPi = 0.79788456080286535588;
constexpr double kGeluCubic = 0.044715;

void gelu_backward_cpu(Call& c) {
    if (c.string(2) == "tanh")
        return binary(c, Floats{}, []<class T>(T g, T a) -> T {
            T a2 = a * a;
            T t = vec::tanh(T(kSqrt2OverPi) * (a + T(kGeluCubic) * a2 * a));
            T slope = T(kSqrt2OverPi) * (T(1) + T(3 * kGeluCubic) * a2);
            return g * (T(0.5) * (T(1) + t) + T(0.5) * a * (T(1) - t * t) * slope);
        });
    binary(c, Floats{}, []<class T>(T g, T a) -> T {
        T cdf = T(0.5) + vec::normal_less_half(a);
        T pdf = vec::exp(T(-0.5) * a * a) * T(kInvSqrt2Pi);
        return g * (cdf + a * pdf);
    });
}

void silu_backward_cpu(Call& c) {
    binary(c, FloatsComplex{}, []<class T>(T g, T a) -> T {
        T s = T(1) / (T(1) + num::exp(-a));
        return g * s * (T(1) + a * (T(1) - s));
    });
}

void mish_backward_cpu(Call& c) {
    binary(c, Floats{}, []<class T>(T g, T a) -> T {
        T w = vec::exp(a > T(20) ? T(20) : a);
        T n = w * (w + T(2));
        T t = a > T(20) ? T(1) : n / (n + T(2));
        T s = T(1) / (T(1) + vec::exp(-a));
        return g * (t + a * s * (T(1) - t * t));
    });
}

// elu_backward(grad_output, alpha, scale, input_scale, is_result, self_or_result)
void elu_backward_cpu(Call& c) {
    double negative = c.real(1) * c.real(2), positive = c.real(2), inner = c.real(3);
    bool is_result = c.boolean(4);
    MT_CHECK(!is_result || c.real(1) >= 0,
             "In-place elu backward calculation is triggered with a negative slope which is not "
             "supported. This is caused by calling in-place forward function with a negative slope, please call "
             "out-of-place "
             "version instead.");
    DType t = c.tensor(5).dtype;
    if (is_result)
        return pointwise_as(c, Floats{}, t, {0, 5}, [=]<class T>(T g, T y) -> T {
            return y <= 0 ? g * T(inner) * (y + T(negative)) : g * T(positive);
        });
    pointwise_as(c, Floats{}, t, {0, 5}, [=]<class T>(T g, T a) -> T {
        T e = vec::exp(a > 0 ? T(0) : a * T(inner));
        return a <= 0 ? g * T(inner) * T(negative) * e : g * T(positive);
    });
}

// leaky_relu_backward(grad_output, self, negative_slope, self_is_result)
void leaky_relu_backward_cpu(Call& c) {
    double slope = c.real(2);
    MT_CHECK(
        !c.boolean(3) || slope >= 0,
        "In-place leakyReLu backward calculation is triggered with a negative slope which is not "
        "supported. This is caused by calling in-place forward function with a negative slope, please call "
        "out-of-place "
        "version instead. File an issue at https://github.com/pytorch/pytorch if you do require supporting in-place "
        "leakRelu backward calculation with negative slope");
    binary(c, Floats{}, [=]<class T>(T g, T a) -> T { return a > 0 ? g : g * T(slope); });
}

// _prelu_kernel_backward(grad_output, self, weight) -> gradients of self and weight, both broadcast
void prelu_kernel_backward_shape(ShapeCall& c) {
    const Tensor &grad = c.tensor(0), &self = c.tensor(1), &weight = c.tensor(2);
    Dims sizes = broadcast_sizes(broadcast_sizes(self.sizes(), weight.sizes()), grad.sizes());
    for (int i : {0, 1}) {
        if (grad.sizes() == IntSpan(sizes))
            c.output_like(i, grad);
        else
            c.output(i, sizes, grad.dtype);
    }
}

void prelu_kernel_backward_cpu(Call& c) {
    const int args[3] = {0, 1, 2};
    DType compute = computing_type(Floats{}, promoted(c, args, 3), c.name());
    Operand o[5] = {{&c.out(0), nullptr, compute},
                    {&c.out(1), nullptr, compute},
                    {&c.tensor(0), nullptr, compute},
                    {&c.tensor(1), nullptr, compute},
                    {&c.tensor(2), nullptr, compute}};
    visit(Floats{}, compute, c.name(), [&]<class T>() {
        run_pointwise(
            o, 5, 2,
            [](char* const* p, int64_t n, const void*) {
                T *gs = reinterpret_cast<T*>(p[0]), *gw = reinterpret_cast<T*>(p[1]);
                const T *g = reinterpret_cast<const T*>(p[2]), *a = reinterpret_cast<const T*>(p[3]),
                        *w = reinterpret_cast<const T*>(p[4]);
#pragma GCC ivdep
                for (int64_t i = 0; i < n; i++) {
                    gs[i] = a[i] > 0 ? g[i] : w[i] * g[i];
                    gw[i] = a[i] > 0 ? T(0) : a[i] * g[i];
                }
            },
            nullptr);
    });
}

void hardtanh_backward_cpu(Call& c) {
    double low = c.real(2), high = c.real(3);
    binary(c, Floats{}, [=]<class T>(T g, T a) -> T { return a <= T(low) || a >= T(high) ? T(0) : g; });
}

void hardsigmoid_backward_cpu(Call& c) {
    binary(c, Floats{}, []<class T>(T g, T a) -> T { return a > T(-3) && a < T(3) ? g / T(6) : T(0); });
}

void hardswish_backward_cpu(Call& c) {
    binary(c, Floats{}, []<class T>(T g, T a) -> T {
        return a <= T(-3) ? T(0) : a < T(3) ? g * (a / T(3) + T(0.5)) : g;
    });
}

// softplus_backward(grad_output, self, beta, threshold)
void softplus_backward_cpu(Call& c) {
    double beta = c.real(2), threshold = c.real(3);
    binary(c, Floats{}, [=]<class T>(T g, T a) -> T {
        T z = a * T(beta);
        return z > T(threshold) ? g : g / (T(1) + vec::exp(-z));
    });
}

// hardshrink and softshrink alike
void shrink_backward_cpu(Call& c) {
    double lambd = c.real(2);
    binary(c, Floats{}, [=]<class T>(T g, T a) -> T { return a >= T(-lambd) && a <= T(lambd) ? T(0) : g; });
}

void threshold_backward_cpu(Call& c) {
    if (c.tensor(1).dtype == DType::Int64)
        return pointwise_as(c, Types<int64_t>{}, DType::Int64, {0, 1, 2},
                            [](int64_t g, int64_t a, int64_t limit) -> int64_t { return a <= limit ? 0 : g; });
    double limit = c.real(2);
    binary(c, Floats{}, [=]<class T>(T g, T a) -> T { return a <= T(limit) ? T(0) : g; });
}

void sigmoid_backward_cpu(Call& c) {
    binary(c, FloatsComplex{}, []<class T>(T g, T y) -> T {
        if constexpr (num::is_cx<T>)
            return g * std::conj((T(1) - y) * y);
        else
            return g * (T(1) - y) * y;
    });
}

void tanh_backward_cpu(Call& c) {
    binary(c, FloatsComplex{}, []<class T>(T g, T y) -> T {
        if constexpr (num::is_cx<T>)
            return g * std::conj(T(1) - y * y);
        else
            return g * (T(1) - y * y);
    });
}

// logit_backward(grad_output, self, eps)
void logit_backward_cpu(Call& c) {
    double eps = c.real_or(2, -1);
    binary(c, Floats{}, [=]<class T>(T g, T a) -> T {
        T low = eps < 0 ? T(0) : T(eps), high = T(1) - low;
        T outside = eps < 0 ? std::numeric_limits<T>::quiet_NaN() : T(0);
        return a < low || a > high ? outside : g / (a * (T(1) - a));
    });
}

// log_sigmoid_backward(grad_output, self, buffer): buffer is e^-|x|
void log_sigmoid_backward_cpu(Call& c) {
    pointwise(c, Floats{}, {0, 1, 2}, []<class T>(T g, T a, T e) -> T {
        T s = e / (T(1) + e);
        return a < 0 ? g * (T(1) - s) : g * s;
    });
}

// glu_backward(grad_output, self, dim): both halves in one pass
void glu_backward_cpu(Call& c) {
    const Tensor& self = c.tensor(1);
    const int64_t dim = c.integer(2);
    TensorRef halves[4] = {half_along(c.out(0), dim, 0), half_along(c.out(0), dim, 1), half_along(self, dim, 0),
                           half_along(self, dim, 1)};
    MT_CHECK(c.tensor(0).sizes() == halves[0]->sizes(), "glu_backward: expected a gradient of shape ",
             halves[0]->sizes(), ", got ", c.tensor(0).sizes());
    const DType compute = computing_type(Floats{}, self.dtype, c.name());
    Operand o[5] = {{halves[0].get(), nullptr, compute},
                    {halves[1].get(), nullptr, compute},
                    {&c.tensor(0), nullptr, compute},
                    {halves[2].get(), nullptr, compute},
                    {halves[3].get(), nullptr, compute}};
    visit(Floats{}, compute, c.name(), [&]<class T>() {
        run_pointwise(
            o, 5, 2,
            [](char* const* p, int64_t n, const void*) {
                T *ga = reinterpret_cast<T*>(p[0]), *gb = reinterpret_cast<T*>(p[1]);
                const T *g = reinterpret_cast<const T*>(p[2]), *a = reinterpret_cast<const T*>(p[3]),
                        *b = reinterpret_cast<const T*>(p[4]);
#pragma GCC ivdep
                for (int64_t i = 0; i < n; i++) {
                    T s = T(1) / (T(1) + vec::exp(-b[i]));
                    ga[i] = g[i] * s;
                    gb[i] = g[i] * s * (T(1) - s) * a[i];
                }
            },
            nullptr);
    });
}

KERNELS
{
    structured("_prelu_kernel_backward", prelu_kernel_backward_cpu);
    shape("prelu_kernel_backward", prelu_kernel_backward_shape);
    structured("elu_backward", elu_backward_cpu);
    structured("gelu_backward", gelu_backward_cpu);
    structured("glu_backward", glu_backward_cpu);
    structured("hardshrink_backward", shrink_backward_cpu);
    structured("hardsigmoid_backward", hardsigmoid_backward_cpu);
    structured("hardswish_backward", hardswish_backward_cpu);
    structured("hardtanh_backward", hardtanh_backward_cpu);
    structured("leaky_relu_backward", leaky_relu_backward_cpu);
    structured("log_sigmoid_backward", log_sigmoid_backward_cpu);
    structured("logit_backward", logit_backward_cpu);
    structured("mish_backward", mish_backward_cpu);
    structured("sigmoid_backward", sigmoid_backward_cpu);
    structured("silu_backward", silu_backward_cpu);
    structured("softplus_backward", softplus_backward_cpu);
    structured("softshrink_backward", shrink_backward_cpu);
    structured("tanh_backward", tanh_backward_cpu);
    structured("threshold_backward", threshold_backward_cpu);
}

}  // namespace
}  // namespace mt
