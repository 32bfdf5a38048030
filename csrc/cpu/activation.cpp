// Activation functions.
#include "halves.h"
#include "number.h"
#include "pointwise.h"

namespace mt {
namespace {

constexpr double kSqrt2OverPi = 0.79788456080286535588;
constexpr double kGeluCubic = 0.044715;

void relu_cpu(Call& c) {
    MT_CHECK(!is_bool(c.tensor(0).dtype), "Boolean inputs not supported for relu");
    unary(c, RealsFast{}, []<class T>(T a) -> T { return a <= 0 ? T(0) : a; });
}

void gelu_cpu(Call& c) {
    std::string_view approximate = c.string(1);
    if (approximate == "tanh")
        return unary(c, Floats{}, []<class T>(T a) -> T {
            T inner = T(kSqrt2OverPi) * (a + T(kGeluCubic) * a * a * a);
            return T(0.5) * a * (T(1) + vec::tanh(inner));
        });
    MT_CHECK(approximate == "none", "approximate argument must be either none or tanh.");
    unary(c, Floats{}, []<class T>(T a) -> T { return a * (T(0.5) + vec::normal_less_half(a)); });
}

void silu_cpu(Call& c) {
    unary(c, FloatsComplex{}, []<class T>(T a) -> T { return a / (T(1) + num::exp(-a)); });
}

// tanh(softplus(x)) = n / (n + 2) with n = e^x (e^x + 2)
void mish_cpu(Call& c) {
    unary(c, Floats{}, []<class T>(T a) -> T {
        T w = vec::exp(a > T(20) ? T(20) : a);
        T n = w * (w + T(2));
        return a > T(20) ? a : a * (n / (n + T(2)));
    });
}

void elu_cpu(Call& c) {
    double negative = c.real(1) * c.real(2), positive = c.real(2), inner = c.real(3);
    unary(c, Floats{}, [=]<class T>(T a) -> T {
        T e = vec::expm1(a > 0 ? T(0) : a * T(inner)) * T(negative);
        return a > 0 ? a * T(positive) : e;
    });
}

void leaky_relu_cpu(Call& c) {
    double slope = c.real(1);
    unary(c, Floats{}, [=]<class T>(T a) -> T { return a > 0 ? a : a * T(slope); });
}

void prelu_kernel_cpu(Call& c) {
    pointwise(c, Floats{}, {0, 1}, []<class T>(T a, T w) -> T { return a > 0 ? a : w * a; });
}

void hardtanh_cpu(Call& c) {
    MT_CHECK(!is_bool(c.tensor(0).dtype), "Bool inputs not supported for hardtanh");
    pointwise_as(c, Reals{}, c.tensor(0).dtype, {0, 1, 2}, []<class T>(T a, T lo, T hi) -> T {
        return a < lo ? lo : a > hi ? hi : a;
    });
}

void hardsigmoid_cpu(Call& c) {
    unary(c, Floats{}, []<class T>(T a) -> T {
        T s = a + T(3);
        return (s < 0 ? T(0) : s > T(6) ? T(6) : s) / T(6);
    });
}

void hardswish_cpu(Call& c) {
    unary(c, Floats{}, []<class T>(T a) -> T {
        T s = a + T(3);
        return a * (s < 0 ? T(0) : s > T(6) ? T(6) : s) / T(6);
    });
}

void softplus_cpu(Call& c) {
    double beta = c.real(1), threshold = c.real(2);
    unary(c, Floats{}, [=]<class T>(T a) -> T {
        T z = a * T(beta);
        T r = vec::softplus(z) / T(beta);
        return z > T(threshold) ? a : r;
    });
}

void softshrink_cpu(Call& c) {
    double lambd = c.real(1);
    DType t = c.tensor(0).dtype;
    double largest = t == DType::Float64    ? std::numeric_limits<double>::max()
                     : t == DType::Float16  ? 65504.0
                     : t == DType::BFloat16 ? 3.3895313892515355e38
                                            : std::numeric_limits<float>::max();
    MT_CHECK(lambd >= 0 && lambd <= largest, "lambda must be in range [0, ", largest, "] for input dtype ",
             dtype_class_name(t), ", but found ", lambd);
    unary(c, Floats{}, [=]<class T>(T a) -> T {
        return a > T(lambd) ? a - T(lambd) : a < T(-lambd) ? a + T(lambd) : a * T(0);
    });
}

void hardshrink_cpu(Call& c) {
    double lambd = c.real(1);
    unary(c, Floats{}, [=]<class T>(T a) -> T { return a >= T(-lambd) && a <= T(lambd) ? T(0) : a; });
}

void threshold_cpu(Call& c) {
    pointwise_as(c, Reals{}, c.tensor(0).dtype, {0, 1, 2},
                 []<class T>(T a, T limit, T value) -> T { return a <= limit ? value : a; });
}

// Second output: e^-|x|, which the backward needs. In float and double the first is made of it.
void log_sigmoid_forward_cpu(Call& c) {
    const Tensor& self = c.tensor(0);
    DType compute = computing_type(Floats{}, self.dtype, c.name());
    const bool exact = compute == self.dtype && c.out(1).dtype == compute;
    if (!exact) unary(c, Floats{}, []<class T>(T a) -> T { return -vec::softplus(-a); });
    Operand o[3] = {{&c.out(1), nullptr, compute}, {&self, nullptr, compute}, {&c.out(1), nullptr, compute}};
    visit(Floats{}, compute, c.name(), [&]<class T>() {
        auto decay = [](T a) -> T { return vec::exp(a > 0 ? -a : a); };
        run_pointwise(o, 2, 1, detail::loop_of<decltype(decay), T, 1>, &decay);
        if (!exact) return;
        auto value = [](T a, T e) -> T { return (a > 0 ? T(0) : a) - vec::log1p(e); };
        o[0] = {&c.out(0), nullptr, compute};
        run_pointwise(o, 3, 1, detail::loop_of<decltype(value), T, 2>, &value);
    });
}

void glu_shape(ShapeCall& c) {
    const Tensor& self = c.tensor(0);
    MT_CHECK(self.ndim > 0, "glu does not support 0-dimensional tensors");
    const int64_t dim = wrap_dim(c.integer(1), self.ndim);
    MT_CHECK(self.size(dim) % 2 == 0, "Halving dimension must be even, but dimension ", dim, " is size ",
             self.size(dim));
    Dims sizes(self.sizes());
    sizes[dim] /= 2;
    c.output(0, sizes, self.dtype);
}

void glu_cpu(Call& c) {
    const Tensor& self = c.tensor(0);
    TensorRef value = half_along(self, c.integer(1), 0), gate = half_along(self, c.integer(1), 1);
    const DType compute = computing_type(Floats{}, self.dtype, c.name());
    Operand o[3] = {{&c.out(0), nullptr, compute}, {value.get(), nullptr, compute}, {gate.get(), nullptr, compute}};
    visit(Floats{}, compute, c.name(), [&]<class T>() {
        auto gated = [](T a, T b) -> T { return a / (T(1) + vec::exp(-b)); };
        constexpr LoopFn loop = detail::loop_of<decltype(gated), T, 2>;
        if (is_reduced_float(self.dtype) && c.out(0).dtype == self.dtype)
            run_narrow(o, 3, self.dtype, loop, &gated);
        else
            run_pointwise(o, 3, 1, loop, &gated);
    });
}

KERNELS
{
    structured("_prelu_kernel", prelu_kernel_cpu);
    structured("elu", elu_cpu, kInputMayAlias);
    structured("gelu", gelu_cpu, kInputMayAlias);
    shape("glu", glu_shape);
    structured("glu", glu_cpu);
    structured("hardshrink", hardshrink_cpu, kInputMayAlias);
    structured("hardsigmoid", hardsigmoid_cpu, kInputMayAlias);
    structured("hardswish", hardswish_cpu, kInputMayAlias);
    structured("hardtanh", hardtanh_cpu, kInputMayAlias);
    structured("leaky_relu", leaky_relu_cpu, kInputMayAlias);
    structured("log_sigmoid_forward", log_sigmoid_forward_cpu);
    structured("mish", mish_cpu, kInputMayAlias);
    structured("relu", relu_cpu, kInputMayAlias);
    structured("silu", silu_cpu, kInputMayAlias);
    structured("softplus", softplus_cpu, kInputMayAlias);
    structured("softshrink", softshrink_cpu, kInputMayAlias);
    structured("threshold", threshold_cpu, kInputMayAlias);
}

}  // namespace
}  // namespace mt
