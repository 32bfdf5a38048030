// Arithmetic, comparison, logic, bits.
#include "pointwise.h"

using namespace emu;

namespace {

// A number in the type of the computation.
struct Number {
    double real;
    int64_t whole;
    explicit Number(S s) : real(need_real(s, "a number")), whole(s->as_int()) {}
    template <class C>
    C as() const {
        if constexpr (std::is_integral_v<C>) return static_cast<C>(whole);
        return static_cast<C>(real);
    }
};

Plan Add(T self, T other, S alpha, O out) {
    Number n(alpha);
    return binary(need(self, "self"), need(other, "other"), need(out, "out"),
                  [n](auto a, auto b) { return a + n.as<decltype(a)>() * b; });
}
Plan Sub(T self, T other, S alpha, O out) {
    Number n(alpha);
    return binary(need(self, "self"), need(other, "other"), need(out, "out"),
                  [n](auto a, auto b) { return a - n.as<decltype(a)>() * b; });
}
Plan Adds(T self, S other, S alpha, O out) {
    Number n(alpha);
    return with_number(need(self, "self"), other, need(out, "out"),
                       [n](auto a, auto b) { return a + n.as<decltype(a)>() * b; });
}
Plan Subs(T self, S other, S alpha, O out) {
    Number n(alpha);
    return with_number(need(self, "self"), other, need(out, "out"),
                       [n](auto a, auto b) { return a - n.as<decltype(a)>() * b; });
}
Plan Rsubs(T self, S other, S alpha, O out) {
    Number n(alpha);
    return with_number(need(self, "self"), other, need(out, "out"),
                       [n](auto a, auto b) { return b - n.as<decltype(a)>() * a; });
}

template <class C>
C floor_div(C a, C b) {
    if constexpr (std::is_integral_v<C>) {
        if (b == 0) return -1;
        C q = a / b;
        return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
    } else {
        if (b == 0) return a / b;
        C m = std::fmod(a, b), q = (a - m) / b;
        if (m != 0 && (b < 0) != (m < 0)) q -= 1;
        if (q == 0) return std::copysign(C(0), a / b);
        C f = std::floor(q);
        return q - f > C(0.5) ? f + 1 : f;
    }
}
template <class C>
C remainder_of(C a, C b) {
    if constexpr (std::is_integral_v<C>) {
        if (b == 0) return -1;
        C m = a % b;
        return m != 0 && (m < 0) != (b < 0) ? m + b : m;
    } else {
        C m = std::fmod(a, b);
        return m != 0 && (b < 0) != (m < 0) ? m + b : m;
    }
}
template <class C>
C fmod_of(C a, C b) {
    if constexpr (std::is_integral_v<C>)
        return b == 0 ? -1 : a % b;
    else
        return std::fmod(a, b);
}
template <class C>
C power(C a, C b) {
    if constexpr (std::is_integral_v<C>) {
        if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
        C r = 1;
        for (; b; b >>= 1, a *= a)
            if (b & 1) r *= a;
        return r;
    } else {
        return b == C(2) ? a * a : std::pow(a, b);
    }
}
template <class C>
C divided(C a, C b) {
    if constexpr (std::is_integral_v<C>)
        return b == 0 ? -1 : a / b;
    else
        return a / b;
}

#define BINARY(Op, expression)                                                    \
    Plan Op(T self, T other, O out) {                                             \
        return binary(need(self, "self"), need(other, "other"), need(out, "out"), \
                      [](auto a, auto b) { return expression; });                 \
    }
#define NUMBER(Op, expression)                                                                                      \
    Plan Op(T self, S other, O out) {                                                                               \
        return with_number(need(self, "self"), other, need(out, "out"), [](auto a, auto b) { return expression; }); \
    }
BINARY(Mul, a* b)
NUMBER(Muls, a* b)
BINARY(FloorDivide, floor_div(a, b))
NUMBER(FloorDivides, floor_div(a, b))
BINARY(RemainderTensorTensor, remainder_of(a, b))
NUMBER(RemainderTensorScalar, remainder_of(a, b))
BINARY(FmodTensor, fmod_of(a, b))
NUMBER(FmodScalar, fmod_of(a, b))
BINARY(PowTensorTensor, power(a, b))
NUMBER(PowTensorScalar, power(a, b))
BINARY(Maximum, a != a ? a : b != b ? b : a > b ? a : b)
BINARY(Minimum, a != a ? a : b != b ? b : a < b ? a : b)
BINARY(EqTensor, a == b)
NUMBER(EqScalar, a == b)
BINARY(NeTensor, a != b)
NUMBER(NeScalar, a != b)
BINARY(GtTensor, a > b)
NUMBER(GtScalar, a > b)
BINARY(GeTensor, a >= b)
NUMBER(GeScalar, a >= b)
BINARY(LtTensor, a < b)
NUMBER(LtScalar, a < b)
BINARY(LeTensor, a <= b)
NUMBER(LeScalar, a <= b)
BINARY(LogicalAnd, a != 0 && b != 0)
BINARY(LogicalOr, a != 0 || b != 0)
BINARY(LogicalXor, (a != 0) != (b != 0))

Plan Div(T self, T other, O out) {
    return binary_float(need(self, "self"), need(other, "other"), need(out, "out"),
                        [](auto a, auto b) { return a / b; });
}
Plan Divs(T self, S other, O out) {
    double n = need_real(other, "other");
    return unary_float(need(self, "self"), need(out, "out"), [n](auto a) { return a / static_cast<decltype(a)>(n); });
}
// mode 0: true division, 1: towards zero, 2: down
template <class C>
C divided_by_mode(C a, C b, int mode) {
    if (mode == 2) return floor_div(a, b);
    C q = divided(a, b);
    if constexpr (!std::is_integral_v<C>)
        if (mode == 1) return std::trunc(q);
    return q;
}
Plan DivMod(T self, T other, i32 mode, O out) {
    return binary(need(self, "self"), need(other, "other"), need(out, "out"),
                  [mode](auto a, auto b) { return divided_by_mode(a, b, mode); });
}
Plan DivMods(T self, S other, i32 mode, O out) {
    return with_number(need(self, "self"), other, need(out, "out"),
                       [mode](auto a, auto b) { return divided_by_mode(a, b, mode); });
}
Plan Atan2(T self, T other, O out) {
    return binary_float(need(self, "self"), need(other, "other"), need(out, "out"),
                        [](auto a, auto b) { return std::atan2(a, b); });
}
Plan PowScalarTensor(S self, T exponent, O out) {
    return with_number(need(exponent, "exponent"), self, need(out, "out"), [](auto a, auto b) { return power(b, a); });
}

template <class F>
Plan bits(T self, T other, O out, F f) {
    const View &a = need(self, "self"), &b = need(other, "other");
    if (is_float(a.dtype) || is_float(b.dtype)) reject("bits of ", dtype_name(is_float(a.dtype) ? a.dtype : b.dtype));
    Shape shape = broadcast({&a, &b});
    same_shape(need(out, "out"), shape, "the output");
    return {[a, b, to = out->view, shape, f] {
        auto x = load<int64_t>(a, shape), y = load<int64_t>(b, shape);
        for (size_t i = 0; i < x.size(); i++) x[i] = f(x[i], y[i]);
        store(to, x);
    }};
}
Plan BitwiseAndTensor(T self, T other, O out) {
    return bits(self, other, out, [](int64_t a, int64_t b) { return a & b; });
}
Plan BitwiseOrTensor(T self, T other, O out) {
    return bits(self, other, out, [](int64_t a, int64_t b) { return a | b; });
}
Plan BitwiseXorTensor(T self, T other, O out) {
    return bits(self, other, out, [](int64_t a, int64_t b) { return a ^ b; });
}
Plan BitwiseNot(T self, O out) {
    const View& a = need(self, "self");
    if (is_float(a.dtype)) reject("bits of ", dtype_name(a.dtype));
    bool truth = a.dtype == ACL_BOOL;
    same_shape(need(out, "out"), shape_of(a), "the output");
    return {[a, to = out->view, truth] {
        auto x = load<int64_t>(a);
        for (auto& e : x) e = truth ? !e : ~e;
        store(to, x);
    }};
}

Plan Addcmul(T self, T a, T b, S value, O out) {
    Number n(value);
    return ternary(need(self, "self"), need(a, "tensor1"), need(b, "tensor2"), need(out, "out"),
                   [n](auto x, auto y, auto z) { return x + n.as<decltype(x)>() * y * z; });
}
Plan Addcdiv(T self, T a, T b, S value, O out) {
    Number n(value);
    return ternary(need(self, "self"), need(a, "tensor1"), need(b, "tensor2"), need(out, "out"),
                   [n](auto x, auto y, auto z) { return x + n.as<decltype(x)>() * divided(y, z); });
}
template <class C>
C between(C a, C b, C w) {
    return std::fabs(static_cast<double>(w)) < 0.5 ? a + w * (b - a) : b - (b - a) * (C(1) - w);
}
Plan Lerp(T self, T end, T weight, O out) {
    return ternary(need(self, "self"), need(end, "end"), need(weight, "weight"), need(out, "out"),
                   [](auto a, auto b, auto w) { return between(a, b, w); });
}
Plan Lerps(T self, T end, S weight, O out) {
    double w = need_real(weight, "weight");
    return binary_float(need(self, "self"), need(end, "end"), need(out, "out"),
                        [w](auto a, auto b) { return between(a, b, static_cast<decltype(a)>(w)); });
}
Plan SWhere(T condition, T self, T other, O out) {
    const View &c = need(condition, "condition"), &a = need(self, "self"), &b = need(other, "other");
    if (c.dtype != ACL_BOOL && c.dtype != ACL_UINT8) reject("a condition of ", dtype_name(c.dtype));
    Shape shape = broadcast({&c, &a, &b});
    same_shape(need(out, "out"), shape, "the output");
    Kind kind = wider(kind_of(a.dtype), wider(kind_of(b.dtype), kind_of(out->view.dtype)));
    return {[c, a, b, to = out->view, shape, kind] {
        with_kind(kind, [&](auto k) {
            auto mask = load<int64_t>(c, shape);
            auto x = load<decltype(k)>(a, shape), y = load<decltype(k)>(b, shape);
            for (size_t i = 0; i < x.size(); i++)
                if (!mask[i]) x[i] = y[i];
            store(to, x);
        });
    }};
}

// ---- clamping; a bound that is null is none ----

Plan clamp_between(T self, S low, S high, O out) {
    if (!low && !high) reject("neither bound is given");
    bool has_low = low, has_high = high;
    Number l(low ? low : high), h(high ? high : low);
    return unary(need(self, "self"), need(out, "out"), [=](auto x) {
        using C = decltype(x);
        if (x != x) return x;
        if (has_low && x < l.as<C>()) x = l.as<C>();
        if (has_high && x > h.as<C>()) x = h.as<C>();
        return x;
    });
}
Plan Clamp(T self, S low, S high, O out) { return clamp_between(self, low, high, out); }
Plan ClampMin(T self, S low, O out) { return clamp_between(self, low, nullptr, out); }
Plan ClampMax(T self, S high, O out) { return clamp_between(self, nullptr, high, out); }
BINARY(ClampMinTensor, a != a ? a : b != b ? b : a > b ? a : b)
BINARY(ClampMaxTensor, a != a ? a : b != b ? b : a < b ? a : b)

}  // namespace

