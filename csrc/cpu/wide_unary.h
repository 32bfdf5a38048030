// Kernels of one tensor whose function exists for whole registers (wide.h).
//
//     if (MT_WIDE_UNARY(out, self, exp)) return;
//
// runs wide::exp where the kernel computes in a type that it takes; it is false for other types and on processors
// without AVX-512, and then nothing has been done.
#pragma once

#include "pointwise.h"
#include "wide.h"

#if defined(MT_WIDE)

namespace mt {

namespace detail {

MT_WIDE wide::Float load_part(const float* p, int64_t n) {
    return wide::Float(_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), p));
}
MT_WIDE wide::Double load_part(const double* p, int64_t n) {
    return wide::Double(_mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << n) - 1), p));
}
MT_WIDE void store_part(float* p, wide::Float v, int64_t n) {
    _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1), __m512(v));
}
MT_WIDE void store_part(double* p, wide::Double v, int64_t n) {
    _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1u << n) - 1), __m512d(v));
}

template <class V, class F>
void wide_loop(char* const* p, int64_t n, const void* fp) {
    using T = wide::Scalar<V>;
    constexpr int64_t kLanes = 64 / sizeof(T);
    const F& f = *static_cast<const F*>(fp);
    T* out = reinterpret_cast<T*>(p[0]);
    const T* in = reinterpret_cast<const T*>(p[1]);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        V x;
        std::memcpy(&x, in + i, sizeof x);
        x = f(x);
        std::memcpy(out + i, &x, sizeof x);
    }
    if (i < n) store_part(out + i, f(load_part(in + i, n - i)), n - i);
}

}  // namespace detail

template <class F>
bool unary_wide(Out out, const Tensor& x, const F& f) {
    DType t = x.dtype;
    if (!is_differentiable(t)) t = default_dtype();
    auto run = [&](DType compute, LoopFn loop) {
        const Operand operands[2] = {{&*out, nullptr, compute}, {&x, nullptr, compute}};
        if (t != compute && out->dtype == t)
            run_narrow(operands, 2, t, {loop, &f});
        else
            run_pointwise(operands, 2, 1, {loop, &f});
        return true;
    };
    if constexpr (std::is_invocable_v<F, wide::Float>)
        if (t == DType::Float32 || is_reduced_float(t)) return run(DType::Float32, detail::wide_loop<wide::Float, F>);
    if constexpr (std::is_invocable_v<F, wide::Double>)
        if (t == DType::Float64) return run(DType::Float64, detail::wide_loop<wide::Double, F>);
    return false;
}

}  // namespace mt

#define MT_WIDE_UNARY(out, self, name) \
    unary_wide(out, self, [](auto x) -> decltype(wide::name(x)) { return wide::name(x); })
#else
#define MT_WIDE_UNARY(out, self, name) false
#endif
