// Weights of few bits: rows of blocks, each with scales of its own, as files and PyTorch's packing operators have them.
//
// A format decodes a part of a row (32 elements) into registers of small whole numbers q of 16 bits; a part's numbers,
// or those of its halves, are scale * q + offset. Products are made of sums of q times whole numbers that stand for x.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/kernel.h"
#include "narrow.h"
#include "simd.h"

namespace mt::packed {

using simd::kLanes;
using simd::Vec;

constexpr int kPart = 32;
constexpr int kWords = 2 * kLanes;          // of a register
constexpr int kRegisters = kPart / kWords;  // of a part

typedef int16_t Words __attribute__((vector_size(2 * kWords)));
typedef int16_t LooseWords __attribute__((vector_size(2 * kWords), aligned(2), may_alias));
typedef int32_t Ints __attribute__((vector_size(4 * kLanes)));

inline Words load(const int16_t* p) { return *reinterpret_cast<const LooseWords*>(p); }
// Unlike the sum of zeros and a number, this needs no instruction of its own where a load repeats the number.
inline Vec repeated(float x) { return x - Vec{}; }
inline Vec to_float(Ints v) { return __builtin_convertvector(v, Vec); }

// kWords bytes, each as 16 bits.
inline Words wide(const uint8_t* p) {
#if defined(__AVX512BW__)
    return Words(_mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
#elif defined(__AVX2__)
    return Words(_mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#else
    Words w;
    for (int i = 0; i < kWords; i++) w[i] = p[i];
    return w;
#endif
}
inline Words wide(const int8_t* p) {
#if defined(__AVX512BW__)
    return Words(_mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
#elif defined(__AVX2__)
    return Words(_mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#else
    Words w;
    for (int i = 0; i < kWords; i++) w[i] = p[i];
    return w;
#endif
}

// The products of numbers of 16 bits, added in pairs of neighbours.
inline Ints pairs(Words a, Words b) {
#if defined(__AVX512BW__)
    return Ints(_mm512_madd_epi16(__m512i(a), __m512i(b)));
#elif defined(__AVX2__)
    return Ints(_mm256_madd_epi16(__m256i(a), __m256i(b)));
#elif defined(__SSE2__)
    return Ints(_mm_madd_epi16(__m128i(a), __m128i(b)));
#elif defined(__aarch64__) && !defined(MT_SVE256)
    const int16x8_t x = int16x8_t(a), y = int16x8_t(b);
    return Ints(vpaddq_s32(vmull_s16(vget_low_s16(x), vget_low_s16(y)), vmull_high_s16(x, y)));
#else
    Ints sum;
    for (int i = 0; i < kLanes; i++) sum[i] = int32_t(a[2 * i]) * b[2 * i] + int32_t(a[2 * i + 1]) * b[2 * i + 1];
    return sum;
#endif
}

inline float half_at(const uint8_t* p) {
    Half h;
    std::memcpy(&h, p, 2);
    return static_cast<float>(h);
}

// Bytes as numbers. GCC 12 takes a conversion of vectors that widens by more than two apart.
typedef uint8_t Eight __attribute__((vector_size(8)));
typedef int8_t Sixteen __attribute__((vector_size(16)));
typedef float EightNumbers __attribute__((vector_size(32)));
typedef float SixteenNumbers __attribute__((vector_size(64)));
inline void to_numbers(Eight bytes, EightNumbers* to) {
#if defined(__AVX2__)
    *to = EightNumbers(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(int64_t(bytes)))));
#else
    *to = __builtin_convertvector(bytes, EightNumbers);
#endif
}
inline void to_numbers(Sixteen bytes, SixteenNumbers* to) {
#if defined(__AVX512F__)
    *to = SixteenNumbers(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(__m128i(bytes))));
#else
    *to = __builtin_convertvector(bytes, SixteenNumbers);
#endif
}

// So many numbers. One is no vector: GCC would keep that in memory.
template <int kCount>
struct NumbersOf {
    typedef float type __attribute__((vector_size(4 * kCount)));
};
template <>
struct NumbersOf<1> {
    using type = float;
};
// One of them. clang has no references to the numbers of a vector.
inline float item(float number, int) { return number; }
template <class Numbers>
float item(const Numbers& numbers, int k) {
    return numbers[k];
}
inline void set_item(float& number, int, float value) { number = value; }
template <class Numbers>
void set_item(Numbers& numbers, int k, float value) {
    numbers[k] = value;
}

// The scales and offsets of a block.
template <int kCount>
struct Scales {
    using Numbers = typename NumbersOf<kCount>::type;
    float scale[kCount];
    Numbers offset = {};

    Scales() = default;
    // Both from bytes: times one number each.
    template <class Bytes>
    Scales(Bytes scales, float times_scale, Bytes offsets, float times_offset) : Scales(scales, times_scale) {
        to_numbers(offsets, &offset);
        offset *= times_offset;
    }
    template <class Bytes>
    Scales(Bytes scales, float times_scale) {
        Numbers made;
        to_numbers(scales, &made);
        made *= times_scale;
        std::memcpy(scale, &made, sizeof scale);
        // From memory a number is repeated by the load that reads it; out of a register it has to be taken first.
        asm("" : "+m"(scale));
    }
};

// Sixteen bytes whose lower halves are the first 16 elements, the upper halves the others.
inline void nibbles(const uint8_t* from, Words* q) {
#if defined(__AVX512BW__)
    const __m256i twice = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    Words shift = {};
    for (int i = kWords / 2; i < kWords; i++) shift[i] = 4;
    q[0] = (Words(_mm512_cvtepu8_epi16(twice)) >> shift) & 15;
#else
    for (int i = 0; i < kRegisters / 2; i++) {
        const Words both = wide(from + i * kWords);
        q[i] = both & 15;
        q[i + kRegisters / 2] = both >> 4;
    }
#endif
}

// The even and the odd numbers of two registers.
template <int... k>
void apart(Vec a, Vec b, Vec* even, Vec* odd, std::integer_sequence<int, k...>) {
    *even = __builtin_shufflevector(a, b, (2 * k)...);
    *odd = __builtin_shufflevector(a, b, (2 * k + 1)...);
}

// A format has blocks of kParts parts: at() is where a block begins, scales() reads its scales, one for each kPer
// elements, and part<k>() decodes a part. begin() is called before the rows of a tile are read: kTile rows from a
// multiple of it, or what there is of them. Offsets are added block by block (kOffset), or for a whole tile at once.
constexpr int64_t kTile = 16;

// int8, a scale for each row (applied to the finished sum).
struct RowBytes {
    static constexpr int kParts = 1, kPer = 32;
    static constexpr bool kScaled = false, kOffset = false, kTileOffset = false;
    const int8_t* data;
    int64_t row_bytes;
    void begin(int64_t, std::vector<float>&) {}
    const int8_t* at(int64_t row, int64_t block) const { return data + row * row_bytes + block * kPart; }
    Scales<1> scales(int64_t, int64_t, const int8_t*) const {
        Scales<1> made;
        made.scale[0] = 1;
        return made;
    }
    template <int>
    void part(const int8_t* from, Words* q) const {
        for (int i = 0; i < kRegisters; i++) q[i] = wide(from + i * kWords);
    }
};

// PyTorch's int4 weights: groups of 32 << shift with a scale and a zero, (q - 8) * scale + zero; groups of at least
// kOf elements. Of 64 elements the first 32 are the lower halves of 32 bytes, the others the upper ones.
template <int kOf>
struct Groups4 {
    static constexpr int kParts = kOf == 128 ? 4 : 2, kPer = kOf;
    static constexpr bool kScaled = true, kOffset = false, kTileOffset = true;
    const uint8_t* data;
    int64_t row_bytes, rows, shift;
    const Tensor* pairs;                              // [groups, rows, 2], contiguous
    const float *scale = nullptr, *offset = nullptr;  // [groups, kTile], of the tile at hand
    const uint8_t* at(int64_t row, int64_t block) const { return data + row * row_bytes + block * kParts * 16; }
    // The pairs of one row lie far apart, those of neighbours beside each other.
    void begin(int64_t row, std::vector<float>& memory) {
        const int64_t groups = row_bytes / 16 >> shift, count = std::min(kTile, rows - row);
        memory.resize(static_cast<size_t>(2 * groups * kTile));
        float *to_scale = memory.data(), *to_offset = to_scale + groups * kTile;
        scale = to_scale, offset = to_offset;
        visit(Types<float, BFloat16, Half>{}, pairs->dtype, "packed product", [&]<class T>() {
            for (int64_t g = 0; g < groups; g++, to_scale += kTile, to_offset += kTile) {
                const T* s = pairs->data<T>() + (g * rows + row) * 2;
                __builtin_prefetch(s + 2 * kTile);
                float both[2 * kTile] = {};
                widen(s, both, 2 * count);
                for (int64_t k = 0; k < kTile; k += kLanes) {
                    Vec of_scale, of_zero;
                    apart(simd::load(both + 2 * k), simd::load(both + 2 * k + kLanes), &of_scale, &of_zero,
                          std::make_integer_sequence<int, kLanes>());
                    simd::store(to_scale + k, of_scale);
                    simd::store(to_offset + k, simd::fma(of_scale, simd::splat(-8), of_zero));
                }
            }
        });
    }
    // What the offsets add to the sums of the tile's rows: `sums` are those of x, one for each kPer elements.
    void add_offsets(const float* sums, int64_t count, float* to) const {
        for (int64_t p = 0; p < count; p++) {
            const float* of_rows = offset + ((p * (kPer / kPart)) >> shift) * kTile;
            for (int64_t k = 0; k < kTile; k += kLanes)
                simd::store(to + k, simd::fma(simd::load(of_rows + k), simd::splat(sums[p]), simd::load(to + k)));
        }
    }
    auto scales(int64_t row, int64_t block, const uint8_t*) const {
        constexpr int kCount = kParts * kPart / kPer;
        Scales<kCount> made;
        for (int i = 0; i < kCount; i++) {
            float found;
            of_group(row, (block * kParts + i) >> shift, &made.scale[i], &found);
            set_item(made.offset, i, found);
        }
        return made;
    }
    void of_group(int64_t row, int64_t group, float* to_scale, float* to_offset) const {
        const int64_t at = group * kTile + row % kTile;
        *to_scale = scale[at];
        *to_offset = offset[at];
    }
    template <int k>
    void part(const uint8_t* from, Words* q) const {
        for (int i = 0; i < kRegisters; i++) {
            const Words both = wide(from + k / 2 * 32 + i * kWords);
            q[i] = k % 2 ? both >> 4 : both & 15;
        }
    }
};

// ---- blocks of GGUF files; numbers are little-endian, scales float16 ----

template <int kBlockBytes>
struct Blocks {
    static constexpr int kBytes = kBlockBytes;
    static constexpr bool kTileOffset = false;
    const uint8_t* data;
    int64_t row_bytes;
    void begin(int64_t, std::vector<float>&) {}
    const uint8_t* at(int64_t row, int64_t block) const { return data + row * row_bytes + block * kBytes; }
};

// d, 32 x int8
struct Q8_0 : Blocks<34> {
    static constexpr int kParts = 1, kPer = 32;
    static constexpr bool kScaled = true, kOffset = false;
    Scales<1> scales(int64_t, int64_t, const uint8_t* block) const {
        Scales<1> made;
        made.scale[0] = half_at(block);
        return made;
    }
    template <int>
    void part(const uint8_t* block, Words* q) const {
        for (int i = 0; i < kRegisters; i++) q[i] = wide(reinterpret_cast<const int8_t*>(block + 2) + i * kWords);
    }
};

// d, 16 bytes of halves: d (q - 8)
struct Q4_0 : Blocks<18> {
    static constexpr int kParts = 1, kPer = 32;
    static constexpr bool kScaled = true, kOffset = false;
    Scales<1> scales(int64_t, int64_t, const uint8_t* block) const {
        Scales<1> made;
        made.scale[0] = half_at(block);
        return made;
    }
    template <int>
    void part(const uint8_t* block, Words* q) const {
        nibbles(block + 2, q);
        for (int i = 0; i < kRegisters; i++) q[i] -= 8;
    }
};

// d, dmin, 12 bytes with eight 6-bit scales and minima, 128 bytes of halves: d s q - dmin m. Parts 2k and 2k + 1 are
// the lower and the upper halves of the same 32 bytes.
struct Q4_K : Blocks<144> {
    static constexpr int kParts = 8, kPer = 32;
    static constexpr bool kScaled = true, kOffset = true;
    Scales<8> scales(int64_t, int64_t, const uint8_t* block) const {
        // Parts 0 to 3: the lower six bits of a byte; 4 to 7: four bits, and two that the first ones left over.
        uint32_t first, second, third;
        std::memcpy(&first, block + 4, 4);
        std::memcpy(&second, block + 8, 4);
        std::memcpy(&third, block + 12, 4);
        // As one number of 64 bits each: a wide load of two narrow stores waits for them.
        auto joined = [](uint32_t low, uint32_t high) { return low | uint64_t(high) << 32; };
        const uint64_t scales = joined(first & 0x3f3f3f3f, (third & 0x0f0f0f0f) | ((first >> 6) & 0x03030303) << 4),
                       minima =
                           joined(second & 0x3f3f3f3f, ((third >> 4) & 0x0f0f0f0f) | ((second >> 6) & 0x03030303) << 4);
        return {Eight(scales), half_at(block), Eight(minima), -half_at(block + 2)};
    }
    template <int k>
    void part(const uint8_t* block, Words* q) const {
        for (int i = 0; i < kRegisters; i++) {
            const Words both = wide(block + 16 + k / 2 * 32 + i * kWords);
            q[i] = k % 2 ? both >> 4 : both & 15;
        }
    }
};

// 128 bytes of lower halves, 64 bytes of upper quarters, 16 int8 scales, d: d s (q - 32). Halves of 128 elements;
// within one, elements l, l + 32, l + 64 and l + 96 share bytes.
struct Q6_K : Blocks<210> {
    static constexpr int kParts = 8, kPer = 16;
    static constexpr bool kScaled = true, kOffset = false;
    Scales<16> scales(int64_t, int64_t, const uint8_t* block) const {
        Sixteen bytes;
        std::memcpy(&bytes, block + 192, 16);
        const float d = half_at(block + 208);
        return {bytes, d};
    }
    template <int k>
    void part(const uint8_t* block, Words* q) const {
        constexpr int half = k / 4, quarter = k % 4;
        const uint8_t *low = block + half * 64 + (quarter & 1) * 32, *high = block + 128 + half * 32;
        for (int i = 0; i < kRegisters; i++) {
            const Words l = wide(low + i * kWords), h = wide(high + i * kWords);
            const Words upper = quarter == 0 ? h << 4 : quarter == 1 ? h << 2 : quarter == 2 ? h : h >> 2;
            q[i] = ((quarter < 2 ? l & 15 : l >> 4) | (upper & 48)) - 32;
        }
    }
};

}  // namespace mt::packed