ACLNN(Add, T, T, S, O)
ACLNN(Sub, T, T, S, O)
ACLNN(Adds, T, S, S, O)
ACLNN(Subs, T, S, S, O)
ACLNN(Rsubs, T, S, S, O)
ACLNN(Mul, T, T, O)
ACLNN(Muls, T, S, O)
ACLNN(Div, T, T, O)
ACLNN(Divs, T, S, O)
ACLNN(DivMod, T, T, i32, O)
ACLNN(DivMods, T, S, i32, O)
ACLNN(FloorDivide, T, T, O)
ACLNN(FloorDivides, T, S, O)
ACLNN(RemainderTensorTensor, T, T, O)
ACLNN(RemainderTensorScalar, T, S, O)
ACLNN(FmodTensor, T, T, O)
ACLNN(FmodScalar, T, S, O)
ACLNN(PowTensorTensor, T, T, O)
ACLNN(PowTensorScalar, T, S, O)
ACLNN(PowScalarTensor, S, T, O)
ACLNN(Maximum, T, T, O)
ACLNN(Minimum, T, T, O)
ACLNN(EqTensor, T, T, O)
ACLNN(EqScalar, T, S, O)
ACLNN(NeTensor, T, T, O)
ACLNN(NeScalar, T, S, O)
ACLNN(GtTensor, T, T, O)
ACLNN(GtScalar, T, S, O)
ACLNN(GeTensor, T, T, O)
ACLNN(GeScalar, T, S, O)
ACLNN(LtTensor, T, T, O)
ACLNN(LtScalar, T, S, O)
ACLNN(LeTensor, T, T, O)
ACLNN(LeScalar, T, S, O)
ACLNN(LogicalAnd, T, T, O)
ACLNN(LogicalOr, T, T, O)
ACLNN(LogicalXor, T, T, O)
ACLNN(Atan2, T, T, O)
ACLNN(BitwiseAndTensor, T, T, O)
ACLNN(BitwiseOrTensor, T, T, O)
ACLNN(BitwiseXorTensor, T, T, O)
ACLNN(BitwiseNot, T, O)
ACLNN(Addcmul, T, T, T, S, O)
ACLNN(Addcdiv, T, T, T, S, O)
ACLNN(Lerp, T, T, T, O)
ACLNN(Lerps, T, T, S, O)
ACLNN(SWhere, T, T, T, O)
ACLNN(Clamp, T, S, S, O)
ACLNN(ClampMin, T, S, O)
ACLNN(ClampMax, T, S, O)
ACLNN(ClampMinTensor, T, T, O)
ACLNN(ClampMaxTensor, T, T, O)
