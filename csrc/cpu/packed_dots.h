// Products of few rows with a weight of few bits by ARM's instructions that multiply bytes: sdot, and smmla where the
// processor has it.
//
// A number x of 16 bits is 256 high + low, each a signed byte; a weight's numbers are signed bytes too. Rows of the
// weight come in pairs, which share the reads of x.
#pragma once

#if defined(__ARM_FEATURE_DOTPROD)

#include <arm_neon.h>

#include "packed_vectors.h"
#include "packed_words.h"

namespace mt::packed {

// A part of a row, decoded to bytes in the order of the elements.
struct ByteDecoder {
    int8x16_t q[2];

    template <int>
    void take(const RowBytes&, const int8_t* from) {
        q[0] = vld1q_s8(from), q[1] = vld1q_s8(from + 16);
    }
    template <int>
    void take(const Q8_0& weight, const uint8_t* block) {
        take<0>(RowBytes{}, reinterpret_cast<const int8_t*>(block + 2));
    }
    template <int>
    void take(const Q4_0&, const uint8_t* block) {
        const uint8x16_t both = vld1q_u8(block + 2);
        q[0] = vsubq_s8(lower(both), vdupq_n_s8(8)), q[1] = vsubq_s8(upper(both), vdupq_n_s8(8));
    }
    template <int k>
    void take(const Q4_K&, const uint8_t* block) {
        halves<k>(block + 16);
    }
    template <int k, int kOf>
    void take(const Groups4<kOf>&, const uint8_t* from) {
        halves<k>(from);
    }
    template <int k>
    void take(const Q6_K&, const uint8_t* block) {
        constexpr int half = k / 4, quarter = k % 4;
        const uint8_t *low = block + half * 64 + (quarter & 1) * 32, *high = block + 128 + half * 32;
        for (int i = 0; i < 2; i++) {
            const uint8x16_t l = vld1q_u8(low + i * 16), h = vld1q_u8(high + i * 16);
            uint8x16_t two;
            if constexpr (quarter == 0)
                two = vshlq_n_u8(h, 4);
            else if constexpr (quarter == 1)
                two = vshlq_n_u8(h, 2);
            else if constexpr (quarter == 2)
                two = h;
            else
                two = vshrq_n_u8(h, 2);
            const int8x16_t four = quarter < 2 ? lower(l) : upper(l);
            const int8x16_t six = vorrq_s8(four, vreinterpretq_s8_u8(vandq_u8(two, vdupq_n_u8(48))));
            q[i] = vsubq_s8(six, vdupq_n_s8(32));
        }
    }

  private:
    static int8x16_t lower(uint8x16_t both) { return vreinterpretq_s8_u8(vandq_u8(both, vdupq_n_u8(15))); }
    static int8x16_t upper(uint8x16_t both) { return vreinterpretq_s8_u8(vshrq_n_u8(both, 4)); }
    // Parts 2k and 2k + 1 are the lower and the upper halves of the same 32 bytes.
    template <int k>
    void halves(const uint8_t* from) {
        for (int i = 0; i < 2; i++) {
            const uint8x16_t both = vld1q_u8(from + k / 2 * 32 + i * 16);
            q[i] = k % 2 ? upper(both) : lower(both);
        }
    }
};

// A part of two rows as operands, and the sums of their products with x, whose bytes split() puts in the order for it.
#if defined(__ARM_FEATURE_MATMUL_INT8)
// Eight high bytes, then the low bytes of the same numbers: smmla gives the products of both with both rows at once.
struct DotSums {
    static constexpr int kOperands = 4;

    static void split(int16x8_t x, int i, int8_t* to) { vst1q_s8(to + i * 16, vcombine_s8(high(x), low(x))); }

