// Contiguous 16-bit floats to float, exactly, and back, rounded to nearest even. Inline: most callers work in blocks
// of constant length, for which a register is widened, used and narrowed between one load and one store.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <cstring>

#include "core/dtype.h"

namespace mt {

inline void widen(const float* x, float* y, int64_t n) {
    if (n > 0) std::memcpy(y, x, sizeof(float) * static_cast<size_t>(n));
}
inline void widen(const BFloat16* x, float* y, int64_t n) {
    int64_t i = 0;
#if defined(__AVX512F__)
    for (; i < n / 16 * 16; i += 16) {
        __m512i wide = _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i)));
        _mm512_storeu_si512(y + i, _mm512_maskz_slli_epi32(0xffff, wide, 16));
    }
#elif defined(__AVX2__)
    for (; i < n / 8 * 8; i += 8) {
        const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i)));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), _mm256_slli_epi32(wide, 16));
    }
#endif
    for (; i < n; i++) {
        uint32_t u = static_cast<uint32_t>(x[i].bits) << 16;
        std::memcpy(y + i, &u, 4);
    }
}
inline void widen(const Half* x, float* y, int64_t n) {
    int64_t i = 0;
#if defined(__AVX512F__)
    for (; i < n / 16 * 16; i += 16)
        _mm512_storeu_ps(y + i,
                         _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i))));
#elif defined(__F16C__)
    for (; i < n / 8 * 8; i += 8)
        _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
#elif defined(__aarch64__)
    for (; i < n / 4 * 4; i += 4) {
        const uint16x4_t narrow = vld1_u16(reinterpret_cast<const uint16_t*>(x + i));
        vst1q_f32(y + i, vcvt_f32_f16(vreinterpret_f16_u16(narrow)));
    }
#endif
    for (; i < n; i++) y[i] = static_cast<float>(x[i]);
}

inline void narrow(const float* x, float* y, int64_t n) { widen(x, y, n); }
inline void narrow(const float* x, BFloat16* y, int64_t n) {
    int64_t i = 0;
#if defined(__AVX512BW__)
    // Two registers at a time: one instruction takes the upper halves of all their items.
    alignas(64) static constexpr uint16_t kUpper[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
                                                        33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
    const __m512i upper = _mm512_load_si512(kUpper), half = _mm512_set1_epi32(0x7fff), one = _mm512_set1_epi32(1),
                  nan = _mm512_set1_epi32(0x7fc00000);
    auto rounded = [=](const float* from) {
        __m512 v = _mm512_loadu_ps(from);
        __m512i u = _mm512_castps_si512(v), odd = _mm512_and_si512(_mm512_maskz_srli_epi32(0xffff, u, 16), one);
        u = _mm512_add_epi32(_mm512_add_epi32(u, half), odd);
        return _mm512_mask_mov_epi32(u, _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), nan);
    };
    for (; i < n / 32 * 32; i += 32)
        _mm512_storeu_si512(y + i, _mm512_permutex2var_epi16(rounded(x + i), upper, rounded(x + i + 16)));
#elif defined(__AVX2__)
    const __m256i half = _mm256_set1_epi32(0x7fff), one = _mm256_set1_epi32(1), nan = _mm256_set1_epi32(0x7fc0);
    auto rounded = [=](const float* from) {
        const __m256 v = _mm256_loadu_ps(from);
        const __m256i u = _mm256_castps_si256(v), odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), one);
        const __m256i up = _mm256_srli_epi32(_mm256_add_epi32(_mm256_add_epi32(u, half), odd), 16);
        return _mm256_blendv_epi8(up, nan, _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q)));
    };
    for (; i < n / 16 * 16; i += 16) {
        // Packing keeps to the halves of a register: the second and third quarter change places.
        const __m256i packed = _mm256_packus_epi32(rounded(x + i), rounded(x + i + 8));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), _mm256_permute4x64_epi64(packed, 0xd8));
    }
#elif defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
    for (; i < n / 8 * 8; i += 8) {
        // One instruction rounds; it keeps the bits of a NaN, which here become those of all others.
        const float32x4_t low = vld1q_f32(x + i), high = vld1q_f32(x + i + 4);
        const uint16x8_t rounded = vreinterpretq_u16_bf16(vcvtq_high_bf16_f32(vcvtq_low_bf16_f32(low), high));
        const uint16x8_t number = vcombine_u16(vmovn_u32(vceqq_f32(low, low)), vmovn_u32(vceqq_f32(high, high)));
        vst1q_u16(reinterpret_cast<uint16_t*>(y + i), vbslq_u16(number, rounded, vdupq_n_u16(0x7fc0)));
    }
#endif
    for (; i < n; i++) {
        uint32_t u;
        std::memcpy(&u, x + i, 4);
        uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
        y[i].bits = static_cast<uint16_t>((u & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : rounded);
    }
}
inline void narrow(const float* x, Half* y, int64_t n) {
    int64_t i = 0;
#if defined(__AVX512F__)
    for (; i < n / 16 * 16; i += 16)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i),
                            _mm512_maskz_cvtps_ph(0xffff, _mm512_loadu_ps(x + i), 0));
#elif defined(__F16C__)
    for (; i < n / 8 * 8; i += 8)
        _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i), 0));
#elif defined(__aarch64__)
    for (; i < n / 4 * 4; i += 4) {
        const float16x4_t rounded = vcvt_f16_f32(vld1q_f32(x + i));
        vst1_u16(reinterpret_cast<uint16_t*>(y + i), vreinterpret_u16_f16(rounded));
    }
#endif
    for (; i < n; i++) y[i] = Half(x[i]);
}

}  // namespace mt
