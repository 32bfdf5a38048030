// Weights of few bits: rows of blocks, each with scales of its own, as files and PyTorch's packing operators have them.
//
// A format decodes a part of a row (16 or 32 elements) into registers of small whole numbers q; the part's numbers are
// scale * q + offset. Products are made of sums of q times x, so that scale and offset are applied once a part.
#pragma once

#include <cstring>

#include "core/dtype.h"
#include "simd.h"

namespace mt::packed {

using simd::kLanes;
using simd::Vec;

typedef uint8_t Bytes __attribute__((vector_size(kLanes), aligned(1), may_alias));
typedef int8_t SignedBytes __attribute__((vector_size(kLanes), aligned(1), may_alias));
typedef int32_t Ints __attribute__((vector_size(4 * kLanes)));

inline Ints wide(const int8_t* p) {
#if defined(__AVX512F__)
    return Ints(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#else
    return __builtin_convertvector(*reinterpret_cast<const SignedBytes*>(p), Ints);
#endif
}
inline Ints wide(const uint8_t* p) {
#if defined(__AVX512F__)
    return Ints(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#else
    return __builtin_convertvector(*reinterpret_cast<const Bytes*>(p), Ints);
#endif
}
inline Vec to_float(Ints v) { return __builtin_convertvector(v, Vec); }

inline float half_at(const uint8_t* p) {
    Half h;
    std::memcpy(&h, p, 2);
    return static_cast<float>(h);
}

struct Scale {
    float scale = 1, offset = 0;
};

// int8, a scale for each row (applied to the finished sum).
struct RowBytes {
    static constexpr int kPart = 32;
    static constexpr bool kScaled = false, kOffset = false;
    const int8_t* data;
    int64_t row_bytes;
    Scale part(int64_t row, int64_t p, Vec* q) const {
        const int8_t* from = data + row * row_bytes + p * kPart;
        for (int i = 0; i < kPart / kLanes; i++) q[i] = to_float(wide(from + i * kLanes));
        return {};
    }
};

// Sixteen bytes whose lower halves are the first 16 elements, the upper halves the others.
inline void nibbles(const uint8_t* from, Vec* q) {
    for (int i = 0; i < 16 / kLanes; i++) {
        const Ints both = wide(from + i * kLanes);
        q[i] = to_float(both & 15);
        q[i + 16 / kLanes] = to_float(both >> 4);
    }
}

// PyTorch's int4 weights: groups with a scale and a zero, (q - 8) * scale + zero.
struct Groups4 {
    static constexpr int kPart = 32;
    static constexpr bool kScaled = true, kOffset = true;
    const uint8_t* data;
    int64_t row_bytes, rows, parts_of_group;
    const float* scales;  // [groups, rows, 2]
    Scale part(int64_t row, int64_t p, Vec* q) const {
        nibbles(data + row * row_bytes + p * 16, q);
        const float* s = scales + (p / parts_of_group * rows + row) * 2;
        return {s[0], s[1] - 8 * s[0]};
    }
};

// ---- blocks of GGUF files; numbers are little-endian, scales float16 ----

// d, 32 x int8
struct Q8_0 {
    static constexpr int kPart = 32, kElements = 32, kBytes = 34;
    static constexpr bool kScaled = true, kOffset = false;
    const uint8_t* data;
    int64_t row_bytes;
    Scale part(int64_t row, int64_t p, Vec* q) const {
        const uint8_t* block = data + row * row_bytes + p * kBytes;
        for (int i = 0; i < kPart / kLanes; i++)
            q[i] = to_float(wide(reinterpret_cast<const int8_t*>(block + 2) + i * kLanes));
        return {half_at(block), 0};
    }
};

// d, 16 bytes of halves: d (q - 8)
struct Q4_0 {
    static constexpr int kPart = 32, kElements = 32, kBytes = 18;
    static constexpr bool kScaled = true, kOffset = true;
    const uint8_t* data;
    int64_t row_bytes;
    Scale part(int64_t row, int64_t p, Vec* q) const {
        const uint8_t* block = data + row * row_bytes + p * kBytes;
        nibbles(block + 2, q);
        const float d = half_at(block);
        return {d, -8 * d};
    }
};

// d, dmin, 12 bytes with eight 6-bit scales and minima, 128 bytes of halves: d s q - dmin m. Parts 2k and 2k + 1 are
// the lower and the upper halves of the same 32 bytes.
struct Q4_K {
    static constexpr int kPart = 32, kElements = 256, kBytes = 144;
    static constexpr bool kScaled = true, kOffset = true;
    const uint8_t* data;
    int64_t row_bytes;
    Scale part(int64_t row, int64_t p, Vec* q) const {
        const uint8_t* block = data + row * row_bytes + p / 8 * kBytes;
        const int k = static_cast<int>(p % 8);
        const uint8_t *s = block + 4, *from = block + 16 + k / 2 * 32;
        for (int i = 0; i < kPart / kLanes; i++) {
            const Ints both = wide(from + i * kLanes);
            q[i] = to_float(k % 2 ? both >> 4 : both & 15);
        }
        const int scale = k < 4 ? s[k] & 63 : (s[k + 4] & 15) | (s[k - 4] >> 6) << 4;
        const int least = k < 4 ? s[k + 4] & 63 : s[k + 4] >> 4 | (s[k] >> 6) << 4;
        return {half_at(block) * static_cast<float>(scale), -half_at(block + 2) * static_cast<float>(least)};
    }
};

// 128 bytes of lower halves, 64 bytes of upper quarters, 16 int8 scales, d: d s (q - 32). Halves of 128 elements;
// within one, elements l, l + 32, l + 64 and l + 96 share bytes.
struct Q6_K {
    static constexpr int kPart = 16, kElements = 256, kBytes = 210;
    static constexpr bool kScaled = true, kOffset = true;
    const uint8_t* data;
    int64_t row_bytes;
    Scale part(int64_t row, int64_t p, Vec* q) const {
        const uint8_t* block = data + row * row_bytes + p / 16 * kBytes;
        const int k = static_cast<int>(p % 16), half = k / 8, quarter = k % 8 / 2, at = k % 2 * 16;
        const uint8_t* low = block + half * 64 + (quarter & 1) * 32 + at;
        const uint8_t* high = block + 128 + half * 32 + at;
        for (int i = 0; i < kPart / kLanes; i++) {
            const Ints l = wide(low + i * kLanes), h = wide(high + i * kLanes);
            q[i] = to_float((quarter < 2 ? l & 15 : l >> 4) | ((h >> (2 * quarter)) & 3) << 4);
        }
        int8_t scale;
        std::memcpy(&scale, block + 192 + k, 1);
        const float s = half_at(block + 208) * static_cast<float>(scale);
        return {s, -32 * s};
    }
};

}  // namespace mt::packed
