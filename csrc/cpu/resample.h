// Results whose every item is a weighted sum of input items chosen axis by axis: interpolation, and padding by
// reflection, replication or wrapping.
#pragma once

#include <vector>

#include "core/typed_kernel.h"

namespace mt {

// For each position along one axis of the result: which input positions, with which weights.
struct AxisTaps {
    int64_t in = 1, out = 1, taps = 1;  // taps per position; unused ones have weight 0
    std::vector<int64_t> index;         // out * taps
    std::vector<double> weight;
    AxisTaps() : index{0}, weight{1} {}
    AxisTaps(int64_t in_, int64_t out_, int64_t taps_)
        : in(in_),
          out(out_),
          taps(taps_),
          index(static_cast<size_t>(out_ * taps_)),
          weight(static_cast<size_t>(out_ * taps_), 1.0) {}
    bool only_moves() const { return taps == 1; }
};

// axes: the last three dimensions (of size 1 where the tensor has fewer spatial ones).
// `planes`: product of all other dimensions. Tensors contiguous.
void resample(const AxisTaps axes[3], int64_t planes, const Tensor& in, Tensor& out, const char* op);
// The same for bytes, in PyTorch's fixed-point arithmetic, one axis after the other. An axis that only moves has to be
// one that stays as it is.
void resample_bytes(const AxisTaps axes[3], int64_t planes, const Tensor& in, Tensor& out);
// grad_in = the transpose of resample applied to grad_out.
void resample_backward(const AxisTaps axes[3], int64_t planes, const Tensor& grad_out, Tensor& grad_in, const char* op);

}  // namespace mt
