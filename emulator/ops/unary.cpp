// Functions of one tensor, and their gradients.
#include "pointwise.h"

using namespace emu;

namespace {

#define UNARY(Op, expression)                                                                  \
    Plan Op(T self, O out) {                                                                   \
        return unary(need(self, "self"), need(out, "out"), [](auto x) { return expression; }); \
    }
#define FLOAT(Op, expression)                                                 \
    Plan Op(T self, O out) {                                                  \
        return unary_float(need(self, "self"), need(out, "out"), [](auto x) { \
            using C [[maybe_unused]] = decltype(x);                           \
            return expression;                                                \
        });                                                                   \
    }
#define WHOLE(Op, function)                                             \
    Plan Op(T self, O out) {                                            \
        return unary(need(self, "self"), need(out, "out"), [](auto x) { \
            if constexpr (std::is_integral_v<decltype(x)>)              \
                return x;                                               \
            else                                                        \
                return function(x);                                     \
        });                                                             \
    }
// Gradients: of the gradient g and of x (input or result).
#define GRADIENT(Op, expression)                                                                                 \
    Plan Op(T grad, T self, O out) {                                                                             \
        return binary_float(need(grad, "gradOutput"), need(self, "self"), need(out, "out"), [](auto g, auto x) { \
            using C [[maybe_unused]] = decltype(x);                                                              \
            return expression;                                                                                   \
        });                                                                                                      \
    }

template <class C>
C sigmoid(C x) {
    return C(1) / (C(1) + std::exp(-x));
}
template <class C>
C gelu_tanh(C x) {
    return C(0.5) * x * (C(1) + std::tanh(C(0.7978845608028654) * (x + C(0.044715) * x * x * x)));
}
template <class C>
C gelu_erf(C x) {
    return C(0.5) * x * (C(1) + std::erf(x * C(0.7071067811865476)));
}
template <class C>
C gelu_tanh_slope(C x) {
    C inner = C(0.7978845608028654) * (x + C(0.044715) * x * x * x), t = std::tanh(inner);
    return C(0.5) * (C(1) + t) + C(0.5) * x * (C(1) - t * t) * C(0.7978845608028654) * (C(1) + C(3 * 0.044715) * x * x);
}
template <class C>
C gelu_erf_slope(C x) {
    return C(0.5) * (C(1) + std::erf(x * C(0.7071067811865476))) +
           x * C(0.3989422804014327) * std::exp(C(-0.5) * x * x);
}
template <class C>
C softplus1(C x) {
    return x > C(20) ? x : std::log1p(std::exp(x));
}
template <class C>
C log_sigmoid(C x) {
    return std::min(x, C(0)) - std::log1p(std::exp(-std::fabs(x)));
}
template <class C>
C erfinv(C y) {
    if (!(std::fabs(y) < 1)) return std::fabs(y) == 1 ? std::copysign(std::numeric_limits<C>::infinity(), y) : C(NAN);
    // A rational start, then Newton in double.
    double w = -std::log((1.0 - y) * (1.0 + y)), x = 0;
    double a = 2 / (3.14159265358979 * 0.147) - w / 2;
    x = std::copysign(std::sqrt(std::sqrt(a * a + w / 0.147) - a), static_cast<double>(y));
    for (int i = 0; i < 4; i++) x -= (std::erf(x) - static_cast<double>(y)) / (1.1283791670955126 * std::exp(-x * x));
    return static_cast<C>(x);
}

UNARY(Abs, x < 0 ? -x : x)
UNARY(Neg, -x)
UNARY(Square, x* x)
UNARY(Sign, (x > 0) - (x < 0))
UNARY(LogicalNot, x == 0)
UNARY(Relu, x < 0 ? decltype(x)(0) : x)
UNARY(Signbit, std::signbit(static_cast<double>(x)))
WHOLE(Floor, std::floor)
WHOLE(Ceil, std::ceil)
WHOLE(Trunc, std::trunc)
WHOLE(Round, std::nearbyint)
FLOAT(IsFinite, C(std::isfinite(x)))
FLOAT(IsInf, C(std::isinf(x)))
FLOAT(Frac, x - std::trunc(x))
FLOAT(Exp, std::exp(x))
FLOAT(Exp2, std::exp2(x))
FLOAT(Expm1, std::expm1(x))
FLOAT(Log, std::log(x))
FLOAT(Log2, std::log2(x))
FLOAT(Log10, std::log10(x))
FLOAT(Log1p, std::log1p(x))
FLOAT(Sqrt, std::sqrt(x))
FLOAT(Rsqrt, C(1) / std::sqrt(x))
FLOAT(Reciprocal, C(1) / x)
FLOAT(Sin, std::sin(x))
FLOAT(Cos, std::cos(x))
FLOAT(Tan, std::tan(x))
FLOAT(Asin, std::asin(x))
FLOAT(Acos, std::acos(x))
FLOAT(Atan, std::atan(x))
FLOAT(Sinh, std::sinh(x))
FLOAT(Cosh, std::cosh(x))
FLOAT(Tanh, std::tanh(x))
FLOAT(Asinh, std::asinh(x))
FLOAT(Acosh, std::acosh(x))
FLOAT(Atanh, std::atanh(x))
FLOAT(Sigmoid, sigmoid(x))
FLOAT(Erf, std::erf(x))
FLOAT(Erfc, std::erfc(x))
FLOAT(Erfinv, erfinv(x))
FLOAT(Gelu, gelu_tanh(x))
FLOAT(Silu, x* sigmoid(x))
FLOAT(Mish, x* std::tanh(softplus1(x)))
FLOAT(LogSigmoid, log_sigmoid(x))
FLOAT(Hardswish, x* std::min(std::max(x + C(3), C(0)), C(6)) / C(6))
FLOAT(Hardsigmoid, std::min(std::max(x + C(3), C(0)), C(6)) / C(6))

GRADIENT(TanhBackward, g*(C(1) - x * x))
GRADIENT(SigmoidBackward, g* x*(C(1) - x))
GRADIENT(GeluBackward, g* gelu_tanh_slope(x))
GRADIENT(SiluBackward, g* sigmoid(x) * (C(1) + x * (C(1) - sigmoid(x))))
GRADIENT(HardswishBackward, x <= C(-3) ? C(0) : x < C(3) ? g * (x / C(3) + C(0.5)) : g)
GRADIENT(HardsigmoidBackward, x > C(-3) && x < C(3) ? g / C(6) : C(0))
GRADIENT(MishBackward, [&] {
    C t = std::tanh(softplus1(x));
    return g * (t + x * (C(1) - t * t) * sigmoid(x));
}())

Plan LogSigmoidForward(T self, O out, O buffer) {
    View x = need(self, "self"), b = need(buffer, "buffer");
    same_shape(b, shape_of(x), "buffer");
    Plan first = LogSigmoid(self, out), second = unary_float(x, b, [](auto v) { return std::exp(-std::fabs(v)); });
    return {[=] {
        first.run();
        second.run();
    }};
}
Plan LogSigmoidBackward(T grad, T self, T buffer, O out) {
    return ternary(need(grad, "gradOutput"), need(self, "self"), need(buffer, "buffer"), need(out, "gradInput"),
                   [](auto g, auto x, auto z) {
                       using C = decltype(x);
                       C share = static_cast<C>(static_cast<double>(z) / (1.0 + static_cast<double>(z)));
                       return x < 0 ? g * (C(1) - share) : g * share;
                   });
}
Plan GeluV2(T self, i64 approximate, O out) {
    if (approximate < 0 || approximate > 1) reject("approximate is ", approximate, ", neither 0 (erf) nor 1 (tanh)");
    return unary_float(need(self, "x"), need(out, "y"),
                       [approximate](auto x) { return approximate ? gelu_tanh(x) : gelu_erf(x); });
}
Plan GeluBackwardV2(T grad, T self, str approximate, O out) {
    if (!approximate) throw Invalid{kParamNull, "approximate is null"};
    std::string how = approximate;
    if (how != "none" && how != "tanh") reject("approximate is '", how, "', neither 'none' nor 'tanh'");
    bool tanh = how == "tanh";
    return binary_float(need(grad, "gradOutput"), need(self, "self"), need(out, "gradInput"),
                        [tanh](auto g, auto x) { return g * (tanh ? gelu_tanh_slope(x) : gelu_erf_slope(x)); });
}
Plan ThresholdBackward(T grad, T self, S threshold, O out) {
    double t = need_real(threshold, "threshold");
    return binary(need(grad, "gradOutput"), need(self, "self"), need(out, "out"),
                  [t](auto g, auto x) { return static_cast<double>(x) <= t ? decltype(g)(0) : g; });
}
Plan LeakyRelu(T self, S slope, O out) {
    double s = need_real(slope, "negativeSlope");
    return unary_float(need(self, "self"), need(out, "out"), [s](auto x) { return x > 0 ? x : decltype(x)(s) * x; });
}
Plan LeakyReluBackward(T grad, T self, S slope, bool, O out) {
    double s = need_real(slope, "negativeSlope");
    return binary_float(need(grad, "gradOutput"), need(self, "self"), need(out, "out"),
                        [s](auto g, auto x) { return x > 0 ? g : decltype(x)(s) * g; });
}
Plan Elu(T self, S alpha, S scale, S input_scale, O out) {
    double a = need_real(alpha, "alpha"), s = need_real(scale, "scale"), i = need_real(input_scale, "inputScale");
    return unary_float(need(self, "self"), need(out, "out"), [=](auto x) {
        using C = decltype(x);
        return x > 0 ? C(s) * x : C(s * a) * std::expm1(C(i) * x);
    });
}
Plan EluBackward(T grad, S alpha, S scale, S input_scale, bool is_result, T value, O out) {
    double a = need_real(alpha, "alpha"), s = need_real(scale, "scale"), i = need_real(input_scale, "inputScale");
    return binary_float(need(grad, "gradOutput"), need(value, "selfOrResult"), need(out, "gradInput"),
                        [=](auto g, auto x) {
                            using C = decltype(x);
                            if (x > 0) return g * C(s);
                            return is_result ? g * C(i) * (x + C(a * s)) : g * C(i * s * a) * std::exp(C(i) * x);
                        });
}
Plan Softplus(T self, S beta, S threshold, O out) {
    double b = need_real(beta, "beta"), t = need_real(threshold, "threshold");
    return unary_float(need(self, "self"), need(out, "out"), [=](auto x) {
        using C = decltype(x);
        return x * C(b) > C(t) ? x : std::log1p(std::exp(x * C(b))) / C(b);
    });
}
Plan SoftplusBackward(T grad, T self, S beta, S threshold, O out) {
    double b = need_real(beta, "beta"), t = need_real(threshold, "threshold");
    return binary_float(need(grad, "gradOutput"), need(self, "self"), need(out, "gradInput"), [=](auto g, auto x) {
        using C = decltype(x);
        C z = std::exp(x * C(b));
        return x * C(b) > C(t) ? g : g * z / (z + C(1));
    });
}
Plan Hardtanh(T self, S low, S high, O out) {
    double l = need_real(low, "clipValueMin"), h = need_real(high, "clipValueMax");
    return unary_float(need(self, "self"), need(out, "out"), [=](auto x) {
        using C = decltype(x);
        return x < C(l) ? C(l) : x > C(h) ? C(h) : x;
    });
}
Plan HardtanhBackward(T grad, T self, S low, S high, O out) {
    double l = need_real(low, "min"), h = need_real(high, "max");
    return binary_float(need(grad, "gradOutput"), need(self, "self"), need(out, "gradInput"), [=](auto g, auto x) {
        using C = decltype(x);
        return x <= C(l) || x >= C(h) ? C(0) : g;
    });
}
}  // namespace

