// Sums, products, and what is built from them.
#include "number.h"
#include "pointwise.h"
#include "rounded.h"

namespace mt {
namespace {

bool is_one(const Value& v) {
    return v.tag == Tag::Int ? v.i == 1 : v.tag == Tag::Double ? v.d == 1 : v.tag == Tag::Bool && v.b;
}

void check_alpha(const Value& alpha, DType result) {
    MT_CHECK(alpha.tag != Tag::Bool || is_bool(result), "Boolean alpha only supported for Boolean results.");
    MT_CHECK(is_differentiable(result) || alpha.tag == Tag::Int || alpha.tag == Tag::Bool,
             "For integral input tensors, argument alpha must not be a floating point number.");
    MT_CHECK(is_complex(result) || alpha.tag != Tag::Complex,
             "For non-complex input tensors, argument alpha must not be a complex number.");
}

void add_cpu(Call& c) {
    const int args[2] = {0, 1};
    const Value& alpha = c.scalar(2);
    DType t = promoted(c, args, 2);
    Rounded rounded(c, t, {0, 1, 2});
    if (is_one(alpha) && alpha.tag == Tag::Int)
        return pointwise_as(rounded.call, NumbersFast{}, t, {0, 1}, [](auto a, auto b) { return num::add(a, b); });
    check_alpha(alpha, t);
    pointwise_as(rounded.call, Numbers{}, t, {0, 1, 2},
                 [](auto a, auto b, auto k) { return num::add(a, num::mul(k, b)); });
}

void check_subtraction(const Call& c) {
    auto is_bool_arg = [&](int i) {
        const Value& v = c.args[i];
        return v.tag == Tag::Bool || (v.tag == Tag::Tensor && is_bool(v.t->dtype));
    };
    bool a = is_bool_arg(0), b = is_bool_arg(1);
    MT_CHECK(!(a && b),
             "Subtraction, the `-` operator, with two bool tensors is not supported. "
             "Use the `^` or `logical_xor()` operator instead.");
    MT_CHECK(!(a || b),
             "Subtraction, the `-` operator, with a bool tensor is not supported. "
             "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.");
}

void sub_cpu(Call& c) {
    check_subtraction(c);
    const int args[2] = {0, 1};
    const Value& alpha = c.scalar(2);
    DType t = promoted(c, args, 2);
    Rounded rounded(c, t, {0, 1, 2});
    if (is_one(alpha) && alpha.tag == Tag::Int)
        return pointwise_as(rounded.call, NumbersFast{}, t, {0, 1}, [](auto a, auto b) { return num::sub(a, b); });
    check_alpha(alpha, t);
    pointwise_as(rounded.call, Numbers{}, t, {0, 1, 2},
                 [](auto a, auto b, auto k) { return num::sub(a, num::mul(k, b)); });
}

void rsub_cpu(Call& c) {
    check_subtraction(c);
    const int args[2] = {0, 1};
    DType t = promoted(c, args, 2);
    check_alpha(c.scalar(2), t);
    Rounded rounded(c, t, {0, 1, 2});
    pointwise_as(rounded.call, Numbers{}, t, {0, 1, 2},
                 [](auto a, auto b, auto k) { return num::sub(b, num::mul(k, a)); });
}

void mul_cpu(Call& c) {
    const int args[2] = {0, 1};
    const DType t = promoted(c, args, 2);
    if (is_bool(t)) return pointwise_as(c, Types<bool>{}, t, {0, 1}, [](bool a, bool b) -> bool { return a & b; });
    pointwise_as(c, NumbersFast{}, t, {0, 1}, [](auto a, auto b) { return num::mul(a, b); });
}

// (x & keep) ^ turn on the bits of a 16-bit float: what only concerns the sign needs no conversion.
void change_bits(Call& c, uint16_t keep, uint16_t turn) {
    struct Masks {
        uint16_t keep, turn;
    } masks{keep, turn};
    DType t = c.tensor(0).dtype;
    Operand operands[2] = {{&c.out(0), nullptr, t}, {&c.tensor(0), nullptr, t}};
    LoopFn loop = [](char* const* p, int64_t n, const void* f) {
        Masks m = *static_cast<const Masks*>(f);
        uint16_t* to = reinterpret_cast<uint16_t*>(p[0]);
        const uint16_t* from = reinterpret_cast<const uint16_t*>(p[1]);
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) to[i] = (from[i] & m.keep) ^ m.turn;
    };
    run_pointwise(operands, 2, 1, loop, &masks);
}

void neg_cpu(Call& c) {
    MT_CHECK(!is_bool(c.tensor(0).dtype),
             "Negation, the `-` operator, on a bool tensor is not supported. "
             "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.");
    if (is_reduced_float(c.tensor(0).dtype)) return change_bits(c, 0xffff, 0x8000);
    unary(c, NumbersFast{}, [](auto a) { return num::neg(a); });
}

void square_cpu(Call& c) {
    unary(c, Numbers{}, [](auto a) { return num::mul(a, a); });
}

void addcmul_cpu(Call& c) {
    const int args[3] = {0, 1, 2};
    pointwise_as(c, Numbers{}, promoted(c, args, 3), {0, 1, 2, 3},
                 [](auto a, auto x, auto y, auto k) { return num::add(a, num::mul(k, num::mul(x, y))); });
}

void addcdiv_cpu(Call& c) {
    const int args[3] = {0, 1, 2};
    DType t = promoted(c, args, 3);
    MT_CHECK(
        is_differentiable(t) || !(is_integer(c.tensor(1).dtype) && is_integer(c.tensor(2).dtype)),
        "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true "
        "division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * "
        "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) "
        "for float inputs. The future addcdiv behavior is just the latter implementation: (input + value * tensor1 / "
        "tensor2), for all dtypes.");
    pointwise_as(c, FloatsComplex{}, t, {0, 1, 2, 3}, [](auto a, auto x, auto y, auto k) { return a + k * x / y; });
}

// start + weight (end - start), computed from whichever end is nearer so that both ends are hit exactly.
void lerp_cpu(Call& c) {
    const int args[2] = {0, 1};
    pointwise_as(c, FloatsComplex{}, promoted(c, args, 2), {0, 1, 2}, []<class T>(T a, T b, T w) -> T {
        bool near_start;
        if constexpr (num::is_cx<T>)
            near_start = std::norm(w) < 0.25;
        else
            near_start = (w < 0 ? -w : w) < T(0.5);
        return near_start ? a + num::mul(w, b - a) : b - num::mul(b - a, T(1) - w);
    });
}

void abs_cpu(Call& c) {
    DType t = c.tensor(0).dtype;
    if (is_complex(t)) return pointwise_as(c, Types<c64, c128>{}, t, {0}, [](auto a) { return std::abs(a); });
    if (is_reduced_float(t)) return change_bits(c, 0x7fff, 0);
    unary(c, RealsFast{}, []<class T>(T a) -> T {
        if constexpr (num::is_flt<T>)
            return a < 0 ? -a : a == 0 ? T(0) : a;
        else
            return a < 0 ? num::neg(a) : a;
    });
}

void sign_cpu(Call& c) {
    MT_CHECK_AS(NotImplemented, !is_complex(c.tensor(0).dtype),
                "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.");
    if (is_bool(c.tensor(0).dtype)) return copy_into(c.out(), c.tensor(0));
    unary(c, Reals{}, [](auto a) { return num::sign(a); });
}

void sgn_cpu(Call& c) {
    unary(c, Numbers{}, []<class T>(T a) -> T {
        if constexpr (num::is_cx<T>)
            return a == T(0) ? T(0) : a / std::abs(a);
        else
            return num::sign(a);
    });
}

void reciprocal_cpu(Call& c) {
    unary_float(c, FloatsComplex{}, []<class T>(T a) { return T(1) / a; });
}

void sqrt_cpu(Call& c) {
    unary_float(c, FloatsComplex{}, [](auto a) { return num::sqrt(a); });
}

void rsqrt_cpu(Call& c) {
    unary_float(c, FloatsComplex{}, []<class T>(T a) { return T(1) / num::sqrt(a); });
}

KERNELS
{
    structured("abs", abs_cpu, kInputMayAlias);
    structured("add", add_cpu, kInputMayAlias);
    structured("addcdiv", addcdiv_cpu, kInputMayAlias);
    structured("addcmul", addcmul_cpu, kInputMayAlias);
    structured("lerp", lerp_cpu, kInputMayAlias);
    structured("mul", mul_cpu, kInputMayAlias);
    structured("neg", neg_cpu, kInputMayAlias);
    structured("reciprocal", reciprocal_cpu, kInputMayAlias);
    structured("rsqrt", rsqrt_cpu, kInputMayAlias);
    structured("rsub", rsub_cpu, kInputMayAlias);
    structured("sgn", sgn_cpu, kInputMayAlias);
    structured("sign", sign_cpu, kInputMayAlias);
    structured("sqrt", sqrt_cpu, kInputMayAlias);
    structured("square", square_cpu, kInputMayAlias);
    structured("sub", sub_cpu, kInputMayAlias);
}

}  // namespace
}  // namespace mt
