// Rows of x as whole numbers, for products with weights of few bits.
#pragma once

#include <limits>
#include <vector>

#include "core/typed_kernel.h"
#include "narrow.h"
#include "packed_weight.h"

namespace mt::packed {

constexpr int kStretch = 256;     // elements of x with one scale
constexpr int64_t kAhead = 8192;  // bytes: what memory is asked for before it is read

constexpr float kMost = 127 * 256;  // of the whole numbers: both their bytes have signs

typedef int16_t Whole __attribute__((vector_size(2 * kLanes)));

// Rows of x as whole numbers of 16 bits, with a scale for each stretch: one vector for a row of 16-bit floats, which
// have 11 bits at most; for a row of float32 a second one for what the first leaves, so that nothing of 24 bits is
// lost.
struct Vectors {
    int64_t each, count, terms, stretches, parts;  // `each` row is so many vectors
    TensorRef
        memory;  // of a tensor, whose rows begin where the cache's lines do: loads that span two take twice as long
    int16_t* whole = nullptr;
    std::vector<float> scales, sums;  // [count, stretches], [count, parts]: the sums of parts, of `per` elements

    static int64_t for_each_row(DType dtype) { return dtype == DType::Float32 ? 2 : 1; }
    Vectors(const Tensor& t, int64_t terms_, int64_t per)
        : each(for_each_row(t.dtype)),
          count(t.numel() / std::max<int64_t>(1, terms_) * each),
          terms(terms_),
          stretches((terms + kStretch - 1) / kStretch),
          parts(terms / per) {
        memory = empty({count, terms}, DType::Int16);
        whole = memory->data<int16_t>();
        scales.resize(static_cast<size_t>(count * stretches));
        sums.resize(static_cast<size_t>(count * parts));
        std::vector<float> x(static_cast<size_t>(terms));
        visit(Types<float, BFloat16, Half>{}, t.dtype, "packed product", [&]<class T>() {
            for (int64_t v = 0; v < count; v += each) {
                widen(t.data<T>() + v / each * terms, x.data(), terms);
                for (int64_t k = 0; k < each; k++) take(x.data(), v + k, per);
            }
        });
    }

  private:
    // Vector v is x in whole numbers; x becomes what is left. Terms come in parts.
    void take(float* x, int64_t v, int64_t per) {
        int16_t* q = whole + v * terms;
        for (int64_t s = 0; s < stretches; s++) {
            const int64_t begin = s * kStretch, end = std::min<int64_t>(terms, begin + kStretch);
            const Vec largest = simd::splat(std::numeric_limits<float>::max());
            Vec most = {};
            simd::IntVec finite = ~simd::IntVec{};
            for (int64_t i = begin; i < end; i += kLanes) {
                const Vec size = Vec(simd::IntVec(simd::load(x + i)) & 0x7fffffff);
                most = simd::max(size, most);
                finite &= size <= largest;
            }
            const float top = simd::max_item(most), scale = top / kMost, inverse = top > 1e-30f ? kMost / top : 0;
            bool all = true;
            for (int k = 0; k < kLanes; k++) all &= finite[k] != 0;
            scales[static_cast<size_t>(v * stretches + s)] = all ? scale : std::numeric_limits<float>::quiet_NaN();
            if (!all) std::fill(x + begin, x + end, 0.0f);
            const Vec magic = simd::splat(12582912.0f);  // numbers of 22 bits are rounded when it is added
            for (int64_t i = begin; i < end; i += kLanes) {
                const Vec value = simd::load(x + i), shifted = simd::fma(value, simd::splat(inverse), magic);
                const auto narrow = __builtin_convertvector(simd::IntVec(shifted) - simd::IntVec(magic), Whole);
                std::memcpy(q + i, &narrow, sizeof narrow);
                simd::store(x + i, simd::fma(shifted - magic, simd::splat(-scale), value));
            }
        }
        for (int64_t p = 0; p < parts; p++) {
            int32_t sum = 0;
            for (int64_t i = p * per; i < (p + 1) * per; i++) sum += q[i];
            sums[static_cast<size_t>(v * parts + p)] =
                static_cast<float>(sum) * scales[static_cast<size_t>(v * stretches + p * per / kStretch)];
        }
    }
};

}  // namespace mt::packed
