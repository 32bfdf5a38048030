// Products of few rows with a weight of 4 or 6 bits by the instructions that multiply bytes (AVX512_VNNI): half as many
// steps as by 16-bit numbers, and the same sums.
//
// A number x of 16 bits is 256 high + low, each a signed byte. A weight's numbers stay bytes of no sign, 64 to an
// operand; the bytes of x lie in the order in which a format's bits fall apart, so that nothing of the weight is moved.
#pragma once

#if defined(__AVX512BW__)

#include <type_traits>

#include "packed_vectors.h"

namespace mt::packed {

constexpr int kOperand = 64;  // numbers of a register
constexpr int kRun = 16;      // of them that are neighbours in a row of the weight
#define MT_BYTE_PRODUCTS __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))

inline bool multiplies_bytes() {
    static const bool found = __builtin_cpu_supports("avx512vnni");
    return found;
}

inline __m512i byte_halves(__m512i both) { return _mm512_and_si512(both, _mm512_set1_epi8(15)); }
inline __m512i upper_halves(__m512i both) { return byte_halves(_mm512_srli_epi16(both, 4)); }
// For each of a register's four runs, one of `numbers`.
inline __m512 by_runs(__m512 numbers, int a, int b, int c, int d) {
    return _mm512_permutexvar_ps(_mm512_setr_epi32(a, a, a, a, b, b, b, b, c, c, c, c, d, d, d, d), numbers);
}

// How a format's bytes become operands: `kChunk` numbers of a row at a time, whose runs begin at `kStarts`;
// operands() takes them apart, scales() has the scale of each number; `kCenter` is to be taken from all.
template <class F>
struct ByBytes {
    static constexpr bool kThere = false;
};

template <>
struct ByBytes<Q4_0> {
    static constexpr bool kThere = true, kOneScale = false;
    static constexpr int kChunk = 64, kCenter = 8;
    static constexpr int kStarts[] = {0, 32, 16, 48};
    static void operands(const uint8_t* from, __m512i* q) {
        const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(at(from + 2)), at(from + 20), 1);
        q[0] = byte_halves(_mm512_inserti64x4(_mm512_castsi256_si512(both), _mm256_srli_epi16(both, 4), 1));
    }
    static void scales(const uint8_t* from, __m512* s) {
        uint16_t first, second;
        std::memcpy(&first, from, 2);
        std::memcpy(&second, from + 18, 2);
        const __m128 both = _mm_cvtph_ps(_mm_cvtsi32_si128(first | int32_t(second) << 16));
        s[0] = by_runs(_mm512_castps128_ps512(both), 0, 1, 0, 1);
    }

  private:
    static __m128i at(const uint8_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
};

template <>
struct ByBytes<Q4_K> {
    static constexpr bool kThere = true, kOneScale = false;
    static constexpr int kChunk = 256, kCenter = 0;
    static constexpr int kStarts[] = {0, 16, 64, 80, 32, 48, 96, 112, 128, 144, 192, 208, 160, 176, 224, 240};
    static void operands(const uint8_t* from, __m512i* q) {
        for (int k = 0; k < 2; k++) {
            const __m512i both = _mm512_loadu_si512(from + 16 + k * 64);
            q[2 * k] = byte_halves(both);
            q[2 * k + 1] = upper_halves(both);
        }
    }
    // The scale of each number; gives the offsets of the eight parts.
    static __m256 scales(const uint8_t* from, __m512* s) {
        const __m512 all = numbers(from);
        s[0] = by_runs(all, 0, 0, 2, 2), s[1] = by_runs(all, 1, 1, 3, 3);
        s[2] = by_runs(all, 4, 4, 6, 6), s[3] = by_runs(all, 5, 5, 7, 7);
        return _mm512_extractf32x8_ps(all, 1);
    }

  private:
    // Eight scales and eight offsets. Of each four bytes of 6 bits for parts 0 to 3, parts 4 to 7 have the two highest;
    // their lower four are the halves of the last four bytes.
    static __m512 numbers(const uint8_t* from) {
        const __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));  // d, dmin, the twelve bytes
        const __m128i low =
            _mm_shuffle_epi8(packed, _mm_setr_epi8(4, 5, 6, 7, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15));
        const __m128i high =
            _mm_shuffle_epi8(packed, _mm_setr_epi8(-1, -1, -1, -1, 4, 5, 6, 7, -1, -1, -1, -1, 8, 9, 10, 11));
        const __m128i here = _mm_and_si128(low, _mm_setr_epi32(0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0)),
                      upper = _mm_and_si128(_mm_srli_epi16(low, 4), _mm_setr_epi32(0, 0, 0, 0x0f0f0f0f)),
                      two = _mm_and_si128(_mm_srli_epi16(high, 2), _mm_set1_epi8(0x30));
        const __m128i bytes = _mm_or_si128(_mm_or_si128(here, upper), two);
        const __m512 times = by_runs(_mm512_castps128_ps512(_mm_cvtph_ps(packed)), 0, 0, 1, 1);
        const __m512 signs = _mm512_castsi512_ps(
            _mm512_inserti64x4(_mm512_setzero_si512(), _mm256_set1_epi32(INT32_MIN), 1));  // offsets are taken away
        return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes)), _mm512_xor_ps(times, signs));
    }
};

