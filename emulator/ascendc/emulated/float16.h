// Sixteen-bit floats: each way, rounded to the nearest, ties to even. For the emulator and for the kernels that it
// compiles at run time.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace emulated {

inline float half_to_float(uint16_t h) {
    uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16, exponent = h >> 10 & 31, mantissa = h & 1023, bits;
    if (exponent == 31) {
        bits = sign | 0x7f800000u | mantissa << 13;
    } else if (exponent) {
        bits = sign | (exponent + 112) << 23 | mantissa << 13;
    } else {
        float tiny = static_cast<float>(mantissa) * 0x1p-24f;
        return sign ? -tiny : tiny;
    }
    float f;
    std::memcpy(&f, &bits, 4);
    return f;
}
inline uint16_t float_to_half(float f) {
    uint32_t bits;
    std::memcpy(&bits, &f, 4);
    uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
    float a = std::fabs(f);
    if (f != f) return sign | 0x7e00;
    if (a >= 65520.f) return sign | 0x7c00;
    if (a < 0x1p-14f) return sign | static_cast<uint16_t>(std::nearbyint(a * 0x1p24f));
    bits &= 0x7fffffffu;
    bits += 0xfffu + (bits >> 13 & 1);
    return sign | static_cast<uint16_t>((bits - (112u << 23)) >> 13);
}
inline float bf16_to_float(uint16_t h) {
    uint32_t bits = static_cast<uint32_t>(h) << 16;
    float f;
    std::memcpy(&f, &bits, 4);
    return f;
}
inline uint16_t float_to_bf16(float f) {
    uint32_t bits;
    std::memcpy(&bits, &f, 4);
    if (f != f) return 0x7fc0;
    return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

}  // namespace emulated
