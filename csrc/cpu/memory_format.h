// What a memory format asks of a tensor's sizes, and which one a result takes from its input.
#pragma once

#include "core/typed_kernel.h"

namespace mt {

inline void check_format_rank(MemoryFormat format, int64_t ndim) {
    MT_CHECK(format != MemoryFormat::ChannelsLast || ndim == 4, "required rank 4 tensor to use channels_last format");
    MT_CHECK(format != MemoryFormat::ChannelsLast3d || ndim == 5,
             "required rank 5 tensor to use channels_last_3d format");
}

// Whether results keep channels innermost as `t` does: the order of its strides says so, be it dense or a view with
// steps. Where sizes of 1 leave it open, as after t[0][None], the order is row-major. (PyTorch's
// suggest_memory_format.)
inline bool suggests_channels_last(const Tensor& t) {
    if ((t.ndim != 4 && t.ndim != 5) || t.stride(1) == 0) return false;
    int64_t least = 0;
    for (int64_t i = 0; i < t.ndim; i++) {
        const int64_t d = i == 0 ? 1 : i + 1 < t.ndim ? t.ndim - i : 0;  // channels, then from the innermost outward
        if (t.size(d) == 0 || t.stride(d) < least) return false;
        if (d == 0 && least == t.stride(1)) return false;
        least = t.size(d) > 1 ? t.stride(d) * t.size(d) : t.stride(d);
    }
    return true;
}

// Output `i` of these sizes, in the order that `model` suggests.
inline void output_in_format_of(ShapeCall& c, int i, const Tensor& model, IntSpan sizes, DType dtype) {
    if (suggests_channels_last(model))
        c.output_strided(i, sizes, channels_last_strides(sizes), dtype);
    else
        c.output(i, sizes, dtype);
}

}  // namespace mt
