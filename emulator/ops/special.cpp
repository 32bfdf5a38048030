// Functions that few models use: shrinking, logarithms of sums, shifts, closeness.
#include "pointwise.h"

using namespace emu;

namespace {

template <class C>
C log_add(C a, C b, C base) {  // base: the logarithm of the base
    if (a == b && std::isinf(a)) return a;
    C top = std::max(a, b);
    if (a != a || b != b) return a + b;
    return top + std::log1p(std::exp(-std::fabs(a - b) * base)) / base;
}
template <class C>
C x_log_y(C x, C y) {
    return y != y ? y : x == 0 ? C(0) : x * std::log(y);
}

Plan Sinc(T self, O out) {
    return unary_float(need(self, "self"), need(out, "out"), [](auto x) {
        using C = decltype(x);
        C p = C(3.141592653589793) * x;
        return x == 0 ? C(1) : std::sin(p) / p;
    });
}
Plan RoundDecimals(T self, i64 decimals, O out) {
    return unary(need(self, "self"), need(out, "out"), [decimals](auto x) {
        using C = decltype(x);
        if constexpr (std::is_integral_v<C>) {
            return x;
        } else {
            C ten = static_cast<C>(std::pow(10.0, std::fabs(static_cast<double>(decimals))));
            return decimals < 0 ? std::nearbyint(x / ten) * ten : std::nearbyint(x * ten) / ten;
        }
    });
}
Plan LogAddExp(T self, T other, O out) {
    return binary_float(need(self, "self"), need(other, "other"), need(out, "out"),
                        [](auto a, auto b) { return log_add(a, b, decltype(a)(1)); });
}
Plan LogAddExp2(T self, T other, O out) {
    return binary_float(need(self, "self"), need(other, "other"), need(out, "out"),
                        [](auto a, auto b) { return log_add(a, b, decltype(a)(0.6931471805599453)); });
}
Plan XLogYTensor(T self, T other, O out) {
    return binary_float(need(self, "self"), need(other, "other"), need(out, "out"),
                        [](auto a, auto b) { return x_log_y(a, b); });
}
Plan XLogYScalarSelf(S self, T other, O out) {
    double x = need_real(self, "self");
    return unary_float(need(other, "other"), need(out, "out"),
                       [x](auto y) { return x_log_y(static_cast<decltype(y)>(x), y); });
}
Plan XLogYScalarOther(T self, S other, O out) {
    double y = need_real(other, "other");
    return unary_float(need(self, "self"), need(out, "out"),
                       [y](auto x) { return x_log_y(x, static_cast<decltype(x)>(y)); });
}
Plan Hardshrink(T self, S lambd, O out) {
    double l = need_real(lambd, "lambd");
    return unary_float(need(self, "self"), need(out, "out"), [l](auto x) {
        using C = decltype(x);
        return x >= C(-l) && x <= C(l) ? C(0) : x;
    });
}
Plan Softshrink(T self, S lambd, O out) {
    double l = need_real(lambd, "lambd");
    if (l < 0) reject("lambd is ", l);
    return unary_float(need(self, "self"), need(out, "out"), [l](auto x) {
        using C = decltype(x);
        return x > C(l) ? x - C(l) : x < C(-l) ? x + C(l) : x * C(0);
    });
}
Plan shrink_backward(T grad, T self, S lambd, O out) {
    double l = need_real(lambd, "lambd");
    return binary_float(need(grad, "gradOutput"), need(self, "self"), need(out, "gradInput"), [l](auto g, auto x) {
        using C = decltype(x);
        return x >= C(-l) && x <= C(l) ? C(0) : g;
    });
}
Plan Threshold(T self, S threshold, S value, O out) {
    double t = need_real(threshold, "threshold"), v = need_real(value, "value");
    return unary(need(self, "self"), need(out, "out"),
                 [=](auto x) { return static_cast<double>(x) <= t ? decltype(x)(v) : x; });
}
Plan ClampTensor(T self, T low, T high, O out) {
    return ternary(need(self, "self"), need(low, "clipValueMin"), need(high, "clipValueMax"), need(out, "out"),
                   [](auto x, auto l, auto h) {
                       if (x != x) return x;
                       if (l != l || h != h) return l != l ? l : h;
                       return std::min(std::max(x, l), h);
                   });
}
Plan IsClose(T self, T other, f64 rtol, f64 atol, bool equal_nan, O out) {
    if (rtol < 0 || atol < 0) reject("rtol is ", rtol, ", atol is ", atol);
    if (need(out, "out").dtype != ACL_BOOL) reject("the output is of ", dtype_name(out->view.dtype));
    return binary(need(self, "self"), need(other, "other"), need(out, "out"), [=](auto a, auto b) {
        double x = static_cast<double>(a), y = static_cast<double>(b);
        if (a == b) return true;
        if (x != x || y != y) return equal_nan && x != x && y != y;
        return std::isfinite(y) && std::isfinite(x) && std::fabs(x - y) <= atol + std::fabs(rtol * y);
    });
}

// Bits beyond the width of a dtype are shifted out.
template <bool left>
Plan shifted(T self, T by, O out) {
    View a = need(self, "self"), b = need(by, "shiftBits"), to = need(out, "out");
    if (is_float(a.dtype) || is_float(b.dtype)) reject("bits of ", dtype_name(is_float(a.dtype) ? a.dtype : b.dtype));
    Shape shape = broadcast({&a, &b});
    same_shape(to, shape, "the output");
    int64_t width = static_cast<int64_t>(itemsize(to.dtype)) * 8;
    return {[=] {
        auto x = load<int64_t>(a, shape), n = load<int64_t>(b, shape);
        for (size_t i = 0; i < x.size(); i++) {
            if (n[i] < 0 || n[i] >= width)
                x[i] = left ? 0 : x[i] < 0 ? -1 : 0;
            else
                x[i] = left ? static_cast<int64_t>(static_cast<uint64_t>(x[i]) << n[i]) : x[i] >> n[i];
        }
        store(to, x);
    }};
}
}  // namespace

ACLNN(Sinc, T, O)
ACLNN(RoundDecimals, T, i64, O)
ACLNN(LogAddExp, T, T, O)
ACLNN(LogAddExp2, T, T, O)
ACLNN(XLogYTensor, T, T, O)
ACLNN(XLogYScalarSelf, S, T, O)
ACLNN(XLogYScalarOther, T, S, O)
ACLNN(Hardshrink, T, S, O)
ACLNN_AS(HardshrinkBackward, shrink_backward, T, T, S, O)
ACLNN(Softshrink, T, S, O)
ACLNN_AS(SoftshrinkBackward, shrink_backward, T, T, S, O)
ACLNN(Threshold, T, S, S, O)
ACLNN(ClampTensor, T, T, T, O)
ACLNN(IsClose, T, T, f64, f64, bool, O)
ACLNN_AS(LeftShift, shifted<true>, T, T, O)
ACLNN_AS(RightShift, shifted<false>, T, T, O)
