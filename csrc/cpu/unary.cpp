// Exponentials, logarithms, trigonometry, rounding.
#include "guarded.h"
#include "number.h"
#include "pointwise.h"
#include "rounded.h"
#include "wide_unary.h"

extern "C" __attribute__((simd("notinbranch"), const)) double hypot(double, double) noexcept;

namespace mt {
namespace {

#define MT_UNARY_FLOAT(name)                                                  \
    void name##_cpu(Call& c) {                                                \
        unary_float(c, FloatsComplex{}, [](auto a) { return num::name(a); }); \
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

#define MT_UNARY_WIDE(name)                                                   \
    void name##_cpu(Call& c) {                                                \
        if (MT_WIDE_UNARY(c, name)) return;                                   \
        unary_float(c, FloatsComplex{}, [](auto a) { return num::name(a); }); \
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

#define MT_GUARDED(name, Guarded)                                                                    \
    void name##_cpu(Call& c) {                                                                       \
        if (MT_WIDE_UNARY(c, name)) return;                                                          \
        DType t = c.tensor(0).dtype;                                                                 \
        if (is_guarded(is_differentiable(t) ? t : default_dtype())) return guarded<Guarded>(c, {0}); \
        unary_float(c, Types<double, c64, c128>{}, [](auto a) { return num::name(a); });             \
    }
MT_GUARDED(cos, Cos)
MT_GUARDED(sin, Sin)
MT_GUARDED(tan, Tan)
MT_GUARDED(log, Log)
MT_GUARDED(log2, Log2)
MT_GUARDED(log10, Log10)
#undef MT_GUARDED

void atan2_cpu(Call& c) {
    const int args[2] = {0, 1};
    Rounded rounded(c, promoted(c, args, 2), args);
    pointwise_float(rounded.call, Floats{}, {0, 1}, [](auto a, auto b) { return vec::atan2(a, b); });
}

void hypot_cpu(Call& c) {
    const int args[2] = {0, 1};
    Rounded rounded(c, promoted(c, args, 2), args);
    pointwise(rounded.call, Floats{}, {0, 1}, []<class T>(T a, T b) -> T {
        if constexpr (std::is_same_v<T, float>)
            return std::isinf(a) || std::isinf(b) ? std::numeric_limits<float>::infinity()
                                                  : static_cast<float>(__builtin_sqrt(double(a) * a + double(b) * b));
        else
            return std::isinf(a) || std::isinf(b) ? std::numeric_limits<double>::infinity() : ::hypot(a, b);
    });
}

// log(e^a + e^b)
void logaddexp_cpu(Call& c) {
    pointwise(c, Floats{}, {0, 1}, []<class T>(T a, T b) -> T {
        T m = num::maximum(a, b), d = a - b;
        T r = m + vec::log1p(vec::exp(d > 0 ? -d : d));
        return a == b && (a == std::numeric_limits<T>::infinity() || a == -std::numeric_limits<T>::infinity()) ? a : r;
    });
}
void logaddexp2_cpu(Call& c) {
    pointwise(c, Floats{}, {0, 1}, []<class T>(T a, T b) -> T {
        T m = num::maximum(a, b), d = a - b;
        T r = m + vec::log1p(vec::exp2(d > 0 ? -d : d)) * T(1.4426950408889634);
        return a == b && (a == std::numeric_limits<T>::infinity() || a == -std::numeric_limits<T>::infinity()) ? a : r;
    });
}

// Rounding leaves integers as they are.
bool copied_integers(Call& c) {
    const Tensor& self = c.tensor(0);
    if (!is_integer(self.dtype)) return false;
    copy_into(c.out(0), self);
    return true;
}

void ceil_cpu(Call& c) {
    if (copied_integers(c)) return;
    unary(c, Floats{},
          []<class T>(T a) -> T { return std::is_same_v<T, float> ? __builtin_ceilf(a) : __builtin_ceil(a); });
}
void floor_cpu(Call& c) {
    if (copied_integers(c)) return;
    unary(c, Floats{},
          []<class T>(T a) -> T { return std::is_same_v<T, float> ? __builtin_floorf(a) : __builtin_floor(a); });
}
void trunc_cpu(Call& c) {
    if (copied_integers(c)) return;
    unary(c, Floats{},
          []<class T>(T a) -> T { return std::is_same_v<T, float> ? __builtin_truncf(a) : __builtin_trunc(a); });
}
void frac_cpu(Call& c) {
    unary(c, Floats{}, []<class T>(T a) -> T { return a - std::trunc(a); });
}

// Half to even; with decimals, 10^decimals scales before and after.
void round_cpu(Call& c) {
    if (c.nargs > 1 && !c.is_none(1) && c.integer(1) != 0) {
        int64_t decimals = c.integer(1);
        MT_CHECK(!is_integer(c.tensor(0).dtype), "\"round_cpu\" not implemented for '",
                 dtype_class_name(c.tensor(0).dtype), "'");
        bool up = decimals > 0;
        double ten = std::pow(10.0, static_cast<double>(std::abs(decimals)));
        return unary(c, Floats{}, [=]<class T>(T a) -> T {
            T k = T(ten);
            return up ? std::nearbyint(a * k) / k : std::nearbyint(a / k) * k;
        });
    }
    if (copied_integers(c)) return;
    unary(c, Floats{}, []<class T>(T a) -> T { return std::nearbyint(a); });
}

KERNELS
{
    structured("acos", acos_cpu, kInputMayAlias);
    structured("acosh", acosh_cpu, kInputMayAlias);
    structured("asin", asin_cpu, kInputMayAlias);
    structured("asinh", asinh_cpu, kInputMayAlias);
    structured("atan", atan_cpu, kInputMayAlias);
    structured("atan2", atan2_cpu, kInputMayAlias);
    structured("atanh", atanh_cpu, kInputMayAlias);
    structured("ceil", ceil_cpu, kInputMayAlias);
    structured("cos", cos_cpu, kInputMayAlias);
    structured("cosh", cosh_cpu, kInputMayAlias);
    structured("exp", exp_cpu, kInputMayAlias);
    structured("exp2", exp2_cpu, kInputMayAlias);
    structured("expm1", expm1_cpu, kInputMayAlias);
    structured("floor", floor_cpu, kInputMayAlias);
    structured("frac", frac_cpu, kInputMayAlias);
    structured("hypot", hypot_cpu, kInputMayAlias);
    structured("log", log_cpu, kInputMayAlias);
    structured("log10", log10_cpu, kInputMayAlias);
    structured("log1p", log1p_cpu, kInputMayAlias);
    structured("log2", log2_cpu, kInputMayAlias);
    structured("logaddexp", logaddexp_cpu, kInputMayAlias);
    structured("logaddexp2", logaddexp2_cpu, kInputMayAlias);
    structured("round", round_cpu, kInputMayAlias);
    structured("sigmoid", sigmoid_cpu, kInputMayAlias);
    structured("sin", sin_cpu, kInputMayAlias);
    structured("sinh", sinh_cpu, kInputMayAlias);
    structured("tan", tan_cpu, kInputMayAlias);
    structured("tanh", tanh_cpu, kInputMayAlias);
    structured("trunc", trunc_cpu, kInputMayAlias);
}

}  // namespace
}  // namespace mt
