// Larger, smaller, clamped; and other operators that choose one of their operands.
#include "core/number_fits.h"
#include "number.h"
#include "pointwise.h"

namespace mt {
namespace {

void maximum_cpu(Call& c) {
    const int args[2] = {0, 1};
    const DType t = promoted(c, args, 2);
    if (is_bool(t)) return pointwise_as(c, Types<bool>{}, t, {0, 1}, [](bool a, bool b) -> bool { return a | b; });
    pointwise_as(c, RealsFast{}, t, {0, 1}, [](auto a, auto b) { return num::maximum(a, b); });
}
void minimum_cpu(Call& c) {
    const int args[2] = {0, 1};
    const DType t = promoted(c, args, 2);
    if (is_bool(t)) return pointwise_as(c, Types<bool>{}, t, {0, 1}, [](bool a, bool b) -> bool { return a & b; });
    pointwise_as(c, RealsFast{}, t, {0, 1}, [](auto a, auto b) { return num::minimum(a, b); });
}
// A NaN is passed over.
void fmax_cpu(Call& c) {
    pointwise(c, Reals{}, {0, 1}, [](auto a, auto b) { return a != a || b > a ? b : a; });
}
void fmin_cpu(Call& c) {
    pointwise(c, Reals{}, {0, 1}, [](auto a, auto b) { return a != a || b < a ? b : a; });
}

void clamp_between(Call& c, int low, int high, DType t) {
    if (low >= 0 && high >= 0)
        pointwise_as(c, RealsFast{}, t, {0, low, high},
                     []<class T>(T a, T lo, T hi) -> T { return num::minimum(num::maximum(a, lo), hi); });
    else if (low >= 0)
        pointwise_as(c, RealsFast{}, t, {0, low}, []<class T>(T a, T lo) -> T { return num::maximum(a, lo); });
    else
        pointwise_as(c, RealsFast{}, t, {0, high}, []<class T>(T a, T hi) -> T { return num::minimum(a, hi); });
}

void check_bounds(bool any, DType t) {
    MT_CHECK(any, "torch.clamp: At least one of 'min' or 'max' must not be None");
    MT_CHECK(!is_complex(t), "clamp is not supported for complex types");
}

DType result_of(const Call& c, int low, int high) {
    int args[3] = {0, low, high};
    if (low < 0) args[1] = high;
    return promoted(c, args, low >= 0 && high >= 0 ? 3 : 2);
}

// clamp(self, min, max), numbers or tensors, either None.
void clamp_cpu(Call& c) {
    int low = c.is_none(1) ? -1 : 1, high = c.is_none(2) ? -1 : 2;
    check_bounds(low >= 0 || high >= 0, c.tensor(0).dtype);
    auto is_nan = [&](int i) { return i >= 0 && c.args[i].tag == Tag::Double && c.args[i].d != c.args[i].d; };
    if (is_nan(low) || is_nan(high)) return fill(c.out(0), Value::of(std::nan("")));
    clamp_between(c, low, high, result_of(c, low, high));
}
void clamp_min_cpu(Call& c) { clamp_between(c, 1, -1, result_of(c, 1, -1)); }
void clamp_max_cpu(Call& c) { clamp_between(c, -1, 1, result_of(c, -1, 1)); }

void copysign_cpu(Call& c) {
    pointwise_float(c, Floats{}, {0, 1}, [](auto a, auto b) { return std::copysign(a, b); });
}

void nextafter_cpu(Call& c) {
    const int args[2] = {0, 1};
    DType t = promoted(c, args, 2);
    if (t == DType::BFloat16) {
        // Neighbours of 16-bit numbers, not of the floats that stand for them.
        return pointwise_as(c, Types<float>{}, t, {0, 1}, [](float a, float b) -> float {
            if (a != a || b != b) return a + b;
            if (a == b) return b;
            if (a == 0) return std::copysign(9.183549615799121e-41f, b);
            uint32_t u;
            std::memcpy(&u, &a, 4);
            u += (a < b) == (a > 0) ? 0x10000u : -0x10000u;
            std::memcpy(&a, &u, 4);
            return a;
        });
    }
    if (!lists(Floats{}, t)) unsupported_dtype("nextafter", t);
    pointwise_as(c, Floats{}, t, {0, 1}, []<class T>(T a, T b) -> T {
        using Bits = std::conditional_t<std::is_same_v<T, float>, int32_t, int64_t>;
        Bits bits;
        std::memcpy(&bits, &a, sizeof(T));
        bits += (a < b) == (a > 0) ? 1 : -1;  // away from zero or towards it
        T next;
        std::memcpy(&next, &bits, sizeof(T));
        next = a == 0 ? std::copysign(std::numeric_limits<T>::denorm_min(), b) : next;
        next = a == b ? b : next;
        return (a != a) | (b != b) ? a + b : next;
    });
}

void heaviside_cpu(Call& c) {
    MT_CHECK(c.tensor(0).dtype == c.tensor(1).dtype,
             "heaviside is not yet implemented for tensors with different dtypes.");
    pointwise(c, Reals{}, {0, 1}, []<class T>(T a, T b) -> T { return a == 0 ? b : a != a ? a : T(a > 0); });
}

void nan_to_num_cpu(Call& c) {
    const Tensor& self = c.tensor(0);
    if (!is_differentiable(self.dtype)) return copy_into(c.out(0), self);
    DType part = is_complex(self.dtype) ? to_real(self.dtype) : self.dtype;
    double largest = part == DType::Float64    ? std::numeric_limits<double>::max()
                     : part == DType::Float16  ? 65504.0
                     : part == DType::BFloat16 ? 3.3895313892515355e38
                                               : std::numeric_limits<float>::max();
    double nan = c.real_or(1, 0), up = c.real_or(2, largest), down = c.real_or(3, -largest);
    unary(c, FloatsComplex{}, [=]<class T>(T a) -> T {
        auto fix = [=](auto x) {
            using R = decltype(x);
            constexpr R kInf = std::numeric_limits<R>::infinity();
            return x != x ? R(nan) : x == kInf ? R(up) : x == -kInf ? R(down) : x;
        };
        if constexpr (num::is_cx<T>)
            return T(fix(a.real()), fix(a.imag()));
        else
            return fix(a);
    });
}

// out = mask ? a : b, for elements that only move.
template <class T>
void select(char* const* p, int64_t n, const void*) {
    T* out = reinterpret_cast<T*>(p[0]);
    const uint8_t* mask = reinterpret_cast<const uint8_t*>(p[1]);
    const T *a = reinterpret_cast<const T*>(p[2]), *b = reinterpret_cast<const T*>(p[3]);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) {
        if constexpr (std::is_same_v<T, Bytes16>)
            out[i] = mask[i] ? a[i] : b[i];
        else {
            const T taken = static_cast<T>(-T(mask[i] != 0));
            out[i] = static_cast<T>((a[i] & taken) | (b[i] & ~taken));
        }
    }
}

// where(condition, self, other)
void where_cpu(Call& c) {
    const Tensor& condition = c.tensor(0);
    MT_CHECK(is_bool(condition.dtype) || condition.dtype == DType::UInt8,
             "where expected condition to be a boolean tensor, but got a tensor with dtype ",
             dtype_class_name(condition.dtype));
    Tensor& out = c.out(0);
    auto operand = [&](int i, DType t) {
        const Value& v = c.args[i];
        return v.tag == Tag::Tensor ? Operand{v.t, nullptr, t} : Operand{nullptr, &v, t};
    };
    Operand o[4] = {
        {&out, nullptr, out.dtype}, {&condition, nullptr, DType::Bool}, operand(1, out.dtype), operand(2, out.dtype)};
    visit_size(out.itemsize(), [&]<class T>() { run_pointwise(o, 4, 1, select<T>, nullptr); });
}

// masked_fill(self, mask, value): value is a number or a 0-dim tensor.
void masked_fill_cpu(Call& c) {
    const Tensor &self = c.tensor(0), &mask = c.tensor(1);
    MT_CHECK(is_bool(mask.dtype), "masked_fill_ only supports boolean masks, but got mask with dtype ",
             dtype_name(mask.dtype));
    const Value& v = c.args[2];
    MT_CHECK(v.tag != Tag::Tensor || v.t->ndim == 0,
             "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ", v.t->ndim,
             " dimension(s).");
    if (v.tag != Tag::Tensor)
        check_number_fits(self.dtype, v);
    else if (v.t->is_wrapped_number())
        MT_CHECK(is_complex(self.dtype) || !is_complex(v.t->dtype), "value cannot be converted to type ",
                 dtype_name(self.dtype), " without overflow");
    Tensor& out = c.out(0);
    Operand value = v.tag == Tag::Tensor ? Operand{v.t, nullptr, out.dtype} : Operand{nullptr, &v, out.dtype};
    Operand o[4] = {{&out, nullptr, out.dtype}, {&mask, nullptr, DType::Bool}, value, {&self, nullptr, out.dtype}};
    visit_size(out.itemsize(), [&]<class T>() { run_pointwise(o, 4, 1, select<T>, nullptr); });
}

KERNELS
{
    structured("clamp", clamp_cpu, kInputMayAlias);
    structured("clamp_max", clamp_max_cpu, kInputMayAlias);
    structured("clamp_min", clamp_min_cpu, kInputMayAlias);
    structured("copysign", copysign_cpu, kInputMayAlias);
    structured("fmax", fmax_cpu, kInputMayAlias);
    structured("fmin", fmin_cpu, kInputMayAlias);
    structured("heaviside", heaviside_cpu, kInputMayAlias);
    structured("masked_fill", masked_fill_cpu, kInputMayAlias);
    structured("maximum", maximum_cpu, kInputMayAlias);
    structured("minimum", minimum_cpu, kInputMayAlias);
    structured("nan_to_num", nan_to_num_cpu, kInputMayAlias);
    structured("nextafter", nextafter_cpu, kInputMayAlias);
    structured("where", where_cpu);
}

}  // namespace
}  // namespace mt