ACLNN(Abs, T, O)
ACLNN(Neg, T, O)
ACLNN(Square, T, O)
ACLNN(Sign, T, O)
ACLNN(Signbit, T, O)
ACLNN(LogicalNot, T, O)
ACLNN(Relu, T, O)
ACLNN(Floor, T, O)
ACLNN(Ceil, T, O)
ACLNN(Trunc, T, O)
ACLNN(Round, T, O)
ACLNN(Frac, T, O)
ACLNN(IsFinite, T, O)
ACLNN(IsInf, T, O)
ACLNN(Exp, T, O)
ACLNN(Exp2, T, O)
ACLNN(Expm1, T, O)
ACLNN(Log, T, O)
ACLNN(Log2, T, O)
ACLNN(Log10, T, O)
ACLNN(Log1p, T, O)
ACLNN(Sqrt, T, O)
ACLNN(Rsqrt, T, O)
ACLNN(Reciprocal, T, O)
ACLNN(Sin, T, O)
ACLNN(Cos, T, O)
ACLNN(Tan, T, O)
ACLNN(Asin, T, O)
ACLNN(Acos, T, O)
ACLNN(Atan, T, O)
ACLNN(Sinh, T, O)
ACLNN(Cosh, T, O)
ACLNN(Tanh, T, O)
ACLNN(Asinh, T, O)
ACLNN(Acosh, T, O)
ACLNN(Atanh, T, O)
ACLNN(Sigmoid, T, O)
ACLNN(Erf, T, O)
ACLNN(Erfc, T, O)
ACLNN(Erfinv, T, O)
ACLNN(Gelu, T, O)
ACLNN(GeluV2, T, i64, O)
ACLNN(Silu, T, O)
ACLNN(Mish, T, O)
ACLNN(LogSigmoid, T, O)
ACLNN(LogSigmoidForward, T, O, O)
ACLNN(LogSigmoidBackward, T, T, T, O)
ACLNN(Hardswish, T, O)
ACLNN(Hardsigmoid, T, O)
ACLNN(LeakyRelu, T, S, O)
ACLNN(Elu, T, S, S, S, O)
ACLNN(Softplus, T, S, S, O)
ACLNN(Hardtanh, T, S, S, O)
ACLNN(TanhBackward, T, T, O)
ACLNN(SigmoidBackward, T, T, O)
ACLNN(GeluBackward, T, T, O)
ACLNN(GeluBackwardV2, T, T, str, O)
ACLNN(SiluBackward, T, T, O)
ACLNN(HardswishBackward, T, T, O)
ACLNN(HardsigmoidBackward, T, T, O)
ACLNN(MishBackward, T, T, O)
ACLNN(ThresholdBackward, T, T, S, O)
ACLNN(LeakyReluBackward, T, T, S, bool, O)
ACLNN(EluBackward, T, S, S, S, bool, T, O)
ACLNN(SoftplusBackward, T, T, S, S, O)
ACLNN(HardtanhBackward, T, T, S, S, O)
