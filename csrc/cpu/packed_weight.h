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

// The scales and offsets of a block's parts.
template <int kParts>
struct Scales {
    float scale[kParts], offset[kParts];
};

// Sixteen bytes whose lower halves are the first 16 elements, the upper halves the others.
inline void nibbles(const uint8_t* from, Vec* q) {
    for (int i = 0; i < 16 / kLanes; i++) {
        const Ints both = wide(from + i * kLanes);
        q[i] = to_float(both & 15);
        q[i + 16 / kLanes] = to_float(both >> 4);
    }
}

// A format has blocks of kParts parts of kPart elements: at() is where a block begins, scales() reads its scales, and
// part<k>() decodes a part.

// int8, a scale for each row (applied to the finished sum).
struct RowBytes {
    static constexpr int kPart = 32, kParts = 1;
    static constexpr bool kScaled = false, kOffset = false;
    const int8_t* data;
    int64_t row_bytes;
    const int8_t* at(int64_t row, int64_t block) const { return data + row * row_bytes + block * kPart; }
    Scales<1> scales(int64_t, int64_t, const int8_t*) const { return {{1}, {0}}; }
    template <int>
    void part(const int8_t* from, Vec* q) const {
        for (int i = 0; i < kPart / kLanes; i++) q[i] = to_float(wide(from + i * kLanes));
    }
};

// PyTorch's int4 weights: groups of 32 << shift with a scale and a zero, (q - 8) * scale + zero.
template <class T>
struct Groups4 {
    static constexpr int kPart = 32, kParts = 1;
    static constexpr bool kScaled = true, kOffset = true;
    const uint8_t* data;
    int64_t row_bytes, rows, shift;
    const T* pairs;  // [groups, rows, 2]
    const uint8_t* at(int64_t row, int64_t block) const { return data + row * row_bytes + block * 16; }
    Scales<1> scales(int64_t row, int64_t block, const uint8_t*) const {
        const T* s = pairs + ((block >> shift) * rows + row) * 2;
        const float scale = static_cast<float>(s[0]), zero = static_cast<float>(s[1]);
        return {{scale}, {zero - 8 * scale}};
    }
    template <int>
    void part(const uint8_t* from, Vec* q) const {
        nibbles(from, q);
    }
};

// ---- blocks of GGUF files; numbers are little-endian, scales float16 ----

template <int kBlockBytes>
struct Blocks {
    static constexpr int kBytes = kBlockBytes;
    const uint8_t* data;
    int64_t row_bytes;
    const uint8_t* at(int64_t row, int64_t block) const { return data + row * row_bytes + block * kBytes; }
};

// d, 32 x int8
struct Q8_0 : Blocks<34> {
    static constexpr int kPart = 32, kParts = 1;
    static constexpr bool kScaled = true, kOffset = false;
    Scales<1> scales(int64_t, int64_t, const uint8_t* block) const { return {{half_at(block)}, {0}}; }
    template <int>
    void part(const uint8_t* block, Vec* q) const {
        for (int i = 0; i < kPart / kLanes; i++)
            q[i] = to_float(wide(reinterpret_cast<const int8_t*>(block + 2) + i * kLanes));
    }
};

// d, 16 bytes of halves: d (q - 8)
struct Q4_0 : Blocks<18> {
    static constexpr int kPart = 32, kParts = 1;
    static constexpr bool kScaled = true, kOffset = true;
    Scales<1> scales(int64_t, int64_t, const uint8_t* block) const {
        const float d = half_at(block);
        return {{d}, {-8 * d}};
    }
    template <int>
    void part(const uint8_t* block, Vec* q) const {
        nibbles(block + 2, q);
    }
};

// d, dmin, 12 bytes with eight 6-bit scales and minima, 128 bytes of halves: d s q - dmin m. Parts 2k and 2k + 1 are
// the lower and the upper halves of the same 32 bytes.
struct Q4_K : Blocks<144> {
    static constexpr int kPart = 32, kParts = 8;
    static constexpr bool kScaled = true, kOffset = true;
    Scales<8> scales(int64_t, int64_t, const uint8_t* block) const {
        // Parts 0 to 3: the lower six bits of a byte; 4 to 7: four bits, and two that the first ones left over.
        uint32_t first, second, third;
        std::memcpy(&first, block + 4, 4);
        std::memcpy(&second, block + 8, 4);
        std::memcpy(&third, block + 12, 4);
        const uint32_t numbers[4] = {first & 0x3f3f3f3f, (third & 0x0f0f0f0f) | ((first >> 6) & 0x03030303) << 4,
                                     second & 0x3f3f3f3f,
                                     ((third >> 4) & 0x0f0f0f0f) | ((second >> 6) & 0x03030303) << 4};
        uint8_t bytes[16];
        std::memcpy(bytes, numbers, 16);
        const float d = half_at(block), least = -half_at(block + 2);
        Scales<8> made;
        for (int k = 0; k < 8; k++) {
            made.scale[k] = d * static_cast<float>(bytes[k]);
            made.offset[k] = least * static_cast<float>(bytes[8 + k]);
        }
        return made;
    }
    template <int k>
    void part(const uint8_t* block, Vec* q) const {
        for (int i = 0; i < kPart / kLanes; i++) {
            const Ints both = wide(block + 16 + k / 2 * 32 + i * kLanes);
            q[i] = to_float(k % 2 ? both >> 4 : both & 15);
        }
    }
};

// 128 bytes of lower halves, 64 bytes of upper quarters, 16 int8 scales, d: d s (q - 32). Halves of 128 elements;
// within one, elements l, l + 32, l + 64 and l + 96 share bytes.
struct Q6_K : Blocks<210> {
    static constexpr int kPart = 16, kParts = 16;
    static constexpr bool kScaled = true, kOffset = true;
    Scales<16> scales(int64_t, int64_t, const uint8_t* block) const {
        int8_t bytes[16];
        std::memcpy(bytes, block + 192, 16);
        const float d = half_at(block + 208);
        Scales<16> made;
        for (int k = 0; k < 16; k++) {
            made.scale[k] = d * static_cast<float>(bytes[k]);
            made.offset[k] = -32 * made.scale[k];
        }
        return made;
    }
    template <int k>
    void part(const uint8_t* block, Vec* q) const {
        constexpr int half = k / 8, quarter = k % 8 / 2, from = k % 2 * 16;
        const uint8_t *low = block + half * 64 + (quarter & 1) * 32 + from, *high = block + 128 + half * 32 + from;
        for (int i = 0; i < kPart / kLanes; i++) {
            const Ints l = wide(low + i * kLanes), h = wide(high + i * kLanes);
            q[i] = to_float((quarter < 2 ? l & 15 : l >> 4) | ((h >> (2 * quarter)) & 3) << 4);
        }
    }
};

}  // namespace mt::packed
