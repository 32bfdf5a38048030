// Walking tensors with any strides together: dimensions are sorted by the first tensor's memory order and merged where
// every tensor allows it.
#pragma once

#include "core/typed_kernel.h"

namespace mt {

constexpr int kMaxOperands = 8;

// Operand 0 gives the sizes; the others broadcast to it. Strides are in bytes, dimension 0 is the innermost.
struct StridedLoop {
    int operands = 0;
    int64_t ndim = 0;
    int64_t numel = 0;
    Dims sizes;
    Dims strides[kMaxOperands];
    char* base[kMaxOperands];

    void start(const Tensor& first);
    // Null: no memory is walked (base stays null, strides 0).
    void add(const Tensor* t);
    void finish();  // sorts and merges

    // f(position, elements, offsets of all operands) for each innermost row piece of [begin, end), without divisions.
    template <class F>
    void each_row(int64_t begin, int64_t end, const F& f) const {
        constexpr int64_t kMaxDims = 64;
        int64_t index[kMaxDims], at[kMaxOperands] = {};
        int64_t p = begin;
        for (int64_t d = 0; d < ndim; d++) {
            index[d] = p % sizes[d];
            p /= sizes[d];
            for (int k = 0; k < operands; k++) at[k] += index[d] * strides[k][d];
        }
        for (int64_t pos = begin; pos < end;) {
            int64_t m = std::min(end - pos, sizes[0] - index[0]);
            f(pos, m, at);
            pos += m;
            if (pos >= end) break;
            for (int k = 0; k < operands; k++) at[k] -= index[0] * strides[k][0];
            index[0] = 0;
            for (int64_t d = 1; d < ndim; d++) {
                for (int k = 0; k < operands; k++) at[k] += strides[k][d];
                if (++index[d] < sizes[d]) break;
                for (int k = 0; k < operands; k++) at[k] -= sizes[d] * strides[k][d];
                index[d] = 0;
            }
        }
    }

    // f(offset in operand k, elements) for each innermost row piece of [pos, pos + n).
    template <class F>
    void rows(int k, int64_t pos, int64_t n, const F& f) const {
        constexpr int64_t kMaxDims = 64;
        int64_t index[kMaxDims];
        int64_t at = 0, p = pos;
        for (int64_t d = 0; d < ndim; d++) {
            index[d] = p % sizes[d];
            p /= sizes[d];
            at += index[d] * strides[k][d];
        }
        while (n > 0) {
            int64_t m = std::min(n, sizes[0] - index[0]);
            f(at, m);
            n -= m;
            if (n <= 0) break;
            at -= index[0] * strides[k][0];
            index[0] = 0;
            for (int64_t d = 1; d < ndim; d++) {
                at += strides[k][d];
                if (++index[d] < sizes[d]) break;
                at -= sizes[d] * strides[k][d];
                index[d] = 0;
            }
        }
    }
};

}  // namespace mt
