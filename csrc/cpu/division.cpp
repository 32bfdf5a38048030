// Division with its rounding modes, remainders, powers.
#include "core/number_fits.h"
#include "guarded.h"
#include "number.h"
#include "pointwise.h"
#include "rounded.h"

namespace mt {
namespace {

// Integer division by zero raises before anything is computed: the processor would trap. What counts is the divisor in
// the computing type: 2**32 is zero as int32.
void check_divisor(const Tensor& out, const Input& divisor, DType t) {
    if (is_differentiable(t)) return;
    bool zero = false;
    if (divisor.t) {
        TensorRef d = contiguous(*contiguous(*divisor.t, t), DType::Int64);
        const int64_t* p = d->data<int64_t>();
        int64_t n = d->numel();
        int found = 0;
        for (int64_t i = 0; i < n; i++) found |= p[i] == 0;
        zero = found != 0;
    } else {
        const int64_t v = divisor.number->as_int();
        uint64_t low = ~uint64_t(0) >> (64 - 8 * itemsize(t));
        zero = t == DType::Bool ? v == 0 : (static_cast<uint64_t>(v) & low) == 0;
    }
    MT_CHECK(!zero || out.numel() == 0, "ZeroDivisionError");
}

// Among bools only true division is defined.
void check_not_bool(DType t, const char* name) {
    if (t == DType::Bool) unsupported_dtype(name, t);
}

// Doubles whose quotient is below 2^52: truncated it is right or one too large, and a fused product leaves no error.
MT_INLINE bool fmod_is_near(double a, double b) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return __builtin_fabs(a) < __builtin_fabs(b) * 0x1p52;
#else
    return false;
#endif
}
MT_INLINE double fmod_near(double a, double b) {
    double x = __builtin_fabs(a), y = __builtin_fabs(b), q = __builtin_trunc(x / y);
    double r = q == 0 ? x : vec::fma(-q, y, x);  // 0 * infinity is NaN
    return __builtin_copysign(r < 0 ? r + y : r, a);
}
using num::fmod_is_near;
using num::fmod_near;

struct Quotient {
    template <class T>
    static bool near(T a, T b) {
        return fmod_is_near(a, b);
    }
};
#define MT_QUOTIENT(name, fast_form, exact_form)                       \
    struct name : Quotient {                                           \
        template <class T>                                             \
        static MT_INLINE T fast(T a, T b) {                            \
            return fast_form;                                          \
        }                                                              \
        template <class T>                                             \
        static T exact(T a, T b) {                                     \
            return exact_form;                                         \
        }                                                              \
    };                                                                 \
    bool run(Out out, const Input& a, const Input& b, name, DType t) { \
        if (is_guarded(t))                                             \
            guarded<name>(out, {a, b});                                \
        else if (t == DType::Float64)                                  \
            guarded<name, double>(out, {a, b});                        \
        return is_guarded(t) || t == DType::Float64;                   \
    }
MT_QUOTIENT(Fmod, fmod_near(a, b), num::fmod(a, b))
MT_QUOTIENT(Remainder, num::remainder_of(b, fmod_near(a, b)), num::remainder(a, b))
MT_QUOTIENT(FloorDivide, num::floor_div_of(a, b, fmod_near(a, b)), num::floor_div(a, b))
#undef MT_QUOTIENT

void true_divide(Out out, const Tensor& self, Input other) {
    pointwise_float(out, FloatsComplex{}, {self, other}, [](auto a, auto b) { return a / b; });
}

void floor_divide_cpu(Out out, const Tensor& self, Input other) {
    DType t = promoted({self, other});
    check_not_bool(t, "div_floor_cpu");
    check_divisor(out, other, t);
    if (run(out, self, other, FloorDivide{}, t)) return;
    pointwise_as(out, RealsFast{}, t, {self, other}, [](auto a, auto b) { return num::floor_div(a, b); });
}

template <class Narrow>
void trunc_rounded(Out out, const Tensor& self, const Input& other) {
    pointwise_as(out, Types<float>{}, dtype_of<Narrow>::value, {self, other},
                 [](float a, float b) { return std::trunc(static_cast<float>(Narrow(a / b))); });
}

void trunc_divide(Out out, const Tensor& self, const Input& other) {
    DType t = promoted({self, other});
    check_not_bool(t, "div_trunc_cpu");
    check_divisor(out, other, t);
    // Quotients of 16-bit tensors are rounded before they are truncated, as PyTorch's; those by a single number are
    // not.
    const bool by_many = other.t && other.t->numel() != 1;
    if (by_many && t == DType::BFloat16) return trunc_rounded<BFloat16>(out, self, other);
    if (by_many && t == DType::Float16) return trunc_rounded<Half>(out, self, other);
    pointwise_as(out, Reals{}, t, {self, other}, [](auto a, auto b) { return num::trunc_div(a, b); });
}

void div_mode_cpu(Out out, const Tensor& self, Input other, std::optional<std::string_view> rounding_mode) {
    if (!rounding_mode)
        true_divide(out, self, other);
    else if (*rounding_mode == "floor")
        floor_divide_cpu(out, self, other);
    else
        trunc_divide(out, self, other);
}

void remainder_cpu(Out out, Input self, Input other) {
    DType t = promoted({self, other});
    check_not_bool(t, "remainder_cpu");
    check_divisor(out, other, t);
    RoundedInputs rounded(t, {self, other});
    if (run(out, rounded[0], rounded[1], Remainder{}, t)) return;
    pointwise_as(out, Reals{}, t, {rounded[0], rounded[1]}, [](auto a, auto b) { return num::remainder(a, b); });
}

void fmod_cpu(Out out, const Tensor& self, Input other) {
    DType t = promoted({self, other});
    check_not_bool(t, "fmod_cpu");
    check_divisor(out, other, t);
    RoundedInputs rounded(t, {self, other});
    if (run(out, rounded[0], rounded[1], Fmod{}, t)) return;
    pointwise_as(out, Reals{}, t, {rounded[0], rounded[1]}, [](auto a, auto b) { return num::fmod(a, b); });
}

void check_complex_power(DType t) {
    if (t == DType::Complex32) unsupported_dtype("pow", t);
}

void pow_scalar_exponent(Out out, const Tensor& self, DType t, const Value& e) {
    // Whatever the base is, NaN included.
    if (e.as_complex() == c128(0)) return fill(out, Value::of(int64_t(1)));
    if (e.as_complex() == c128(1)) return copy_into(out, self);
    check_complex_power(t);
    if (!is_differentiable(t)) {
        MT_CHECK(e.as_int() >= 0, "Integers to negative integer powers are not allowed.");
        int64_t n = e.as_int();
        if (n == 2) return pointwise_as(out, Types<int64_t>{}, t, {self}, [](auto a) { return num::mul(a, a); });
        return pointwise_as(out, Types<int64_t>{}, t, {self, e}, [](auto a, auto b) { return num::int_pow(a, b); });
    }
    bool real = e.as_complex().imag() == 0;
    double x = e.as_double();
    FloatsComplex list;
    if (real && x == 2) return pointwise_as(out, list, t, {self}, [](auto a) { return num::mul(a, a); });
    if (real && x == 3) return pointwise_as(out, list, t, {self}, [](auto a) { return num::mul(num::mul(a, a), a); });
    if (real && x == 0.5) return pointwise_as(out, list, t, {self}, [](auto a) { return num::sqrt(a); });
    if (real && x == -0.5) return pointwise_as(out, list, t, {self}, []<class T>(T a) { return T(1) / num::sqrt(a); });
    if (real && x == -1) return pointwise_as(out, list, t, {self}, []<class T>(T a) { return T(1) / a; });
    if (real && x == -2) return pointwise_as(out, list, t, {self}, []<class T>(T a) { return T(1) / num::mul(a, a); });
    pointwise_as(out, list, t, {self, e}, [](auto a, auto b) { return num::pow(a, b); });
}

void pow_cpu(Out out, Input self, Input exponent) {
    DType t = promoted({self, exponent});
    RoundedInputs rounded(t, {self, exponent});
    if (exponent.number) {
        if (!is_differentiable(t) || is_reduced_float(t)) check_number_fits(t, *exponent.number);
        return pow_scalar_exponent(out, *rounded[0].t, t, *rounded[1].number);
    }
    if (self.number && self.number->as_complex() == c128(1)) {
        if (self.number->tag == Tag::Bool && is_bool(t)) unsupported_dtype("pow", t);
        return fill(out, Value::of(int64_t(1)));
    }
    check_complex_power(t);
    if (!is_differentiable(t))
        return pointwise_as(out, Types<int64_t>{}, t, {self, exponent},
                            [](auto a, auto b) { return num::int_pow(a, b); });
    pointwise_as(out, FloatsComplex{}, t, {rounded[0], rounded[1]}, [](auto a, auto b) { return num::pow(a, b); });
}

KERNELS
{
    structured<true_divide>("div", kInputMayAlias);
    structured<div_mode_cpu>("div.Scalar_mode", kInputMayAlias);
    structured<div_mode_cpu>("div.Tensor_mode", kInputMayAlias);
    structured<floor_divide_cpu>("floor_divide", kInputMayAlias);
    structured<fmod_cpu>("fmod", kInputMayAlias);
    structured<pow_cpu>("pow", kInputMayAlias);
    structured<remainder_cpu>("remainder", kInputMayAlias);
}

}  // namespace
}  // namespace mt
