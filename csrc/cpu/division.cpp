// Division with its rounding modes, remainders, powers.
#include "guarded.h"
#include "number.h"
#include "pointwise.h"
#include "rounded.h"

namespace mt {
namespace {

// Integer division by zero raises before anything is computed: the processor would trap. What counts is the divisor in
// the computing type: 2**32 is zero as int32.
void check_divisor(const Call& c, DType t) {
    if (is_differentiable(t)) return;
    const Value& v = c.args[1];
    bool zero = false;
    if (v.tag == Tag::Tensor) {
        TensorRef d = contiguous(*contiguous(*v.t, t), DType::Int64);
        const int64_t* p = d->data<int64_t>();
        int64_t n = d->numel();
        int found = 0;
        for (int64_t i = 0; i < n; i++) found |= p[i] == 0;
        zero = found != 0;
    } else {
        uint64_t low = ~uint64_t(0) >> (64 - 8 * itemsize(t));
        zero = t == DType::Bool ? v.as_int() == 0 : (static_cast<uint64_t>(v.as_int()) & low) == 0;
    }
    MT_CHECK(!zero || c.out(0).numel() == 0, "ZeroDivisionError");
}

// Among bools only true division is defined.
void check_not_bool(DType t, const char* name) {
    if (t == DType::Bool) unsupported_dtype(name, t);
}

// Doubles whose quotient is below 2^52: truncated it is right or one too large, and a fused product leaves no error.
MT_INLINE bool fmod_is_near(double a, double b) {
#ifdef __FMA__
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
#define MT_QUOTIENT(name, fast_form, exact_form)     \
    struct name : Quotient {                         \
        template <class T>                           \
        static MT_INLINE T fast(T a, T b) {          \
            return fast_form;                        \
        }                                            \
        template <class T>                           \
        static T exact(T a, T b) {                   \
            return exact_form;                       \
        }                                            \
    };                                               \
    bool run(Call& c, name, DType t) {               \
        if (is_guarded(t))                           \
            guarded<name>(c, {0, 1});                \
        else if (t == DType::Float64)                \
            guarded<name, double>(c, {0, 1});        \
        return is_guarded(t) || t == DType::Float64; \
    }
MT_QUOTIENT(Fmod, fmod_near(a, b), num::fmod(a, b))
MT_QUOTIENT(Remainder, num::remainder_of(b, fmod_near(a, b)), num::remainder(a, b))
MT_QUOTIENT(FloorDivide, num::floor_div_of(a, b, fmod_near(a, b)), num::floor_div(a, b))
#undef MT_QUOTIENT

void true_divide(Call& c) {
    pointwise_float(c, FloatsComplex{}, {0, 1}, [](auto a, auto b) { return a / b; });
}

void floor_divide_cpu(Call& c) {
    const int args[2] = {0, 1};
    DType t = promoted(c, args, 2);
    check_not_bool(t, "div_floor_cpu");
    check_divisor(c, t);
    if (run(c, FloorDivide{}, t)) return;
    pointwise_as(c, RealsFast{}, t, {0, 1}, [](auto a, auto b) { return num::floor_div(a, b); });
}

void trunc_divide(Call& c) {
    const int args[2] = {0, 1};
    DType t = promoted(c, args, 2);
    check_not_bool(t, "div_trunc_cpu");
    check_divisor(c, t);
    pointwise_as(c, Reals{}, t, {0, 1}, [](auto a, auto b) { return num::trunc_div(a, b); });
}

void div_mode_cpu(Call& c) {
    std::string_view mode = c.string(2);
    if (c.is_none(2))
        true_divide(c);
    else if (mode == "floor")
        floor_divide_cpu(c);
    else
        trunc_divide(c);
}

void remainder_cpu(Call& c) {
    const int args[2] = {0, 1};
    DType t = promoted(c, args, 2);
    check_not_bool(t, "remainder_cpu");
    check_divisor(c, t);
    Rounded rounded(c, t, {0, 1});
    if (run(rounded.call, Remainder{}, t)) return;
    pointwise_as(rounded.call, Reals{}, t, {0, 1}, [](auto a, auto b) { return num::remainder(a, b); });
}

void fmod_cpu(Call& c) {
    const int args[2] = {0, 1};
    DType t = promoted(c, args, 2);
    check_not_bool(t, "fmod_cpu");
    check_divisor(c, t);
    Rounded rounded(c, t, {0, 1});
    if (run(rounded.call, Fmod{}, t)) return;
    pointwise_as(rounded.call, Reals{}, t, {0, 1}, [](auto a, auto b) { return num::fmod(a, b); });
}

void pow_scalar_exponent(Call& c, DType t, const Value& e) {
    if (!is_differentiable(t)) {
        MT_CHECK(e.as_int() >= 0, "Integers to negative integer powers are not allowed.");
        int64_t n = e.as_int();
        if (n == 2) return pointwise_as(c, Types<int64_t>{}, t, {0}, [](auto a) { return num::mul(a, a); });
        return pointwise_as(c, Types<int64_t>{}, t, {0, 1}, [](auto a, auto b) { return num::int_pow(a, b); });
    }
    bool real = e.tag != Tag::Complex;
    double x = e.as_double();
    FloatsComplex list;
    if (real && x == 2) return pointwise_as(c, list, t, {0}, [](auto a) { return num::mul(a, a); });
    if (real && x == 3) return pointwise_as(c, list, t, {0}, [](auto a) { return num::mul(num::mul(a, a), a); });
    if (real && x == 0.5) return pointwise_as(c, list, t, {0}, [](auto a) { return num::sqrt(a); });
    if (real && x == -0.5) return pointwise_as(c, list, t, {0}, []<class T>(T a) { return T(1) / num::sqrt(a); });
    if (real && x == -1) return pointwise_as(c, list, t, {0}, []<class T>(T a) { return T(1) / a; });
    if (real && x == -2) return pointwise_as(c, list, t, {0}, []<class T>(T a) { return T(1) / num::mul(a, a); });
    pointwise_as(c, list, t, {0, 1}, [](auto a, auto b) { return num::pow(a, b); });
}

void pow_cpu(Call& c) {
    const int args[2] = {0, 1};
    DType t = promoted(c, args, 2);
    Rounded rounded(c, t, {0, 1});
    const Value& e = rounded.call.args[1];
    if (e.is_scalar()) return pow_scalar_exponent(rounded.call, t, e);
    if (!is_differentiable(t))
        return pointwise_as(c, Types<int64_t>{}, t, {0, 1}, [](auto a, auto b) { return num::int_pow(a, b); });
    pointwise_as(rounded.call, FloatsComplex{}, t, {0, 1}, [](auto a, auto b) { return num::pow(a, b); });
}

KERNELS
{
    structured("div", true_divide, kInputMayAlias);
    structured("div.Scalar_mode", div_mode_cpu, kInputMayAlias);
    structured("div.Tensor_mode", div_mode_cpu, kInputMayAlias);
    structured("floor_divide", floor_divide_cpu, kInputMayAlias);
    structured("fmod", fmod_cpu, kInputMayAlias);
    structured("pow", pow_cpu, kInputMayAlias);
    structured("remainder", remainder_cpu, kInputMayAlias);
}

}  // namespace
}  // namespace mt
