// A float vector of the instruction set that this file is compiled for.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
// Registers of 256 bits, where the compiler is told that they have that length: the same text as for AVX2.
#if defined(__ARM_FEATURE_SVE) && __ARM_FEATURE_SVE_BITS == 256
#define MT_SVE256
#include <arm_sve.h>
#endif
#endif

#include <cstdint>
#include <cstring>

#include "core/dtype.h"

namespace mt::simd {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__) || defined(MT_SVE256)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

typedef float Vec __attribute__((vector_size(4 * kLanes)));
typedef float LooseVec __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));

inline Vec load(const float* p) { return *reinterpret_cast<const LooseVec*>(p); }
inline void store(float* p, Vec v) { *reinterpret_cast<LooseVec*>(p) = v; }
inline Vec splat(float x) { return Vec{} + x; }

#if defined(__AVX512F__)
inline Vec fma(Vec a, Vec b, Vec c) { return Vec(_mm512_fmadd_ps(__m512(a), __m512(b), __m512(c))); }
inline float sum(Vec v) { return _mm512_reduce_add_ps(__m512(v)); }
// The first `n` items; the others are zero.
inline Vec load_first(const float* p, int n) { return Vec(_mm512_maskz_loadu_ps(__mmask16((1u << n) - 1), p)); }
inline void store_first(float* p, Vec v, int n) { _mm512_mask_storeu_ps(p, __mmask16((1u << n) - 1), __m512(v)); }
#elif defined(MT_SVE256)
inline Vec fma(Vec a, Vec b, Vec c) {
    return Vec(svmla_f32_x(svptrue_b32(), svfloat32_t(c), svfloat32_t(a), svfloat32_t(b)));
}
inline float sum(Vec v) { return svaddv_f32(svptrue_b32(), svfloat32_t(v)); }
inline Vec load_first(const float* p, int n) { return Vec(svld1_f32(svwhilelt_b32(0, n), p)); }
inline void store_first(float* p, Vec v, int n) { svst1_f32(svwhilelt_b32(0, n), p, svfloat32_t(v)); }
#else
#if defined(__FMA__)
inline Vec fma(Vec a, Vec b, Vec c) { return Vec(_mm256_fmadd_ps(__m256(a), __m256(b), __m256(c))); }
#elif defined(__aarch64__)
inline Vec fma(Vec a, Vec b, Vec c) { return Vec(vfmaq_f32(float32x4_t(c), float32x4_t(a), float32x4_t(b))); }
#else
inline Vec fma(Vec a, Vec b, Vec c) { return a * b + c; }
#endif
#if defined(__aarch64__)
inline float sum(Vec v) { return vaddvq_f32(float32x4_t(v)); }
#elif defined(__AVX2__)
inline float sum(Vec v) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(__m256(v)), _mm256_extractf128_ps(__m256(v), 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
#else
inline float sum(Vec v) {
    float s = 0;
    for (int i = 0; i < kLanes; i++) s += v[i];
    return s;
}
#endif
#if defined(__AVX2__)
// All bits of the first `n` items.
inline __m256i first(int n) {
    alignas(32) static constexpr int32_t kMasks[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMasks + 8 - n));
}
inline Vec load_first(const float* p, int n) { return Vec(_mm256_maskload_ps(p, first(n))); }
inline void store_first(float* p, Vec v, int n) { _mm256_maskstore_ps(p, first(n), __m256(v)); }
#else
inline Vec load_first(const float* p, int n) {
    Vec v{};
    for (int i = 0; i < n; i++) v[i] = p[i];
    return v;
}
inline void store_first(float* p, Vec v, int n) {
    for (int i = 0; i < n; i++) p[i] = v[i];
}
#endif
#endif

typedef int32_t IntVec __attribute__((vector_size(4 * kLanes)));

// e to the x within 1 ulp; exactly 0 below -87.33 (results that would be subnormal), inf above 88.72; NaN stays NaN.
inline Vec exp(Vec x) {
    const Vec low = splat(-87.3365f), high = splat(88.7228f), magic = splat(12582912.0f);
    Vec clipped = x < low ? low : x;
    clipped = clipped > high ? high : clipped;
    Vec shifted = fma(clipped, splat(1.442695041f), magic);
    Vec n = shifted - magic;
    Vec r = fma(n, splat(-0.693145752f), clipped);
    r = fma(n, splat(-1.42860677e-6f), r);
    Vec y = splat(1.98412698e-4f);
    y = fma(y, r, splat(1.38888889e-3f));
    y = fma(y, r, splat(8.33333333e-3f));
    y = fma(y, r, splat(4.16666667e-2f));
    y = fma(y, r, splat(1.66666667e-1f));
    y = fma(y, r, splat(0.5f));
    y = fma(y, r * r, r);
    y = y + 1.0f;
    // 2^n in two steps: n may be 128.
    IntVec exponent = IntVec(shifted) - IntVec(magic);
    IntVec half = exponent >> 1;
    y = y * Vec((half + 127) << 23) * Vec((exponent - half + 127) << 23);
    y = x > high ? splat(__builtin_inff()) : y;
    return x < low ? Vec{} : y;
}
inline Vec max(Vec a, Vec b) { return a > b ? a : b; }
inline float max_item(Vec v) {
    float m = v[0];
    for (int i = 1; i < kLanes; i++) m = v[i] > m ? v[i] : m;
    return m;
}

}  // namespace mt::simd
