// Exponentials, logarithms, trigonometry, rounding.
#include "guarded.h"
#include "log_sum.h"
#include "number.h"
#include "pointwise.h"
#include "rounded.h"
#include "wide_unary.h"

extern "C" __attribute__((simd("notinbranch"), const)) double hypot(double, double) noexcept;

namespace mt {
namespace {

#define MT_UNARY_FLOAT(name)                                                          \
    void name##_cpu(Out out, const Tensor& self) {                                    \
        unary_float(out, FloatsComplex{}, self, [](auto a) { return num::name(a); }); \
    }
MT_UNARY_FLOAT(acosh)
MT_UNARY_FLOAT(asinh)
MT_UNARY_FLOAT(atanh)
MT_UNARY_FLOAT(cosh)
MT_UNARY_FLOAT(exp2)
MT_UNARY_FLOAT(expm1)
MT_UNARY_FLOAT(log1p)
MT_UNARY_FLOAT(sigmoid)
#undef MT_UNARY_FLOAT

#define MT_UNARY_WIDE(name)                                                           \
    void name##_cpu(Out out, const Tensor& self) {                                    \
        if (MT_WIDE_UNARY(out, self, name)) return;                                   \
        unary_float(out, FloatsComplex{}, self, [](auto a) { return num::name(a); }); \
    }
MT_UNARY_WIDE(acos)
MT_UNARY_WIDE(asin)
MT_UNARY_WIDE(atan)
MT_UNARY_WIDE(exp)
MT_UNARY_WIDE(sinh)
MT_UNARY_WIDE(tanh)
#undef MT_UNARY_WIDE

struct Angle {
    static bool near(float x) { return vec::abs_f(x) < vec::kTrigonometricLimit; }
};
struct Cos : Angle {
    static MT_INLINE float fast(float x) { return vec::sin_or_cos<true>(x); }
    static float exact(float x) { return static_cast<float>(std::cos(static_cast<double>(x))); }
};
struct Sin : Angle {
    static MT_INLINE float fast(float x) { return vec::sin_or_cos<false>(x); }
    static float exact(float x) { return static_cast<float>(std::sin(static_cast<double>(x))); }
};
struct Tan : Angle {
    static MT_INLINE float fast(float x) { return vec::tan_near(x); }
    static float exact(float x) { return static_cast<float>(std::tan(static_cast<double>(x))); }
};

struct Positive {
    static bool near(float x) { return vec::log_is_near(x); }
};
struct Log : Positive {
    static MT_INLINE float fast(float x) { return vec::log_of(vec::log_parts(x)); }
    static float exact(float x) { return vec::log(x); }
};
struct Log2 : Positive {
    static MT_INLINE float fast(float x) { return vec::log_of(vec::log_parts(x), vec::kBase2); }
    static float exact(float x) { return vec::log2(x); }
};
struct Log10 : Positive {
    static MT_INLINE float fast(float x) { return vec::log_of(vec::log_parts(x), vec::kBase10); }
    static float exact(float x) { return vec::log10(x); }
};

#define MT_GUARDED(name, Guarded)                                                                         \
    void name##_cpu(Out out, const Tensor& self) {                                                        \
        if (MT_WIDE_UNARY(out, self, name)) return;                                                       \
        DType t = self.dtype;                                                                             \
        if (is_guarded(is_differentiable(t) ? t : default_dtype())) return guarded<Guarded>(out, {self}); \
        unary_float(out, Types<double, c64, c128>{}, self, [](auto a) { return num::name(a); });          \
    }
MT_GUARDED(cos, Cos)
MT_GUARDED(sin, Sin)
MT_GUARDED(tan, Tan)
MT_GUARDED(log, Log)
MT_GUARDED(log2, Log2)
MT_GUARDED(log10, Log10)
#undef MT_GUARDED

void atan2_cpu(Out out, const Tensor& self, const Tensor& other) {
    RoundedInputs rounded(promoted({self, other}), {self, other});
    pointwise_float(out, Floats{}, {rounded[0], rounded[1]}, [](auto a, auto b) { return vec::atan2(a, b); });
}

void hypot_cpu(Out out, const Tensor& self, const Tensor& other) {
    RoundedInputs rounded(promoted({self, other}), {self, other});
    pointwise(out, Floats{}, {rounded[0], rounded[1]}, []<class T>(T a, T b) -> T {
        if constexpr (std::is_same_v<T, float>)
            return std::isinf(a) || std::isinf(b) ? std::numeric_limits<float>::infinity()
                                                  : static_cast<float>(__builtin_sqrt(double(a) * a + double(b) * b));
        else
            return std::isinf(a) || std::isinf(b) ? std::numeric_limits<double>::infinity() : ::hypot(a, b);
    });
}

