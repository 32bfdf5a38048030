// Sums of sizes that came from outside: beyond the ends of int64 they stay there, where a check refuses them.
#pragma once

#include <cstdint>

namespace mt {

inline int64_t saturating_add(int64_t a, int64_t b) {
    int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum)) return sum;
    return a < 0 ? INT64_MIN : INT64_MAX;
}

inline int64_t saturating_mul(int64_t a, int64_t b) {
    int64_t product;
    if (!__builtin_mul_overflow(a, b, &product)) return product;
    return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

}  // namespace mt
