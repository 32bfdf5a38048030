// Sums, products, and what is built from them.
#include "core/cpp_names.h"
#include "core/number_fits.h"
#include "float8.h"
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
    check_number_fits(result, alpha);
}

void add_cpu(Out out, const Tensor& self, Input other, const Value& alpha) {
    DType t = promoted({self, other});
    RoundedInputs rounded(t, {self, other, alpha});
    if (is_one(alpha) && alpha.tag == Tag::Int)
        return pointwise_as(out, NumbersFast{}, t, {rounded[0], rounded[1]},
                            [](auto a, auto b) { return num::add(a, b); });
    check_alpha(alpha, t);
    pointwise_as(out, Numbers{}, t, {rounded[0], rounded[1], rounded[2]},
                 [](auto a, auto b, auto k) { return num::add(a, num::mul(k, b)); });
}

void check_subtraction(const Tensor& self, const Input& other) {
    bool a = is_bool(self.dtype), b = other.t ? is_bool(other.t->dtype) : other.number->tag == Tag::Bool;
    MT_CHECK(!(a && b),
             "Subtraction, the `-` operator, with two bool tensors is not supported. "
             "Use the `^` or `logical_xor()` operator instead.");
    MT_CHECK(!(a || b),
             "Subtraction, the `-` operator, with a bool tensor is not supported. "
             "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.");
}

void sub_cpu(Out out, const Tensor& self, Input other, const Value& alpha) {
    check_subtraction(self, other);
    DType t = promoted({self, other});
    RoundedInputs rounded(t, {self, other, alpha});
    if (is_one(alpha) && alpha.tag == Tag::Int)
        return pointwise_as(out, NumbersFast{}, t, {rounded[0], rounded[1]},
                            [](auto a, auto b) { return num::sub(a, b); });
    check_alpha(alpha, t);
    pointwise_as(out, Numbers{}, t, {rounded[0], rounded[1], rounded[2]},
                 [](auto a, auto b, auto k) { return num::sub(a, num::mul(k, b)); });
}

void rsub_cpu(Out out, const Tensor& self, Input other, const Value& alpha) {
    check_subtraction(self, other);
    DType t = promoted({self, other});
    check_alpha(alpha, t);
    RoundedInputs rounded(t, {self, other, alpha});
    pointwise_as(out, Numbers{}, t, {rounded[0], rounded[1], rounded[2]},
                 [](auto a, auto b, auto k) { return num::sub(b, num::mul(k, a)); });
}

void mul_cpu(Out out, const Tensor& self, Input other) {
    const DType t = promoted({self, other});
    if (is_bool(t))
        return pointwise_as(out, Types<bool>{}, t, {self, other}, [](bool a, bool b) -> bool { return a & b; });
    pointwise_as(out, NumbersFast{}, widened(t), {self, other}, [](auto a, auto b) { return num::mul(a, b); });
}

// (x & keep) ^ turn on the bits of a 16-bit float: what only concerns the sign needs no conversion.
void change_bits(Tensor& out, const Tensor& self, uint16_t keep, uint16_t turn) {
    struct Masks {
        uint16_t keep, turn;
    } masks{keep, turn};
    DType t = self.dtype;
    Operand operands[2] = {{&out, nullptr, t}, {&self, nullptr, t}};
    LoopFn loop = [](char* const* p, int64_t n, const void* f) {
        Masks m = *static_cast<const Masks*>(f);
        uint16_t* to = reinterpret_cast<uint16_t*>(p[0]);
        const uint16_t* from = reinterpret_cast<const uint16_t*>(p[1]);
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) to[i] = (from[i] & m.keep) ^ m.turn;
    };
    run_pointwise(operands, 2, 1, {loop, &masks});
}

void neg_cpu(Out out, const Tensor& self) {
    MT_CHECK(!is_bool(self.dtype),
             "Negation, the `-` operator, on a bool tensor is not supported. "
             "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.");
    if (is_reduced_float(self.dtype)) return change_bits(out, self, 0xffff, 0x8000);
    unary(out, NumbersFast{}, self, [](auto a) { return num::neg(a); });
}

void square_cpu(Out out, const Tensor& self) {
    unary(out, Numbers{}, self, [](auto a) { return num::mul(a, a); });
}

void addcmul_cpu(Out out, const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Value& value) {
    const DType t = promoted({self, tensor1, tensor2});
    if (is_bool(t)) unsupported_dtype("addcmul_cpu_out", t);
    if (!is_reduced_float(t)) check_numbers_fit(t, {value});
    pointwise_as(out, Numbers{}, t, {self, tensor1, tensor2, value},
                 [](auto a, auto x, auto y, auto k) { return num::add(a, num::mul(k, num::mul(x, y))); });
}

