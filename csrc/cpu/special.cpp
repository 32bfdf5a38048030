// Operators of the special functions, computed in double and rounded to the dtype.
#include "number.h"
#include "pointwise.h"
#include "rounded.h"
#include "vec_special.h"
#include "wide_unary.h"

namespace mt {
namespace {

#define MT_SPECIAL(name, expression)                             \
    void name##_cpu(Out out, const Tensor& self) {               \
        unary_float(out, Floats{}, self, []<class T>(T a) -> T { \
            double x = a;                                        \
            return static_cast<T>(expression);                   \
        });                                                      \
    }
MT_SPECIAL(digamma, vec::digamma(x))
MT_SPECIAL(entr, special::entr(x))
MT_SPECIAL(erfcx, vec::erfcx(x))
MT_SPECIAL(i0, vec::i0(x))
MT_SPECIAL(i0e, vec::i0e(x))
MT_SPECIAL(i1, vec::i1(x))
MT_SPECIAL(i1e, vec::i1e(x))
MT_SPECIAL(log_ndtr, vec::log_ndtr(x))
MT_SPECIAL(ndtri, special::ndtri(x))
#undef MT_SPECIAL

void sinc_cpu(Out out, const Tensor& self) {
    unary_float(out, FloatsComplex{}, self, []<class T>(T a) -> T {
        if constexpr (num::is_cx<T>) {
            const T x = a * typename T::value_type(3.14159265358979323846);
            return a == T(0) ? T(1) : std::sin(x) / x;
        } else {
            return static_cast<T>(special::sinc(static_cast<double>(a)));
        }
    });
}

void erf_cpu(Out out, const Tensor& self) {
    unary_float(out, Floats{}, self, [](auto a) { return vec::erf(a); });
}
void erfc_cpu(Out out, const Tensor& self) {
    if (MT_WIDE_UNARY(out, self, erfc)) return;
    unary_float(out, Floats{}, self, [](auto a) { return vec::erfc(a); });
}
void erfinv_cpu(Out out, const Tensor& self) {
    if (MT_WIDE_UNARY(out, self, erfinv)) return;
    unary_float(out, Floats{}, self, []<class T>(T a) -> T {
        if constexpr (std::is_same_v<T, float>)
            return vec::erfinv(a);
        else
            return special::erfinv(a);
    });
}
void ndtr_cpu(Out out, const Tensor& self) {
    unary_float(out, Floats{}, self,
                []<class T>(T a) -> T { return static_cast<T>(0.5 * ::erfc(-0.70710678118654752440 * a)); });
}
void lgamma_cpu(Out out, const Tensor& self) {
    if (MT_WIDE_UNARY(out, self, lgamma)) return;
    unary_float(out, Floats{}, self, []<class T>(T a) -> T {
        int sign;
        if constexpr (std::is_same_v<T, float>)
            return ::lgammaf_r(a, &sign);
        else
            return ::lgamma_r(a, &sign);
    });
}

void polygamma_cpu(Out out, int64_t n, const Tensor& self) {
    MT_CHECK(n >= 0, "polygamma(n, x) does not support negative n.");
    if (n == 0) return digamma_cpu(out, self);
    if (n == 1)
        return unary_float(out, Floats{}, self, []<class T>(T a) -> T { return static_cast<T>(vec::trigamma(a)); });
    pointwise_float(out, Floats{}, {self}, [n]<class T>(T a) -> T { return static_cast<T>(special::polygamma(n, a)); });
}

// logit(self, eps): the input is clamped to [eps, 1 - eps] first.
void logit_cpu(Out out, const Tensor& self, std::optional<double> given_eps) {
    if (!given_eps) return unary_float(out, Floats{}, self, []<class T>(T a) -> T { return vec::log(a / (T(1) - a)); });
    double eps = *given_eps;
    unary_float(out, Floats{}, self, [eps]<class T>(T a) -> T {
        T low = T(eps), high = T(1) - low;
        T z = a < low ? low : a > high ? high : a;
        return vec::log(z / (T(1) - z));
    });
}

void xlogy_cpu(Out out, Input self, Input other) {
    RoundedInputs rounded(promoted({self, other}), {self, other});
    pointwise_float(out, Floats{}, {rounded[0], rounded[1]}, []<class T>(T a, T b) -> T {
        T r = a * vec::log(b);
        return b != b ? b : a == 0 ? T(0) : r;
    });
}
void xlog1py_cpu(Out out, Input self, Input other) {
    pointwise_float(out, Floats{}, {self, other}, []<class T>(T a, T b) -> T {
        T r = a * vec::log1p(b);
        return b != b ? b : a == 0 ? T(0) : r;
    });
}
void zeta_cpu(Out out, Input self, Input other) {
    pointwise_float(out, Floats{}, {self, other},
                    []<class T>(T a, T b) -> T { return static_cast<T>(special::zeta(a, b)); });
}
void igamma_cpu(Out out, const Tensor& self, const Tensor& other) {
    pointwise_float(out, Floats{}, {self, other},
                    []<class T>(T a, T b) -> T { return static_cast<T>(special::igamma(a, b)); });
}
void igammac_cpu(Out out, const Tensor& self, const Tensor& other) {
    pointwise_float(out, Floats{}, {self, other},
                    []<class T>(T a, T b) -> T { return static_cast<T>(special::igammac(a, b)); });
}

KERNELS
{
    structured<digamma_cpu>("digamma", kInputMayAlias);
    structured<erf_cpu>("erf", kInputMayAlias);
    structured<erfc_cpu>("erfc", kInputMayAlias);
    structured<erfinv_cpu>("erfinv", kInputMayAlias);
    structured<i0_cpu>("i0", kInputMayAlias);
    structured<igamma_cpu>("igamma", kInputMayAlias);
    structured<igammac_cpu>("igammac", kInputMayAlias);
    structured<lgamma_cpu>("lgamma", kInputMayAlias);
    structured<logit_cpu>("logit", kInputMayAlias);
    structured<polygamma_cpu>("polygamma", kInputMayAlias);
    structured<sinc_cpu>("sinc", kInputMayAlias);
    structured<entr_cpu>("special_entr", kInputMayAlias);
    structured<erfcx_cpu>("special_erfcx", kInputMayAlias);
    structured<i0e_cpu>("special_i0e", kInputMayAlias);
    structured<i1_cpu>("special_i1", kInputMayAlias);
    structured<i1e_cpu>("special_i1e", kInputMayAlias);
    structured<log_ndtr_cpu>("special_log_ndtr", kInputMayAlias);
    structured<ndtr_cpu>("special_ndtr", kInputMayAlias);
    structured<ndtri_cpu>("special_ndtri", kInputMayAlias);
    structured<xlog1py_cpu>("special_xlog1py", kInputMayAlias);
    structured<zeta_cpu>("special_zeta", kInputMayAlias);
    structured<xlogy_cpu>("xlogy", kInputMayAlias);
}

}  // namespace
}  // namespace mt
