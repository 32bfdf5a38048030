// Size arithmetic of views: the size -1 stands for, whether new sizes fit over old strides, slice bounds.
#pragma once

#include "tensor.h"

namespace mt {

// Sizes with a -1 replaced by what makes `numel` elements; RuntimeError with PyTorch's text if there is no such size.
inline Dims infer_sizes(IntSpan sizes, int64_t numel) {
    Dims result(sizes);
    int64_t known = 1, unknown = -1;
    for (int64_t i = 0; i < sizes.size; i++) {
        if (sizes[i] == -1) {
            MT_CHECK(unknown < 0, "only one dimension can be inferred");
            unknown = i;
        } else {
            MT_CHECK(sizes[i] >= 0, "invalid shape dimension ", sizes[i], " at index ", i, " of shape ", sizes);
            MT_CHECK(!__builtin_mul_overflow(known, sizes[i], &known), "shape '", sizes,
                     "' is invalid for input of size ", numel);
        }
    }
    if (unknown >= 0) {
        MT_CHECK(known != 0 || numel != 0, "cannot reshape tensor of 0 elements into shape ", sizes,
                 " because the unspecified dimension size -1 can be any value and is ambiguous");
        MT_CHECK(known != 0 && numel % known == 0, "shape '", sizes, "' is invalid for input of size ", numel);
        result[unknown] = numel / known;
    } else {
        MT_CHECK(known == numel, "shape '", sizes, "' is invalid for input of size ", numel);
    }
    return result;
}

// Strides under which elements that lie as `from` and `steps` say, in row-major order, have other sizes without a copy;
// false if there are none. There are elements, as many in `sizes`.
inline bool view_strides(IntSpan from, IntSpan steps, const Dims& sizes, Dims& strides) {
    strides.resize(sizes.size());
    // Walk from the innermost dimension; old dimensions that follow each other in memory form one chunk, which new
    // dimensions must cover exactly.
    int64_t at = sizes.size() - 1;
    int64_t base = from.size ? steps[from.size - 1] : 1;
    int64_t chunk = 1, covered = 1;
    for (int64_t d = from.size - 1; d >= 0; d--) {
        chunk *= from[d];
        bool ends = d == 0 || (from[d - 1] != 1 && steps[d - 1] != chunk * base);
        if (!ends) continue;
        while (at >= 0 && (covered < chunk || sizes[at] == 1)) {
            strides[at] = covered * base;
            covered *= sizes[at];
            at--;
        }
        if (covered != chunk) return false;
        if (d > 0) {
            base = steps[d - 1];
            chunk = covered = 1;
        }
    }
    while (at >= 0 && sizes[at] == 1) {
        strides[at] = covered * base;
        at--;
    }
    return at < 0;
}

// The same of a tensor, with or without elements.
inline bool view_strides(const Tensor& t, const Dims& sizes, Dims& strides) {
    if (t.is_contiguous()) {
        strides = contiguous_strides(sizes);
        return true;
    }
    if (t.numel() == 0) {
        strides = IntSpan(sizes) == t.sizes() ? Dims(t.strides()) : contiguous_strides(sizes);
        return true;
    }
    return view_strides(t.sizes(), t.strides(), sizes, strides);
}

// Python's slice bounds for a positive step: 0 <= start <= end <= size.
inline void clamp_slice(int64_t size, int64_t& start, int64_t& end) {
    if (start < 0) start += size;
    if (end < 0) end += size;
    start = start < 0 ? 0 : start > size ? size : start;
    end = end < start ? start : end > size ? size : end;
}

}  // namespace mt
