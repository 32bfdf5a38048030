// Activation functions.
#include "core/number_fits.h"
#include "halves.h"
#include "number.h"
#include "pointwise.h"

namespace mt {
namespace {

constexpr double kSqrt2OverPi = 0.79788456080286535588;
constexpr double kGeluCubic = 0.044715;

void relu_cpu(Out out, const Tensor& self) {
    MT_CHECK(!is_bool(self.dtype), "Boolean inputs not supported for relu");
    unary(out, RealsFast{}, self, []<class T>(T a) -> T { return a < 0 ? T(0) : a; });
}

void gelu_cpu(Out out, const Tensor& self, std::string_view approximate) {
    if (approximate == "tanh")
        return unary(out, Floats{}, self, []<class T>(T a) -> T {
            T inner = T(kSqrt2OverPi) * (a + T(kGeluCubic) * a * a * a);
            return T(0.5) * a * (T(1) + vec::tanh(inner));
        });
    MT_CHECK(approximate == "none", "approximate argument must be either none or tanh.");
    unary(out, Floats{}, self, []<class T>(T a) -> T { return a * (T(0.5) + vec::normal_less_half(a)); });
}

void silu_cpu(Out out, const Tensor& self) {
    unary(out, FloatsComplex{}, self, []<class T>(T a) -> T { return a / (T(1) + num::exp(-a)); });
}

// tanh(softplus(x)) = n / (n + 2) with n = e^x (e^x + 2)
void mish_cpu(Out out, const Tensor& self) {
    unary(out, Floats{}, self, []<class T>(T a) -> T {
        T w = vec::exp(a > T(20) ? T(20) : a);
        T n = w * (w + T(2));
        return a > T(20) ? a : a * (n / (n + T(2)));
    });
}

void elu_cpu(Out out, const Tensor& self, double alpha, double positive, double inner) {
    double negative = alpha * positive;
    unary(out, Floats{}, self, [=]<class T>(T a) -> T {
        T e = vec::expm1(a > 0 ? T(0) : a * T(inner)) * T(negative);
        return a > 0 ? a * T(positive) : e;
    });
}

void leaky_relu_cpu(Out out, const Tensor& self, double slope) {
    unary(out, Floats{}, self, [=]<class T>(T a) -> T { return a > 0 ? a : a * T(slope); });
}

void prelu_kernel_cpu(Out out, const Tensor& self, const Tensor& weight) {
    pointwise(out, Floats{}, {self, weight}, []<class T>(T a, T w) -> T { return a > 0 ? a : w * a; });
}

void hardtanh_cpu(Out out, const Tensor& self, const Value& min_val, const Value& max_val) {
    MT_CHECK(!is_bool(self.dtype), "Bool inputs not supported for hardtanh");
    check_numbers_fit(self.dtype, {min_val, max_val});
    pointwise_as(out, Reals{}, self.dtype, {self, min_val, max_val}, []<class T>(T a, T lo, T hi) -> T {
        return a < lo ? lo : a > hi ? hi : a;
    });
}

void hardsigmoid_cpu(Out out, const Tensor& self) {
    unary(out, Floats{}, self, []<class T>(T a) -> T {
        T s = a + T(3);
        return (s < 0 ? T(0) : s > T(6) ? T(6) : s) / T(6);
    });
}

void hardswish_cpu(Out out, const Tensor& self) {
    unary(out, Floats{}, self, []<class T>(T a) -> T {
        T s = a + T(3);
        return a * (s < 0 ? T(0) : s > T(6) ? T(6) : s) / T(6);
    });
}

void softplus_cpu(Out out, const Tensor& self, double beta, double threshold) {
    unary(out, Floats{}, self, [=]<class T>(T a) -> T {
        T z = a * T(beta);
        T r = vec::softplus(z) / T(beta);
        return z > T(threshold) ? a : r;
    });
}

void softshrink_cpu(Out out, const Tensor& self, double lambd) {
    DType t = self.dtype;
    double largest = t == DType::Float64    ? std::numeric_limits<double>::max()
                     : t == DType::Float16  ? 65504.0
                     : t == DType::BFloat16 ? 3.3895313892515355e38
                                            : std::numeric_limits<float>::max();
    MT_CHECK(lambd >= 0 && lambd <= largest, "lambda must be in range [0, ", largest, "] for input dtype ",
             dtype_class_name(t), ", but found ", lambd);
    unary(out, Floats{}, self, [=]<class T>(T a) -> T {
        return a > T(lambd) ? a - T(lambd) : a < T(-lambd) ? a + T(lambd) : a * T(0);
    });
}

void hardshrink_cpu(Out out, const Tensor& self, const Value& given) {
    if (is_floating(self.dtype)) check_number_fits(self.dtype, given);
    double lambd = given.as_double();
    unary(out, Floats{}, self, [=]<class T>(T a) -> T { return a >= T(-lambd) && a <= T(lambd) ? T(0) : a; });
}

void threshold_cpu(Out out, const Tensor& self, const Value& threshold, const Value& value) {
    if (is_bool(self.dtype)) unsupported_dtype("threshold_cpu", DType::Bool);
    const DType dtype = self.dtype;
    if (is_complex(dtype)) unsupported_dtype("threshold_cpu", dtype);
    if (!is_reduced_float(dtype)) check_numbers_fit(dtype, {threshold});
    check_numbers_fit(dtype, {value});
    pointwise_as(out, Reals{}, self.dtype, {self, threshold, value},
                 []<class T>(T a, T limit, T value) -> T { return a <= limit ? value : a; });
}

// Second output: e^-|x|, which the backward needs. In float and double the first is made of it.
void log_sigmoid_forward_cpu(Out out, const Tensor& self) {
    DType compute = computing_type(Floats{}, self.dtype, out.name());
    const bool exact = compute == self.dtype && out[1].dtype == compute;
    if (!exact) unary(out, Floats{}, self, []<class T>(T a) -> T { return T(0) - vec::softplus(-a); });
    Operand o[3] = {{&out[1], nullptr, compute}, {&self, nullptr, compute}, {&out[1], nullptr, compute}};
    visit(Floats{}, compute, out.name(), [&]<class T>() {
        auto decay = [](T a) -> T { return vec::exp(a > 0 ? -a : a); };
        run_pointwise(o, 2, 1, {detail::loop_of<decltype(decay), T, 1>, &decay});
        if (!exact) return;
        auto value = [](T a, T e) -> T { return (a > 0 ? T(0) : a) - vec::log1p(e); };
        o[0] = {&out[0], nullptr, compute};
        run_pointwise(o, 3, 1, {detail::loop_of<decltype(value), T, 2>, &value});
    });
}

void glu_shape(ShapeCall& c, const Tensor& self, int64_t given_dim) {
    MT_CHECK(self.ndim > 0, "glu does not support 0-dimensional tensors");
    const int64_t dim = wrap_dim(given_dim, self.ndim);
    MT_CHECK(self.size(dim) % 2 == 0, "Halving dimension must be even, but dimension ", dim, " is size ",
             self.size(dim));
    Dims sizes(self.sizes());
    sizes[dim] /= 2;
    c.output_strided(0, sizes, preserved_strides(sizes, self.strides()), self.dtype);
}

void glu_cpu(Out out, const Tensor& self, int64_t dim) {
    TensorRef value = half_along(self, dim, 0), gate = half_along(self, dim, 1);
    const DType compute = computing_type(Floats{}, self.dtype, out.name());
    Operand o[3] = {{&*out, nullptr, compute}, {value.get(), nullptr, compute}, {gate.get(), nullptr, compute}};
    visit(Floats{}, compute, out.name(), [&]<class T>() {
        auto gated = [](T a, T b) -> T { return a / (T(1) + vec::exp(-b)); };
        constexpr LoopFn loop = detail::loop_of<decltype(gated), T, 2>;
        if (is_reduced_float(self.dtype) && out->dtype == self.dtype)
            run_narrow(o, 3, self.dtype, {loop, &gated});
        else
            run_pointwise(o, 3, 1, {loop, &gated});
    });
}

KERNELS
{
    structured<prelu_kernel_cpu>("_prelu_kernel");
    structured<elu_cpu>("elu", kInputMayAlias);
    structured<gelu_cpu>("gelu", kInputMayAlias);
    shape<glu_shape>("glu");
    structured<glu_cpu>("glu");
    structured<hardshrink_cpu>("hardshrink", kInputMayAlias);
    structured<hardsigmoid_cpu>("hardsigmoid", kInputMayAlias);
    structured<hardswish_cpu>("hardswish", kInputMayAlias);
    structured<hardtanh_cpu>("hardtanh", kInputMayAlias);
    structured<leaky_relu_cpu>("leaky_relu", kInputMayAlias);
    structured<log_sigmoid_forward_cpu>("log_sigmoid_forward");
    structured<mish_cpu>("mish", kInputMayAlias);
    structured<relu_cpu>("relu", kInputMayAlias);
    structured<silu_cpu>("silu", kInputMayAlias);
    structured<softplus_cpu>("softplus", kInputMayAlias);
    structured<softshrink_cpu>("softshrink", kInputMayAlias);
    structured<threshold_cpu>("threshold", kInputMayAlias);
}

}  // namespace
}  // namespace mt
