// Element-wise kernels with two forms: one without branches that holds for ordinary arguments, and one that holds
// for all. Blocks in which every argument is ordinary take the first, as vector code.
//
//     struct Fmod {
//         static bool near(float a, float b);
//         static float fast(float a, float b);
//         static float exact(float a, float b);
//     };
//     guarded<Fmod>(out, {self, other});  // in float; guarded<Fmod, double> in double
#pragma once

#include "pointwise.h"

namespace mt {

namespace detail {

template <class F, class T, size_t... I>
void guarded_loop(char* const* p, int64_t n, std::index_sequence<I...>) {
    constexpr int64_t kBlock = 512;
    T* out = reinterpret_cast<T*>(p[0]);
    std::tuple<const argument<F, T, I>*...> in{reinterpret_cast<const T*>(p[I + 1])...};
    for (int64_t at = 0; at < n; at += kBlock) {
        int64_t end = std::min(n, at + kBlock);
        int far = 0;
        for (int64_t i = at; i < end; i++) far |= !F::near(std::get<I>(in)[i]...);
        if (far) {
            for (int64_t i = at; i < end; i++) out[i] = F::exact(std::get<I>(in)[i]...);
        } else {
#pragma GCC ivdep
            for (int64_t i = at; i < end; i++) out[i] = F::fast(std::get<I>(in)[i]...);
        }
    }
}

}  // namespace detail

// Whether `guarded` computes in this dtype: what pointwise kernels compute in float.
inline bool is_guarded(DType t) { return t == DType::Float32 || is_reduced_float(t); }

template <class F, class T = float, size_t N>
void guarded(Out out, const Input (&inputs)[N]) {
    constexpr DType kType = dtype_of<T>::value;
    Operand operands[N + 1] = {{&*out, nullptr, kType}};
    for (size_t k = 0; k < N; k++) operands[k + 1] = {inputs[k].t, inputs[k].number, kType};
    LoopFn loop = [](char* const* p, int64_t n, const void*) {
        detail::guarded_loop<F, T>(p, n, std::make_index_sequence<N>());
    };
    run_pointwise(operands, N + 1, 1, loop);
}
}  // namespace mt
