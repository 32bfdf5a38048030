// Sixteen uniforms into sixteen normals, in vectors: PyTorch's order (pairs eight apart) and its single-precision
// formulas.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace mt {
namespace {

// Natural logarithm and sine/cosine after Cephes (S. Moshier), the polynomials that PyTorch's AVX2 path evaluates too:
// the last bit of seeded normals depends on them.
inline float cephes_log(float x) {
    uint32_t bits;
    std::memcpy(&bits, &x, 4);
    // The smallest normal number stands for anything below it.
    bits = bits < 0x00800000u ? 0x00800000u : bits;
    float e = static_cast<float>(static_cast<int32_t>(bits >> 23) - 127) + 1.0f;
    bits = (bits & 0x007fffffu) | 0x3f000000u;  // mantissa in [0.5, 1)
    float m;
    std::memcpy(&m, &bits, 4);
    bool small = m < 0.707106781186547524f;
    e -= small ? 1.0f : 0.0f;
    m = (m - 1.0f) + (small ? m : 0.0f);
    float z = m * m;
    float y = 7.0376836292E-2f;
    y = std::fma(y, m, -1.1514610310E-1f);
    y = std::fma(y, m, 1.1676998740E-1f);
    y = std::fma(y, m, -1.2420140846E-1f);
    y = std::fma(y, m, 1.4249322787E-1f);
    y = std::fma(y, m, -1.6668057665E-1f);
    y = std::fma(y, m, 2.0000714765E-1f);
    y = std::fma(y, m, -2.4999993993E-1f);
    y = std::fma(y, m, 3.3333331174E-1f);
    y = y * m;
    y = y * z;
    y = std::fma(e, -2.12194440e-4f, y);
    y = y - z * 0.5f;
    m = m + y;
    return std::fma(e, 0.693359375f, m);
}

inline void cephes_sincos(float x, float& sine, float& cosine) {
    // x >= 0 here: an angle of [0, 2 pi).
    int32_t j = static_cast<int32_t>(x * 1.27323954473516f);
    j = (j + 1) & ~1;
    float y = static_cast<float>(j);
    x = std::fma(y, -0.78515625f, x);
    x = std::fma(y, -2.4187564849853515625e-4f, x);
    x = std::fma(y, -3.77489497744594108e-8f, x);
    float z = x * x;
    float c = std::fma(2.443315711809948E-005f, z, -1.388731625493765E-003f);
    c = std::fma(c, z, 4.166664568298827E-002f);
    c = c * z * z;
    c = c - z * 0.5f + 1.0f;
    float s = std::fma(-1.9515295891E-4f, z, 8.3321608736E-3f);
    s = std::fma(s, z, -1.6666654611E-1f);
    s = std::fma(s * z, x, x);
    bool swap = (j & 2) != 0;
    float a = swap ? c : s, b = swap ? s : c;
    sine = (j & 4) ? -a : a;
    cosine = ((j + 2) & 4) ? -b : b;
}

// data[0..15]: uniforms of [0, 1) in, normals out.
inline void box_muller_16(float* data, float mean, float std) {
    float u1[8], u2[8];
    for (int j = 0; j < 8; j++) {
        u1[j] = 1.0f - data[j];
        u2[j] = data[j + 8];
    }
    for (int j = 0; j < 8; j++) {
        float radius = std::sqrt(-2.0f * cephes_log(u1[j]));
        float sine, cosine;
        cephes_sincos(6.283185307179586f * u2[j], sine, cosine);
        data[j] = std::fma(radius * cosine, std, mean);
        data[j + 8] = std::fma(radius * sine, std, mean);
    }
}

inline void box_muller_16(double* data, double mean, double std) {
    for (int j = 0; j < 8; j++) {
        double u1 = 1.0 - data[j], u2 = data[j + 8];
        double radius = std::sqrt(-2.0 * std::log(u1)), theta = 2.0 * 3.14159265358979323846 * u2;
        data[j] = radius * std::cos(theta) * std + mean;
        data[j + 8] = radius * std::sin(theta) * std + mean;
    }
}

}  // namespace
}  // namespace mt
