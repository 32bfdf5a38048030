// c10::ForcedUnroll: a loop of a length that the compiler knows, written out.
#pragma once

#include <mindtorch/types.h>

namespace c10 {

template <int n>
struct ForcedUnroll {
    template <class F, class... A>
    C10_ALWAYS_INLINE void operator()(const F& f, A... args) const {
        if constexpr (n > 1) ForcedUnroll<n - 1>()(f, args...);
        f(std::integral_constant<int, n - 1>(), args...);
    }
};

}  // namespace c10
