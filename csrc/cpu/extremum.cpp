// Larger, smaller, clamped; and other operators that choose one of their operands.
#include "core/cpp_names.h"
#include "core/number_fits.h"
#include "number.h"
#include "pointwise.h"

namespace mt {
namespace {

void maximum_cpu(Out out, const Tensor& self, const Tensor& other) {
    const DType t = promoted({self, other});
    if (is_bool(t))
        return pointwise_as(out, Types<bool>{}, t, {self, other}, [](bool a, bool b) -> bool { return a | b; });
    pointwise_as(out, RealsFast{}, t, {self, other}, [](auto a, auto b) { return num::maximum(a, b); });
}
void minimum_cpu(Out out, const Tensor& self, const Tensor& other) {
    const DType t = promoted({self, other});
    if (is_bool(t))
        return pointwise_as(out, Types<bool>{}, t, {self, other}, [](bool a, bool b) -> bool { return a & b; });
    pointwise_as(out, RealsFast{}, t, {self, other}, [](auto a, auto b) { return num::minimum(a, b); });
}
// A NaN is passed over.
void fmax_cpu(Out out, const Tensor& self, const Tensor& other) {
    pointwise(out, Reals{}, {self, other}, [](auto a, auto b) { return a != a || b > a ? b : a; });
}
void fmin_cpu(Out out, const Tensor& self, const Tensor& other) {
    pointwise(out, Reals{}, {self, other}, [](auto a, auto b) { return a != a || b < a ? b : a; });
}

void clamp_between(Out out, const Tensor& self, std::optional<Input> low, std::optional<Input> high, DType t) {
    MT_CHECK_AS(NotImplemented, !is_complex(t), "clamp is not supported for complex types");
    Value numbers[2];
    auto wrap = [&](std::optional<Input>& bound, Value& number) {
        if (!bound || bound->t) return;
        check_number_fits(t, *bound->number);
        number = wrapped_into(t, *bound->number);
        bound = number;
    };
    wrap(low, numbers[0]);
    wrap(high, numbers[1]);
    if (low && high)
        pointwise_as(out, RealsFast{}, t, {self, *low, *high},
                     []<class T>(T a, T lo, T hi) -> T { return num::minimum(num::maximum(a, lo), hi); });
    else if (low)
        pointwise_as(out, RealsFast{}, t, {self, *low}, []<class T>(T a, T lo) -> T { return num::maximum(a, lo); });
    else
        pointwise_as(out, RealsFast{}, t, {self, *high}, []<class T>(T a, T hi) -> T { return num::minimum(a, hi); });
}

void check_bounds(bool any, DType t) {
    MT_CHECK(any, "torch.clamp: At least one of 'min' or 'max' must not be None");
    MT_CHECK_AS(NotImplemented, !is_complex(t), "clamp is not supported for complex types");
}

DType result_of(const Tensor& self, const std::optional<Input>& low, const std::optional<Input>& high) {
    return low && high ? promoted({self, *low, *high}) : promoted({self, low ? *low : *high});
}

// clamp(self, min, max), numbers or tensors, either None.
void clamp_cpu(Out out, const Tensor& self, std::optional<Input> min, std::optional<Input> max) {
    check_bounds(min || max, self.dtype);
    auto is_nan = [](const std::optional<Input>& x) {
        return x && x->number && x->number->tag == Tag::Double && x->number->d != x->number->d;
    };
    if (is_nan(min) || is_nan(max)) return fill(out, Value::of(std::nan("")));
    clamp_between(out, self, min, max, result_of(self, min, max));
}
void clamp_min_cpu(Out out, const Tensor& self, Input min) {
    clamp_between(out, self, min, std::nullopt, promoted({self, min}));
}
void clamp_max_cpu(Out out, const Tensor& self, Input max) {
    clamp_between(out, self, std::nullopt, max, promoted({self, max}));
}

void copysign_cpu(Out out, const Tensor& self, Input other) {
    pointwise_float(out, Floats{}, {self, other}, [](auto a, auto b) { return std::copysign(a, b); });
}

void nextafter_cpu(Out out, const Tensor& self, const Tensor& other) {
    DType t = promoted({self, other});
    if (t == DType::BFloat16) {
        // Neighbours of 16-bit numbers, not of the floats that stand for them.
        return pointwise_as(out, Types<float>{}, t, {self, other}, [](float a, float b) -> float {
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
    if (t == DType::Float16) {
        return pointwise_as(out, Types<float>{}, t, {self, other}, [](float a, float b) -> float {
            if (a != a || b != b) return a + b;
            if (a == b) return b;
            if (a == 0) return std::copysign(5.9604644775390625e-8f, b);
            Half h(a);
            uint16_t u;
            std::memcpy(&u, &h, 2);
            u = static_cast<uint16_t>(u + ((a < b) == (a > 0) ? 1 : -1));
            std::memcpy(&h, &u, 2);
            return static_cast<float>(h);
        });
    }
    if (!lists(Floats{}, t)) unsupported_dtype("nextafter", t);
    pointwise_as(out, Floats{}, t, {self, other}, []<class T>(T a, T b) -> T {
        using Bits = std::conditional_t<std::is_same_v<T, float>, uint32_t, uint64_t>;
        Bits bits;
        std::memcpy(&bits, &a, sizeof(T));
        bits += (a < b) == (a > 0) ? Bits(1) : ~Bits(0);  // away from zero or towards it; zeros are replaced below
        T next;
        std::memcpy(&next, &bits, sizeof(T));
        next = a == 0 ? std::copysign(std::numeric_limits<T>::denorm_min(), b) : next;
        next = a == b ? b : next;
        return (a != a) | (b != b) ? a + b : next;
    });
}

void heaviside_cpu(Out out, const Tensor& self, const Tensor& values) {
    MT_CHECK(self.dtype == values.dtype, "heaviside is not yet implemented for tensors with different dtypes.");
    pointwise(out, Reals{}, {self, values}, []<class T>(T a, T b) -> T { return a == 0 ? b : T(a > 0); });
}

void nan_to_num_cpu(Out out, const Tensor& self, std::optional<double> given_nan, std::optional<double> posinf,
                    std::optional<double> neginf) {
    if (!is_differentiable(self.dtype)) return copy_into(out, self);
    DType part = is_complex(self.dtype) ? to_real(self.dtype) : self.dtype;
    double largest = part == DType::Float64    ? std::numeric_limits<double>::max()
                     : part == DType::Float16  ? 65504.0
                     : part == DType::BFloat16 ? 3.3895313892515355e38
                                               : std::numeric_limits<float>::max();
    double nan = given_nan.value_or(0), up = posinf.value_or(largest), down = neginf.value_or(-largest);
    unary(out, FloatsComplex{}, self, [=]<class T>(T a) -> T {
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

void where_cpu(Out out, const Tensor& condition, Input self, Input other) {
    MT_CHECK(is_bool(condition.dtype) || condition.dtype == DType::UInt8,
             "where expected condition to be a boolean tensor, but got a tensor with dtype ",
             dtype_class_name(condition.dtype));
    Value numbers[2];
    auto operand = [&](const Input& x, Value& number) {
        if (x.t) return Operand{x.t, nullptr, out->dtype};
        number = as_element(out->dtype, *x.number);
        return Operand{nullptr, &number, out->dtype};
    };
    Operand o[4] = {{&*out, nullptr, out->dtype},
                    {&condition, nullptr, DType::Bool},
                    operand(self, numbers[0]),
                    operand(other, numbers[1])};
    visit_size(out->itemsize(), [&]<class T>() { run_pointwise(o, 4, 1, select<T>); });
}

// masked_fill(self, mask, value): value is a number or a 0-dim tensor.
void masked_fill_cpu(Out out, const Tensor& self, const Tensor& mask, Input value) {
    MT_CHECK(is_bool(mask.dtype), "masked_fill_ only supports boolean masks, but got mask with dtype ",
             dtype_cpp_name(mask.dtype));
    MT_CHECK(!value.t || value.t->ndim == 0,
             "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ", value.t->ndim,
             " dimension(s).");
    if (!value.t)
        check_number_fits(self.dtype, *value.number);
    else if (value.t->is_cpu() && !value.t->is_wrapped_number())
        check_item_fits(self.dtype, *value.t);
    else if (value.t->is_wrapped_number())
        MT_CHECK(is_complex(self.dtype) || !is_complex(value.t->dtype), "value cannot be converted to type ",
                 dtype_name(self.dtype), " without overflow");
    Operand o[4] = {{&*out, nullptr, out->dtype},
                    {&mask, nullptr, DType::Bool},
                    {value.t, value.number, out->dtype},
                    {&self, nullptr, out->dtype}};
    visit_size(out->itemsize(), [&]<class T>() { run_pointwise(o, 4, 1, select<T>); });
}

KERNELS
{
    structured<clamp_cpu>("clamp", kInputMayAlias);
    structured<clamp_max_cpu>("clamp_max", kInputMayAlias);
    structured<clamp_min_cpu>("clamp_min", kInputMayAlias);
    structured<copysign_cpu>("copysign", kInputMayAlias);
    structured<fmax_cpu>("fmax", kInputMayAlias);
    structured<fmin_cpu>("fmin", kInputMayAlias);
    structured<heaviside_cpu>("heaviside", kInputMayAlias);
    structured<masked_fill_cpu>("masked_fill", kInputMayAlias);
    structured<maximum_cpu>("maximum", kInputMayAlias);
    structured<minimum_cpu>("minimum", kInputMayAlias);
    structured<nan_to_num_cpu>("nan_to_num", kInputMayAlias);
    structured<nextafter_cpu>("nextafter", kInputMayAlias);
    structured<where_cpu>("where");
}

}  // namespace
}  // namespace mt