    int8x16_t q[kOperands];
    void take(const ByteDecoder& a, const ByteDecoder& b) {
        for (int i = 0; i < 2; i++) {
            const int64x2_t x = vreinterpretq_s64_s8(a.q[i]), y = vreinterpretq_s64_s8(b.q[i]);
            q[2 * i] = vreinterpretq_s8_s64(vzip1q_s64(x, y));
            q[2 * i + 1] = vreinterpretq_s8_s64(vzip2q_s64(x, y));
        }
    }
    static constexpr int kSums = 1;  // registers that hold the sums of two rows: high, low, high, low
    // Adds to `sum` the products of operands [begin, end).
    void add(const int8_t* x, int begin, int end, int32x4_t* sum) const {
        for (int i = begin; i < end; i++) sum[0] = vmmlaq_s32(sum[0], q[i], vld1q_s8(x + i * 16));
    }
    static void scales(float a, float b, float32x4_t* to) { to[0] = vcombine_f32(vdup_n_f32(a), vdup_n_f32(b)); }
    static void results(const float32x4_t* sum, float* a, float* b) {
        const float32x4_t weighed = vmulq_f32(sum[0], float32x4_t{256, 1, 256, 1});
        *a = vaddv_f32(vget_low_f32(weighed)), *b = vaddv_f32(vget_high_f32(weighed));
    }

#else
// Sixteen high bytes, and the low bytes of the same numbers.
struct DotSums {
    static constexpr int kOperands = 2;

    static void split(int16x8_t x, int i, int8_t* to) {
        vst1_s8(to + i / 2 * 32 + i % 2 * 8, high(x));
        vst1_s8(to + i / 2 * 32 + i % 2 * 8 + 16, low(x));
    }

    ByteDecoder first, second;
    void take(const ByteDecoder& a, const ByteDecoder& b) { first = a, second = b; }
    static constexpr int kSums = 2;  // registers that hold the sums of two rows, one each
    void add(const int8_t* x, int begin, int end, int32x4_t* sum) const {
        int32x4_t a = {}, b = {};
        for (int i = begin; i < end; i++) {
            const int8x16_t upper = vld1q_s8(x + i * 32);
            a = vdotq_s32(a, first.q[i], upper), b = vdotq_s32(b, second.q[i], upper);
        }
        // The sums so far and 256 times what was found; then the low bytes.
        a = vaddq_s32(sum[0], vshlq_n_s32(a, 8)), b = vaddq_s32(sum[1], vshlq_n_s32(b, 8));
        for (int i = begin; i < end; i++) {
            const int8x16_t lower = vld1q_s8(x + i * 32 + 16);
            a = vdotq_s32(a, first.q[i], lower), b = vdotq_s32(b, second.q[i], lower);
        }
        sum[0] = a, sum[1] = b;
    }
    static void scales(float a, float b, float32x4_t* to) { to[0] = vdupq_n_f32(a), to[1] = vdupq_n_f32(b); }
    static void results(const float32x4_t* sum, float* a, float* b) {
        *a = vaddvq_f32(sum[0]), *b = vaddvq_f32(sum[1]);
    }
#endif

  private:
    static int8x8_t low(int16x8_t x) { return vmovn_s16(x); }
    static int8x8_t high(int16x8_t x) { return vshrn_n_s16(vsubq_s16(x, vmovl_s8(low(x))), 8); }
};

struct DotVectors {
    const Vectors& words;
    TensorRef memory;
    const int8_t* bytes = nullptr;  // [count, terms / 8, 16]

