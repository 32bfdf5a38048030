// Walking tensors with any strides together.
#include "strided.h"

namespace mt {

void StridedLoop::start(const Tensor& first) {
    sizes = Dims(first.sizes());
    ndim = first.ndim;
    numel = first.numel();
    operands = 0;
    add(&first);
}

void StridedLoop::add(const Tensor* t) {
    Dims& s = strides[operands];
    s.resize(ndim, 0);
    base[operands] = nullptr;
    operands++;
    if (!t) return;
    base[operands - 1] = t->raw();
    int64_t size = t->itemsize(), shift = ndim - t->ndim;
    for (int64_t d = 0; d < t->ndim; d++) {
        int64_t has = t->size(d), wanted = d + shift < 0 ? 1 : sizes[d + shift];
        // The shape rule has seen to it for most operands; the others come from a caller of an internal operator.
        MT_CHECK(has == wanted || has == 1, "The size of tensor a (", wanted, ") must match the size of tensor b (",
                 has, ") at non-singleton dimension ", std::max<int64_t>(0, d + shift));
        if (d + shift < 0) continue;
        s[d + shift] = has == 1 ? 0 : t->stride(d) * size;
    }
}

void StridedLoop::finish() {
    // Innermost first; a stable insertion sort by the first operand's strides, the others breaking ties.
    Dims order(ndim);
    for (int64_t i = 0; i < ndim; i++) order[i] = ndim - 1 - i;
    auto outside = [&](int64_t a, int64_t b) {
        for (int k = 0; k < operands; k++) {
            int64_t sa = std::abs(strides[k][a]), sb = std::abs(strides[k][b]);
            if (sa == sb || sa == 0 || sb == 0) continue;
            return sa > sb;
        }
        return false;
    };
    for (int64_t i = 1; i < ndim; i++)
        for (int64_t j = i; j > 0 && outside(order[j - 1], order[j]); j--) std::swap(order[j - 1], order[j]);

    Dims merged_sizes, merged[kMaxOperands];
    for (int64_t i = 0; i < ndim; i++) {
        int64_t d = order[i], n = sizes[d];
        if (n == 1) continue;
        int64_t last = merged_sizes.size() - 1;
        bool joins = last >= 0;
        for (int k = 0; joins && k < operands; k++) joins = strides[k][d] == merged[k][last] * merged_sizes[last];
        if (joins) {
            merged_sizes[last] *= n;
            continue;
        }
        merged_sizes.push_back(n);
        for (int k = 0; k < operands; k++) merged[k].push_back(strides[k][d]);
    }
    if (merged_sizes.empty()) {
        merged_sizes.push_back(1);
        for (int k = 0; k < operands; k++) merged[k].push_back(0);
    }
    sizes = merged_sizes;
    ndim = sizes.size();
    for (int k = 0; k < operands; k++) strides[k] = merged[k];
}

}  // namespace mt
