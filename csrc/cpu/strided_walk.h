// Walks several operands of one shape together, in row-major order, a row of constant steps at a time.
#pragma once

#include <array>

#include "core/typed_kernel.h"

namespace mt {
namespace {

// The strides of `t` seen as a tensor of `ndim` dimensions that it broadcasts to; 0 where its elements are repeated.
inline Dims broadcast_strides(const Tensor& t, int64_t ndim) {
    Dims strides(ndim, 0);
    int64_t lead = ndim - t.dim();  // below zero where leading dimensions of size one fall away
    for (int64_t d = std::max<int64_t>(0, -lead); d < t.dim(); d++)
        strides[lead + d] = t.size(d) == 1 ? 0 : t.stride(d);
    return strides;
}

template <int K>
class StridedWalk {
  public:
    using Offsets = std::array<int64_t, K>;

    // Strides in elements (or bytes: any unit). Dimensions of size one are dropped, those that follow each other
    // merged.
    StridedWalk(IntSpan sizes, std::array<IntSpan, K> strides) {
        for (int64_t d = 0; d < sizes.size; d++) {
            if (sizes[d] == 1) continue;
            Offsets step;
            for (int k = 0; k < K; k++) step[static_cast<size_t>(k)] = strides[static_cast<size_t>(k)][d];
            if (dims_ > 0 && mergeable(step, sizes[d])) {
                sizes_[dims_ - 1] *= sizes[d];
                steps_[dims_ - 1] = step;
            } else {
                MT_CHECK(dims_ < kMax, "tensors of more than ", kMax, " dimensions are not supported here");
                sizes_[dims_] = sizes[d];
                steps_[dims_] = step;
                dims_++;
            }
        }
        if (dims_ == 0) {
            sizes_[0] = 1;
            steps_[0] = Offsets{};
            dims_ = 1;
        }
        rows_ = 1;
        for (int d = 0; d + 1 < dims_; d++) rows_ *= sizes_[d];
        if (sizes_[dims_ - 1] == 0) rows_ = 0;
    }

    int64_t rows() const { return rows_; }
    int64_t length() const { return sizes_[dims_ - 1]; }
    const Offsets& steps() const { return steps_[dims_ - 1]; }

    // f(offsets, length, steps) for rows [begin, end).
    template <class F>
    void run(int64_t begin, int64_t end, F&& f) const {
        if (begin >= end) return;
        Offsets at{};
        int64_t counter[kMax];
        int64_t rest = begin;
        for (int d = dims_ - 2; d >= 0; d--) {
            counter[d] = rest % sizes_[d];
            rest /= sizes_[d];
            for (size_t k = 0; k < K; k++) at[k] += counter[d] * steps_[d][k];
        }
        for (int64_t row = begin; row < end; row++) {
            f(at, length(), steps());
            for (int d = dims_ - 2; d >= 0; d--) {
                for (size_t k = 0; k < K; k++) at[k] += steps_[d][k];
                if (++counter[d] < sizes_[d]) break;
                counter[d] = 0;
                for (size_t k = 0; k < K; k++) at[k] -= sizes_[d] * steps_[d][k];
            }
        }
    }
    template <class F>
    void run(F&& f) const {
        run(0, rows_, f);
    }
    // The rows spread over threads. f must not throw.
    template <class F>
    void run_parallel(F&& f) const {
        int64_t grain = grain_for(length());
        parallel_for(rows_, grain, [&](int64_t begin, int64_t end) { run(begin, end, f); });
    }

  private:
    static constexpr int kMax = 64;
    bool mergeable(const Offsets& step, int64_t size) const {
        for (size_t k = 0; k < K; k++)
            if (steps_[dims_ - 1][k] != step[k] * size) return false;
        return true;
    }
    int dims_ = 0;
    int64_t rows_ = 0;
    int64_t sizes_[kMax];
    Offsets steps_[kMax];
};

}  // namespace
}  // namespace mt