template <>
struct ByBytes<Q6_K> {
    static constexpr bool kThere = true, kOneScale = false;
    static constexpr int kChunk = 256, kCenter = 32;
    static constexpr int kStarts[] = {0, 16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240};
    static void operands(const uint8_t* from, __m512i* q) {
        // Quarters 0 and 1 of a half have the lower bits of 64 bytes, 2 and 3 the upper ones; the two highest bits of
        // all four lie in the same 32 bytes.
        const __m512i left = _mm512_inserti64x4(_mm512_set1_epi16(4), _mm256_set1_epi16(2), 1),
                      right = _mm512_inserti64x4(_mm512_setzero_si512(), _mm256_set1_epi16(2), 1),
                      highest = _mm512_set1_epi8(48);
        for (int half = 0; half < 2; half++) {
            const __m512i low = _mm512_loadu_si512(from + half * 64),
                          two = _mm512_broadcast_i64x4(
                              _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 128 + half * 32)));
            q[2 * half] = _mm512_or_si512(byte_halves(low), _mm512_and_si512(_mm512_sllv_epi16(two, left), highest));
            q[2 * half + 1] =
                _mm512_or_si512(upper_halves(low), _mm512_and_si512(_mm512_srlv_epi16(two, right), highest));
        }
    }
    static void scales(const Scales<16>& of_block, __m512* s) {
        const __m512 all = _mm512_loadu_ps(of_block.scale);
        for (int k = 0; k < 4; k++) s[k] = by_runs(all, 4 * k, 4 * k + 1, 4 * k + 2, 4 * k + 3);
    }
};

template <int kOf>
struct ByBytes<Groups4<kOf>> {
    static constexpr bool kThere = true, kOneScale = kOf == 128;
    static constexpr int kChunk = 128, kCenter = 0;
    static constexpr int kStarts[] = {0, 16, 64, 80, 32, 48, 96, 112};
    static void operands(const uint8_t* from, __m512i* q) {
        const __m512i both = _mm512_loadu_si512(from);
        q[0] = byte_halves(both);
        q[1] = upper_halves(both);
    }
};

// x for a format: high and low bytes of each operand's numbers, and what the center adds to an operand's sums.
struct ByteVectors {
    const Vectors& words;
    int64_t operands;  // of a vector
    TensorRef memory;
    const int8_t* bytes = nullptr;     // [count, operands, 2, kOperand]
    const int32_t* centers = nullptr;  // [count, operands, kLanes]

    template <class How>
    static ByteVectors of(const Vectors& in) {
        ByteVectors made{in, in.terms / kOperand, {}};
        const int64_t whole = in.count * made.operands;
        made.memory = empty({whole, (2 * kOperand + 4 * kLanes)}, DType::Int8);
        int8_t* to = made.memory->data<int8_t>();
        auto* sums = reinterpret_cast<int32_t*>(to + whole * 2 * kOperand);
        made.bytes = to, made.centers = sums;
        constexpr int kRuns = How::kChunk / kRun;
        for (int64_t chunk = 0; chunk < in.count * in.terms / How::kChunk; chunk++) {
            const int16_t* x = in.whole + chunk * How::kChunk;
            for (int r = 0; r < kRuns; r++) {
                const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + How::kStarts[r]));
                const __m128i low = _mm256_cvtepi16_epi8(both);
                const __m128i high =
                    _mm256_cvtepi16_epi8(_mm256_srai_epi16(_mm256_sub_epi16(both, _mm256_cvtepi8_epi16(low)), 8));
                int8_t* at = to + r / 4 * 2 * kOperand + r % 4 * kRun;
                _mm_store_si128(reinterpret_cast<__m128i*>(at), high);
                _mm_store_si128(reinterpret_cast<__m128i*>(at + kOperand), low);
                if constexpr (How::kCenter != 0) {
                    const __m256i pairs = _mm256_madd_epi16(both, _mm256_set1_epi16(-How::kCenter));
                    const __m256i fours = _mm256_hadd_epi32(pairs, pairs);  // within each half
                    const __m128i four =
                        _mm_unpacklo_epi64(_mm256_castsi256_si128(fours), _mm256_extracti128_si256(fours, 1));
                    _mm_store_si128(reinterpret_cast<__m128i*>(sums + r * 4), four);
                }
            }
            to += 2 * How::kChunk;
            sums += kRuns * 4;
        }
        return made;
    }
};

