// Numbers of eight bits: what a float is rounded to, ties to even, and what the bits mean.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "../ascendc/emulated/float16.h"

namespace emu {

struct E5M2 {  // the upper half of a float16
    uint8_t v;
};
struct E4M3 {  // without infinities; all ones are no number
    uint8_t v;
};
struct E8M0 {  // a power of two
    uint8_t v;
};

template <class E>
inline constexpr bool is_float8 = std::is_same_v<E, E5M2> || std::is_same_v<E, E4M3> || std::is_same_v<E, E8M0>;

inline float to_float(E5M2 e) { return emulated::half_to_float(static_cast<uint16_t>(e.v << 8)); }
inline float to_float(E4M3 e) {
    int exponent = e.v >> 3 & 15, mantissa = e.v & 7;
    float size = (e.v & 127) == 127 ? std::numeric_limits<float>::quiet_NaN()
                 : exponent         ? std::ldexp(static_cast<float>(8 + mantissa), exponent - 10)
                                    : std::ldexp(static_cast<float>(mantissa), -9);
    return e.v & 128 ? -size : size;
}
inline float to_float(E8M0 e) {
    return e.v == 255 ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0f, e.v - 127);
}

// A positive number with so many bits of mantissa, the smallest exponent being `least`: the bits of exponent and
// mantissa.
inline uint32_t rounded(float size, int bits, int least) {
    int exponent = size > 0 ? std::max(std::ilogb(size), least) : least;
    auto steps = static_cast<uint32_t>(std::nearbyint(std::ldexp(size, bits - exponent)));  // ties to even
    return static_cast<uint32_t>(exponent - least) * (1u << bits) + steps;
}

template <class E>
E from_float(float x) {
    uint8_t sign = std::signbit(x) ? 128 : 0;
    float size = std::fabs(x);
    if constexpr (std::is_same_v<E, E4M3>) {
        if (std::isnan(x)) return {static_cast<uint8_t>(sign | 127)};
        uint32_t r = size >= 448 ? 126 : rounded(size, 3, -6);  // what is larger becomes the largest
        return {static_cast<uint8_t>(sign | r)};
    } else if constexpr (std::is_same_v<E, E5M2>) {
        if (std::isnan(x)) return {static_cast<uint8_t>(sign | 127)};
        uint32_t r = size >= 65536 ? 124 : rounded(size, 2, -14);
        return {static_cast<uint8_t>(sign | (r > 124 ? 124 : r))};
    } else {
        auto bits = std::bit_cast<uint32_t>(x) & 0x7fffffffu;
        uint32_t exponent = bits >> 23, rest = bits & 0x7fffffu, half = 1u << 22;
        if (exponent == 255) return {255};
        bool up = rest > half || (rest == half && exponent > 0);
        return {static_cast<uint8_t>(exponent + (up ? 1 : 0))};
    }
}

}  // namespace emu