    explicit DotVectors(const Vectors& in) : words(in), memory(empty({in.count, 2 * in.terms}, DType::Int8)) {
        int8_t* to = memory->data<int8_t>();
        bytes = to;
        for (int64_t part = 0; part < in.count * in.terms / kPart; part++)
            for (int i = 0; i < 4; i++)
                DotSums::split(vld1q_s16(in.whole + part * kPart + i * 8), i, to + part * 2 * kPart);
    }
};

// The sums of two rows of the weight with V vectors.
template <int V, class F>
void two_rows(const F weight, const DotVectors& dots, int64_t first, int64_t row_a, int64_t row_b, float* to_a,
              float* to_b) {
    constexpr int kParts = F::kParts, kBlock = kPart * kParts, kScales = kBlock / F::kPer, kBlocks = kStretch / kBlock,
                  kSums = DotSums::kSums, kOperands = DotSums::kOperands;
    const Vectors& in = dots.words;
    const int8_t* x = dots.bytes + first * in.terms * 2;
    const float *sums = in.sums.data() + first * in.parts, *scales = in.scales.data() + first * in.stretches;
    float32x4_t all[V][kSums] = {};
    typename Scales<kScales>::Numbers offsets_a[V] = {}, offsets_b[V] = {};
    const int64_t blocks = in.terms / kBlock;
    for (int64_t stretch = 0; stretch < in.stretches; stretch++) {
        float32x4_t sum[V][kSums] = {};
        int32x4_t plain[V][kSums] = {};  // of formats without scales, and of blocks with one
        for (int64_t b = stretch * kBlocks; b < std::min(blocks, (stretch + 1) * kBlocks); b++) {
            const auto *from_a = weight.at(row_a, b), *from_b = weight.at(row_b, b);
            for (int64_t ahead = 0; ahead < weight.at(0, 1) - weight.at(0, 0); ahead += 64)
                __builtin_prefetch(from_a + kAhead + ahead);
            const Scales<kScales> of_a = weight.scales(row_a, b, from_a), of_b = weight.scales(row_b, b, from_b);
            auto scaled = [&](int which, const int32x4_t(&whole)[kSums], float32x4_t* to) {
                float32x4_t by[kSums];
                DotSums::scales(of_a.scale[which], of_b.scale[which], by);
                for (int s = 0; s < kSums; s++) to[s] = vfmaq_f32(to[s], by[s], vcvtq_f32_s32(whole[s]));
            };
            auto part = [&]<int k>(std::integral_constant<int, k>) {
                ByteDecoder a, c;
                a.template take<k>(weight, from_a), c.template take<k>(weight, from_b);
                DotSums q;
                q.take(a, c);
                for (int v = 0; v < V; v++) {
                    const int8_t* at = x + (v * in.terms + (b * kParts + k) * kPart) * 2;
                    if constexpr (!F::kScaled || F::kPer > kPart) {
                        q.add(at, 0, kOperands, plain[v]);
                    } else {
                        constexpr int kOf = kPart / F::kPer;  // scales of a part
                        for (int i = 0; i < kOf; i++) {
                            int32x4_t whole[kSums] = {};
                            q.add(at, i * kOperands / kOf, (i + 1) * kOperands / kOf, whole);
                            scaled(k * kOf + i, whole, sum[v]);
                        }
                    }
                }
            };
            [&]<int... k>(std::integer_sequence<int, k...>) {
                (part(std::integral_constant<int, k>()), ...);
            }(std::make_integer_sequence<int, kParts>());
            if constexpr (F::kScaled && F::kPer > kPart)
                for (int v = 0; v < V; v++) {
                    scaled(0, plain[v], sum[v]);
                    for (int s = 0; s < kSums; s++) plain[v][s] = int32x4_t{};
                }
            if constexpr (F::kOffset)
                for (int v = 0; v < V; v++) {
                    typename Scales<kScales>::Numbers of_x;
                    std::memcpy(&of_x, sums + v * in.parts + b * kScales, sizeof of_x);
                    offsets_a[v] += of_a.offset * of_x;
                    offsets_b[v] += of_b.offset * of_x;
                }
        }
        for (int v = 0; v < V; v++)
            for (int s = 0; s < kSums; s++) {
                const float32x4_t made = F::kScaled ? sum[v][s] : vcvtq_f32_s32(plain[v][s]);
                all[v][s] = vfmaq_n_f32(all[v][s], made, scales[v * in.stretches + stretch]);
            }
    }
    for (int v = 0; v < V; v++) {
        DotSums::results(all[v], to_a + v, to_b + v);
        if constexpr (F::kOffset)
            for (int k = 0; k < kScales; k++) to_a[v] += item(offsets_a[v], k), to_b[v] += item(offsets_b[v], k);
        to_a[v] += rest_of_row(weight, in, first + v, row_a);
        to_b[v] += rest_of_row(weight, in, first + v, row_b);
    }
}

}  // namespace mt::packed

#endif
