// The 8-bit floats: conversion to and from float. They are storage formats; no arithmetic is done in them.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/dtype.h"

namespace mt {

// What happens above the largest number, and which codes are special.
enum class Float8Kind {
    Ieee,  // infinity and NaN as IEEE has them (e5m2)
    Fn,    // finite: the all-ones code is NaN (e4m3fn)
    Fnuz,  // finite, no negative zero: the code of -0 is NaN
};

template <int kMantissa, int kBias, Float8Kind kKind>
struct Float8 {
    uint8_t bits;
    Float8() = default;
    Float8(float value) : bits(encode(value)) {}
    operator float() const { return decode(bits); }

    static uint8_t encode(float value) {
        constexpr uint8_t kNan = kKind == Float8Kind::Fnuz ? 0x80 : 0x7f;
        constexpr uint8_t kTop = kKind == Float8Kind::Ieee ? 0x7c : kKind == Float8Kind::Fn ? 0x7f : 0x80;
        uint8_t sign = std::signbit(value) ? 0x80 : 0;
        if (std::isnan(value)) return kKind == Float8Kind::Fnuz ? kNan : kNan | sign;
        float a = std::fabs(value);
        int code = 0xff;
        if (!std::isinf(a)) {
            constexpr int kLow = 1 - kBias;
            int e = a > 0 ? std::max(std::ilogb(a), kLow) : kLow;
            int q = e > 20 ? 1 << 20 : static_cast<int>(std::nearbyint(std::ldexp(a, kMantissa - e)));
            // A carry out of the mantissa lands in the exponent field by itself.
            code = ((e - kLow) << kMantissa) + q;
        }
        if (kKind == Float8Kind::Fn && code >= kTop) return 0x7e | sign;  // saturates, infinity too
        if (code >= kTop) return kKind == Float8Kind::Fnuz ? kNan : kTop | sign;
        if (kKind == Float8Kind::Fnuz && code == 0) return 0;
        return static_cast<uint8_t>(code) | sign;
    }

    static float decode(uint8_t bits) {
        constexpr float kNanValue = std::numeric_limits<float>::quiet_NaN();
        int code = bits & 0x7f;
        if (kKind == Float8Kind::Fnuz && bits == 0x80) return kNanValue;
        if (kKind == Float8Kind::Fn && code == 0x7f) return kNanValue;
        if (kKind == Float8Kind::Ieee && code >= 0x7c)
            return code > 0x7c ? kNanValue : (bits & 0x80 ? -1 : 1) * std::numeric_limits<float>::infinity();
        int e = code >> kMantissa, m = code & ((1 << kMantissa) - 1);
        float v = e == 0 ? std::ldexp(static_cast<float>(m), 1 - kBias - kMantissa)
                         : std::ldexp(static_cast<float>(m + (1 << kMantissa)), e - kBias - kMantissa);
        return bits & 0x80 ? -v : v;
    }
};
using Float8_e5m2 = Float8<2, 15, Float8Kind::Ieee>;
using Float8_e4m3fn = Float8<3, 7, Float8Kind::Fn>;
using Float8_e5m2fnuz = Float8<2, 16, Float8Kind::Fnuz>;
using Float8_e4m3fnuz = Float8<3, 8, Float8Kind::Fnuz>;

// A power of two: the exponent byte of a float. 0xff is NaN.
struct Float8_e8m0fnu {
    uint8_t bits;
    Float8_e8m0fnu() = default;
    Float8_e8m0fnu(float value) {
        uint32_t u;
        std::memcpy(&u, &value, 4);
        uint32_t e = (u >> 23) & 0xff;
        if (e != 0xff) {
            // Nearest power of two; a tie (mantissa exactly one half) goes up unless the number is subnormal.
            bool guard = u & 0x400000, round = u & 0x200000, sticky = u & 0x1fffff;
            if (guard && (e > 0 || round || sticky)) e++;
        }
        bits = static_cast<uint8_t>(e);
    }
    operator float() const {
        uint32_t u = bits == 0xff ? 0x7f800001u : bits == 0 ? 0x00400000u : static_cast<uint32_t>(bits) << 23;
        float f;
        std::memcpy(&f, &u, 4);
        return f;
    }
};

// In which numbers of a dtype are computed with: those of 8 bits as float32, by the operators that take them.
constexpr DType widened(DType t) { return is_float8(t) ? DType::Float32 : t; }

}  // namespace mt