void addcdiv_cpu(Out out, const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Value& value) {
    DType t = promoted({self, tensor1, tensor2});
    MT_CHECK(
        is_differentiable(t) || !(is_integer(tensor1.dtype) && is_integer(tensor2.dtype)),
        "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true "
        "division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * "
        "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) "
        "for float inputs. The future addcdiv behavior is just the latter implementation: (input + value * tensor1 / "
        "tensor2), for all dtypes.");
    if (!is_reduced_float(t)) check_numbers_fit(t, {value});
    pointwise_as(out, FloatsComplex{}, t, {self, tensor1, tensor2, value},
                 [](auto a, auto x, auto y, auto k) { return a + k * x / y; });
}

// start + weight (end - start), computed from whichever end is nearer so that both ends are hit exactly.
void lerp_cpu(Out out, const Tensor& self, const Tensor& end, Input weight) {
    MT_CHECK(self.dtype == end.dtype, "expected dtype ", dtype_cpp_name(self.dtype), " for `end` but got dtype ",
             dtype_cpp_name(end.dtype));
    pointwise_as(out, FloatsComplex{}, promoted({self, end}), {self, end, weight}, []<class T>(T a, T b, T w) -> T {
        bool near_start;
        if constexpr (num::is_cx<T>)
            near_start = std::norm(w) < 0.25;
        else
            near_start = (w < 0 ? -w : w) < T(0.5);
        return near_start ? a + num::mul(w, b - a) : b - num::mul(b - a, T(1) - w);
    });
}

void abs_cpu(Out out, const Tensor& self) {
    DType t = self.dtype;
    if (is_complex(t)) return pointwise_as(out, Types<c64, c128>{}, t, {self}, [](auto a) { return std::abs(a); });
    if (is_reduced_float(t)) return change_bits(out, self, 0x7fff, 0);
    if (t != DType::Float8_e8m0fnu) t = widened(t);  // which has no sign, and in PyTorch no abs
    pointwise_as(out, RealsFast{}, t, {self}, []<class T>(T a) -> T {
        if constexpr (num::is_flt<T>)
            return a < 0 ? -a : a == 0 ? T(0) : a;
        else
            return a < 0 ? num::neg(a) : a;
    });
}

void sign_cpu(Out out, const Tensor& self) {
    MT_CHECK_AS(NotImplemented, !is_complex(self.dtype),
                "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.");
    if (is_bool(self.dtype)) return copy_into(out, self);
    unary(out, Reals{}, self, [](auto a) { return num::sign(a); });
}

void sgn_cpu(Out out, const Tensor& self) {
    unary(out, Numbers{}, self, []<class T>(T a) -> T {
        if constexpr (num::is_cx<T>)
            return a == T(0) ? T(0) : a / std::abs(a);
        else
            return num::sign(a);
    });
}

void reciprocal_cpu(Out out, const Tensor& self) {
    unary_float(out, FloatsComplex{}, self, []<class T>(T a) { return T(1) / a; });
}

void sqrt_cpu(Out out, const Tensor& self) {
    unary_float(out, FloatsComplex{}, self, [](auto a) { return num::sqrt(a); });
}

void rsqrt_cpu(Out out, const Tensor& self) {
    unary_float(out, FloatsComplex{}, self, []<class T>(T a) { return T(1) / num::sqrt(a); });
}

KERNELS
{
    structured<abs_cpu>("abs", kInputMayAlias);
    structured<add_cpu>("add", kInputMayAlias);
    structured<addcdiv_cpu>("addcdiv", kInputMayAlias);
    structured<addcmul_cpu>("addcmul", kInputMayAlias);
    structured<lerp_cpu>("lerp", kInputMayAlias);
    structured<mul_cpu>("mul", kInputMayAlias);
    structured<neg_cpu>("neg", kInputMayAlias);
    structured<reciprocal_cpu>("reciprocal", kInputMayAlias);
    structured<rsqrt_cpu>("rsqrt", kInputMayAlias);
    structured<rsub_cpu>("rsub", kInputMayAlias);
    structured<sgn_cpu>("sgn", kInputMayAlias);
    structured<sign_cpu>("sign", kInputMayAlias);
    structured<sqrt_cpu>("sqrt", kInputMayAlias);
    structured<square_cpu>("square", kInputMayAlias);
    structured<sub_cpu>("sub", kInputMayAlias);
}

}  // namespace
}  // namespace mt