// The sums of one row of the weight with V vectors.
template <int V, class F>
MT_BYTE_PRODUCTS void one_row(const F weight, const ByteVectors& in, int64_t first, int64_t row, float* to) {
    using How = ByBytes<F>;
    constexpr int kOperands = How::kChunk / kOperand, kBlocks = How::kChunk / (kPart * F::kParts),
                  kChunks = kStretch / How::kChunk;
    const Vectors& words = in.words;
    const int64_t chunks = words.terms / How::kChunk;
    __m512 all[V] = {};
    __m256 offsets[V] = {};  // of the format that has a sum for each part
    const int8_t* x = in.bytes + first * in.operands * 2 * kOperand;
    const int32_t* centers = in.centers + first * in.operands * kLanes;
    const float *scales = words.scales.data() + first * words.stretches,
                *sums = words.sums.data() + first * words.parts;
    for (int64_t stretch = 0; stretch < words.stretches; stretch++) {
        __m512 sum[V] = {};
        const int64_t end = std::min(chunks, (stretch + 1) * kChunks);
        for (int64_t c = stretch * kChunks; c < end; c++) {
            const uint8_t* from = weight.at(row, c * kBlocks);
            for (int64_t ahead = 0; ahead < weight.at(0, kBlocks) - weight.at(0, 0); ahead += 64)
                __builtin_prefetch(from + kAhead + ahead);
            __m512i q[kOperands];
            __m512 s[kOperands];
            How::operands(from, q);
            if constexpr (F::kTileOffset) {
                const float *at[4], *column = weight.scale + row % kTile;
                for (int k = 0; k < 4; k++) at[k] = column + ((c * 4 + k) >> weight.shift) * kTile;
                auto both = [](const float* a, const float* b) {
                    return _mm512_insertf32x8(_mm512_set1_ps(*a), _mm256_set1_ps(*b), 1);
                };
                if constexpr (How::kOneScale) {
                    s[0] = _mm512_set1_ps(*at[0]);
                } else {
                    s[0] = both(at[0], at[2]);
                    s[1] = F::kPer == kPart ? both(at[1], at[3]) : s[0];
                }
            } else if constexpr (std::is_same_v<F, Q4_0>) {
                How::scales(from, s);
            } else if constexpr (F::kOffset) {
                const __m256 offset = How::scales(from, s);
                for (int v = 0; v < V; v++)
                    offsets[v] = _mm256_fmadd_ps(offset, _mm256_loadu_ps(sums + v * words.parts + c * 8), offsets[v]);
            } else {
                How::scales(weight.scales(row, c, from), s);
            }
            for (int v = 0; v < V; v++) {
                const int8_t* of_chunk = x + (v * in.operands + c * kOperands) * 2 * kOperand;
                if constexpr (How::kOneScale) {
                    __m512i made = _mm512_setzero_si512();
                    for (int k = 0; k < kOperands; k++)
                        made = _mm512_dpbusd_epi32(made, q[k], _mm512_load_si512(of_chunk + k * 2 * kOperand));
                    made = _mm512_slli_epi32(made, 8);
                    for (int k = 0; k < kOperands; k++)
                        made =
                            _mm512_dpbusd_epi32(made, q[k], _mm512_load_si512(of_chunk + k * 2 * kOperand + kOperand));
                    sum[v] = _mm512_fmadd_ps(s[0], _mm512_cvtepi32_ps(made), sum[v]);
                } else {
                    for (int k = 0; k < kOperands; k++) {
                        const int8_t* at = of_chunk + k * 2 * kOperand;
                        __m512i made = _mm512_dpbusd_epi32(_mm512_setzero_si512(), q[k], _mm512_load_si512(at));
                        made = _mm512_dpbusd_epi32(_mm512_slli_epi32(made, 8), q[k], _mm512_load_si512(at + kOperand));
                        if constexpr (How::kCenter != 0)
                            made = _mm512_add_epi32(
                                made, _mm512_load_si512(centers + (v * in.operands + c * kOperands + k) * kLanes));
                        sum[v] = _mm512_fmadd_ps(s[k], _mm512_cvtepi32_ps(made), sum[v]);
                    }
                }
            }
        }
        for (int v = 0; v < V; v++)
            all[v] = _mm512_fmadd_ps(_mm512_set1_ps(scales[v * words.stretches + stretch]), sum[v], all[v]);
    }
    for (int v = 0; v < V; v++) {
        const __m512 offset = F::kOffset ? _mm512_zextps256_ps512(offsets[v]) : _mm512_setzero_ps();
        to[v] = _mm512_reduce_add_ps(_mm512_add_ps(all[v], offset));
    }
}

}  // namespace mt::packed

#endif
