// Products of few rows with a weight of few bits, by 16-bit numbers: on every processor, for every format.
#pragma once

#include <utility>

#include "packed_vectors.h"

namespace mt::packed {

// The scales of register r of part k.
template <class F, int k, int kCount>
Vec scales_of(const Scales<kCount>& s, int r) {
    if constexpr (F::kPer == kPart) return repeated(s.scale[k]);
#if defined(__AVX512F__)
    const __m512 first = _mm512_set1_ps(s.scale[2 * k]);
    return Vec(_mm512_mask_mov_ps(first, 0xff00, _mm512_set1_ps(s.scale[2 * k + 1])));
#else
    return repeated(s.scale[2 * k + r * kWords / F::kPer]);
#endif
}

// What is left of a block: the first part of one of two, whose upper halves are its last 16 elements.
template <class F>
float rest_of_row(const F& weight, const Vectors& in, int64_t vector, int64_t row) {
    if constexpr (F::kParts == 2 && F::kPer == kPart) {
        constexpr int kBlock = 2 * kPart;
        const int64_t blocks = in.terms / kBlock;
        if (in.terms % kBlock == 0) return 0;
        float scale, offset;
        weight.of_group(row, 2 * blocks >> weight.shift, &scale, &offset);
        const int16_t* at = in.whole + vector * in.terms + blocks * kBlock;
        int32_t whole = 0;
        for (int i = 0; i < 16; i++)
            whole += (weight.at(row, blocks)[i] & 15) * at[i] + (weight.at(row, blocks)[i] >> 4) * at[i + 16];
        return scale * static_cast<float>(whole) * in.scales[static_cast<size_t>((vector + 1) * in.stretches - 1)];
    }
    return 0;
}

// The sums of one row of the weight with V vectors.
template <int V, class F>
void one_row(const F weight, const Vectors& in, int64_t first, int64_t row, float* to) {
    constexpr int kParts = F::kParts, kBlock = kPart * kParts, kScales = kBlock / F::kPer, kSums = V == 1 ? 2 : 1,
                  kBlocks = kStretch / kBlock;
    const int16_t* x = in.whole + first * in.terms;
    const float *sums = in.sums.data() + first * in.parts, *scales = in.scales.data() + first * in.stretches;
    Vec all[V] = {};
    typename Scales<kScales>::Numbers offsets[V] = {};
    const int64_t blocks = in.terms / kBlock;
    for (int64_t stretch = 0; stretch < in.stretches; stretch++) {
        Vec sum[V][kSums] = {};
        Ints plain[V] = {};  // of formats without scales, and of blocks with one
        auto block = [&]<int kWhich>(int64_t b, std::integral_constant<int, kWhich>) {
            const auto* from = weight.at(row, b);
            for (int64_t ahead = 0; ahead < weight.at(0, 1) - weight.at(0, 0); ahead += 64)
                __builtin_prefetch(from + kAhead + ahead);
            const Scales<kScales> s = weight.scales(row, b, from);
            auto part = [&]<int k>(std::integral_constant<int, k>) {
                Words q[kRegisters];
                weight.template part<k>(from, q);
                for (int v = 0; v < V; v++) {
                    const int16_t* at = x + v * in.terms + (b * kParts + k) * kPart;
                    if constexpr (!F::kScaled || F::kPer > kPart) {
                        for (int r = 0; r < kRegisters; r++) plain[v] += pairs(q[r], load(at + r * kWords));
                    } else if constexpr (F::kPer == kPart) {
                        Ints whole = pairs(q[0], load(at));
                        for (int r = 1; r < kRegisters; r++) whole += pairs(q[r], load(at + r * kWords));
                        sum[v][k % kSums] = simd::fma(repeated(s.scale[k]), to_float(whole), sum[v][k % kSums]);
                    } else {
                        for (int r = 0; r < kRegisters; r++)
                            sum[v][k % kSums] = simd::fma(
                                scales_of<F, k>(s, r), to_float(pairs(q[r], load(at + r * kWords))), sum[v][k % kSums]);
                    }
                }
            };
            [&]<int... k>(std::integer_sequence<int, k...>) {
                (part(std::integral_constant<int, k>()), ...);
            }(std::make_integer_sequence<int, kParts>());
            if constexpr (F::kScaled && F::kPer > kPart)
                for (int v = 0; v < V; v++) {
                    sum[v][kWhich % kSums] =
                        simd::fma(repeated(s.scale[0]), to_float(plain[v]), sum[v][kWhich % kSums]);
                    plain[v] = Ints{};
                }
            if constexpr (F::kOffset)
                for (int v = 0; v < V; v++) {
                    typename Scales<kScales>::Numbers of_x;
                    std::memcpy(&of_x, sums + v * in.parts + b * kScales, sizeof of_x);
                    offsets[v] += s.offset * of_x;
                }
        };
        int64_t b = stretch * kBlocks;
        if (b + kBlocks <= blocks) {
            [&]<int... k>(std::integer_sequence<int, k...>) {
                (block(b + k, std::integral_constant<int, k>()), ...);
            }(std::make_integer_sequence<int, kBlocks>());
        } else {
            for (; b < blocks; b++) block(b, std::integral_constant<int, 0>());
        }
        for (int v = 0; v < V; v++) {
            Vec made = F::kScaled ? sum[v][0] : to_float(plain[v]);
            for (int k = 1; k < kSums; k++) made += sum[v][k];
            all[v] = simd::fma(repeated(scales[v * in.stretches + stretch]), made, all[v]);
        }
    }
    for (int v = 0; v < V; v++) {
        float offset = 0;
        if constexpr (F::kOffset)
            for (int k = 0; k < kScales; k++) offset += item(offsets[v], k);
        to[v] = simd::sum(all[v]) + offset + rest_of_row(weight, in, first + v, row);
    }
}

}  // namespace mt::packed