// log(e^a + e^b)
void logaddexp_cpu(Out out, const Tensor& self, const Tensor& other) {
    if (is_complex(promoted({self, other})))
        return pointwise(out, ComplexTypes{}, {self, other}, []<class T>(T a, T b) -> T { return log_of_sum(a, b); });
    pointwise(out, Floats{}, {self, other}, []<class T>(T a, T b) -> T {
        T m = num::maximum(a, b), d = a - b;
        T r = m + vec::log1p(vec::exp(d > 0 ? -d : d));
        return a == b && (a == std::numeric_limits<T>::infinity() || a == -std::numeric_limits<T>::infinity()) ? a : r;
    });
}
void logaddexp2_cpu(Out out, const Tensor& self, const Tensor& other) {
    pointwise(out, Floats{}, {self, other}, []<class T>(T a, T b) -> T {
        T m = num::maximum(a, b), d = a - b;
        T r = m + vec::log1p(vec::exp2(d > 0 ? -d : d)) * T(1.4426950408889634);
        return a == b && (a == std::numeric_limits<T>::infinity() || a == -std::numeric_limits<T>::infinity()) ? a : r;
    });
}

// Rounding leaves integers as they are.
bool copied_integers(Tensor& out, const Tensor& self) {
    if (!is_integer(self.dtype)) return false;
    copy_into(out, self);
    return true;
}

void ceil_cpu(Out out, const Tensor& self) {
    if (copied_integers(out, self)) return;
    unary(out, Floats{}, self,
          []<class T>(T a) -> T { return std::is_same_v<T, float> ? __builtin_ceilf(a) : __builtin_ceil(a); });
}
void floor_cpu(Out out, const Tensor& self) {
    if (copied_integers(out, self)) return;
    unary(out, Floats{}, self,
          []<class T>(T a) -> T { return std::is_same_v<T, float> ? __builtin_floorf(a) : __builtin_floor(a); });
}
void trunc_cpu(Out out, const Tensor& self) {
    if (copied_integers(out, self)) return;
    unary(out, Floats{}, self,
          []<class T>(T a) -> T { return std::is_same_v<T, float> ? __builtin_truncf(a) : __builtin_trunc(a); });
}
void frac_cpu(Out out, const Tensor& self) {
    unary(out, Floats{}, self, []<class T>(T a) -> T { return a - std::trunc(a); });
}

// Half to even; with decimals, 10^decimals scales before and after.
void round_cpu(Out out, const Tensor& self) {
    if (copied_integers(out, self)) return;
    unary(out, Floats{}, self, []<class T>(T a) -> T { return std::nearbyint(a); });
}
void round_decimals_cpu(Out out, const Tensor& self, int64_t decimals) {
    if (decimals == 0) return round_cpu(out, self);
    if (is_integer(self.dtype)) unsupported_dtype("round_cpu", self.dtype);
    bool up = decimals > 0;
    double ten = std::pow(10.0, std::fabs(static_cast<double>(decimals)));
    unary(out, Floats{}, self, [=]<class T>(T a) -> T {
        T k = T(ten);
        return up ? std::nearbyint(a * k) / k : std::nearbyint(a / k) * k;
    });
}

KERNELS
{
    structured<acos_cpu>("acos", kInputMayAlias);
    structured<acosh_cpu>("acosh", kInputMayAlias);
    structured<asin_cpu>("asin", kInputMayAlias);
    structured<asinh_cpu>("asinh", kInputMayAlias);
    structured<atan_cpu>("atan", kInputMayAlias);
    structured<atan2_cpu>("atan2", kInputMayAlias);
    structured<atanh_cpu>("atanh", kInputMayAlias);
    structured<ceil_cpu>("ceil", kInputMayAlias);
    structured<cos_cpu>("cos", kInputMayAlias);
    structured<cosh_cpu>("cosh", kInputMayAlias);
    structured<exp_cpu>("exp", kInputMayAlias);
    structured<exp2_cpu>("exp2", kInputMayAlias);
    structured<expm1_cpu>("expm1", kInputMayAlias);
    structured<floor_cpu>("floor", kInputMayAlias);
    structured<frac_cpu>("frac", kInputMayAlias);
    structured<hypot_cpu>("hypot", kInputMayAlias);
    structured<log_cpu>("log", kInputMayAlias);
    structured<log10_cpu>("log10", kInputMayAlias);
    structured<log1p_cpu>("log1p", kInputMayAlias);
    structured<log2_cpu>("log2", kInputMayAlias);
    structured<logaddexp_cpu>("logaddexp", kInputMayAlias);
    structured<logaddexp2_cpu>("logaddexp2", kInputMayAlias);
    structured<round_cpu>("round", kInputMayAlias);
    structured<round_decimals_cpu>("round.decimals", kInputMayAlias);
    structured<sigmoid_cpu>("sigmoid", kInputMayAlias);
    structured<sin_cpu>("sin", kInputMayAlias);
    structured<sinh_cpu>("sinh", kInputMayAlias);
    structured<tan_cpu>("tan", kInputMayAlias);
    structured<tanh_cpu>("tanh", kInputMayAlias);
    structured<trunc_cpu>("trunc", kInputMayAlias);
}

}  // namespace
}  // namespace mt
