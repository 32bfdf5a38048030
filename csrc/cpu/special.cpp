// Operators of the special functions, computed in double and rounded to the dtype.
#include "number.h"
#include "pointwise.h"
#include "special_math.h"
#include "wide_unary.h"

namespace mt {
namespace {

#define MT_SPECIAL(name, expression)                     \
    void name##_cpu(Call& c) {                           \
        unary_float(c, Floats{}, []<class T>(T a) -> T { \
            double x = a;                                \
            return static_cast<T>(expression);           \
        });                                              \
    }
MT_SPECIAL(digamma, special::digamma(x))
MT_SPECIAL(entr, special::entr(x))
MT_SPECIAL(erfcx, special::erfcx(x))
MT_SPECIAL(i0, special::i0(x))
MT_SPECIAL(i0e, special::i0e(x))
MT_SPECIAL(i1, special::i1(x))
MT_SPECIAL(i1e, special::i1e(x))
MT_SPECIAL(log_ndtr, special::log_ndtr(x))
MT_SPECIAL(ndtri, special::ndtri(x))
MT_SPECIAL(sinc, special::sinc(x))
#undef MT_SPECIAL

void erf_cpu(Call& c) {
    unary_float(c, Floats{}, [](auto a) { return vec::erf(a); });
}
void erfc_cpu(Call& c) {
    if (MT_WIDE_UNARY(c, erfc)) return;
    unary_float(c, Floats{}, [](auto a) { return vec::erfc(a); });
}
void erfinv_cpu(Call& c) {
    if (MT_WIDE_UNARY(c, erfinv)) return;
    unary_float(c, Floats{}, []<class T>(T a) -> T {
        if constexpr (std::is_same_v<T, float>)
            return vec::erfinv(a);
        else
            return special::erfinv(a);
    });
}
void ndtr_cpu(Call& c) {
    unary_float(c, Floats{},
                []<class T>(T a) -> T { return static_cast<T>(0.5 * ::erfc(-0.70710678118654752440 * a)); });
}
void lgamma_cpu(Call& c) {
    if (MT_WIDE_UNARY(c, lgamma)) return;
    unary_float(c, Floats{}, []<class T>(T a) -> T {
        int sign;
        if constexpr (std::is_same_v<T, float>)
            return ::lgammaf_r(a, &sign);
        else
            return ::lgamma_r(a, &sign);
    });
}

// polygamma(n, self)
void polygamma_cpu(Call& c) {
    int64_t n = c.integer(0);
    MT_CHECK(n >= 0, "polygamma(n, x) does not support negative n.");
    pointwise_float(c, Floats{}, {1}, [n]<class T>(T a) -> T { return static_cast<T>(special::polygamma(n, a)); });
}

// logit(self, eps): the input is clamped to [eps, 1 - eps] first.
void logit_cpu(Call& c) {
    if (c.is_none(1)) return unary_float(c, Floats{}, []<class T>(T a) -> T { return vec::log(a / (T(1) - a)); });
    double eps = c.real(1);
    unary_float(c, Floats{}, [eps]<class T>(T a) -> T {
        T low = T(eps), high = T(1) - low;
        T z = a < low ? low : a > high ? high : a;
        return vec::log(z / (T(1) - z));
    });
}

void xlogy_cpu(Call& c) {
    pointwise_float(c, Floats{}, {0, 1}, []<class T>(T a, T b) -> T {
        T r = a * vec::log(b);
        return b != b ? b : a == 0 ? T(0) : r;
    });
}
void xlog1py_cpu(Call& c) {
    pointwise_float(c, Floats{}, {0, 1}, []<class T>(T a, T b) -> T {
        T r = a * vec::log1p(b);
        return b != b ? b : a == 0 ? T(0) : r;
    });
}
void zeta_cpu(Call& c) {
    pointwise_float(c, Floats{}, {0, 1}, []<class T>(T a, T b) -> T { return static_cast<T>(special::zeta(a, b)); });
}
void igamma_cpu(Call& c) {
    pointwise_float(c, Floats{}, {0, 1}, []<class T>(T a, T b) -> T { return static_cast<T>(special::igamma(a, b)); });
}
void igammac_cpu(Call& c) {
    pointwise_float(c, Floats{}, {0, 1}, []<class T>(T a, T b) -> T { return static_cast<T>(special::igammac(a, b)); });
}

KERNELS
{
    structured("digamma", digamma_cpu, kInputMayAlias);
    structured("erf", erf_cpu, kInputMayAlias);
    structured("erfc", erfc_cpu, kInputMayAlias);
    structured("erfinv", erfinv_cpu, kInputMayAlias);
    structured("i0", i0_cpu, kInputMayAlias);
    structured("igamma", igamma_cpu, kInputMayAlias);
    structured("igammac", igammac_cpu, kInputMayAlias);
    structured("lgamma", lgamma_cpu, kInputMayAlias);
    structured("logit", logit_cpu, kInputMayAlias);
    structured("polygamma", polygamma_cpu, kInputMayAlias);
    structured("sinc", sinc_cpu, kInputMayAlias);
    structured("special_entr", entr_cpu, kInputMayAlias);
    structured("special_erfcx", erfcx_cpu, kInputMayAlias);
    structured("special_i0e", i0e_cpu, kInputMayAlias);
    structured("special_i1", i1_cpu, kInputMayAlias);
    structured("special_i1e", i1e_cpu, kInputMayAlias);
    structured("special_log_ndtr", log_ndtr_cpu, kInputMayAlias);
    structured("special_ndtr", ndtr_cpu, kInputMayAlias);
    structured("special_ndtri", ndtri_cpu, kInputMayAlias);
    structured("special_xlog1py", xlog1py_cpu, kInputMayAlias);
    structured("special_zeta", zeta_cpu, kInputMayAlias);
    structured("xlogy", xlogy_cpu, kInputMayAlias);
}

}  // namespace
}  // namespace mt
