// Filling a tensor with a stream of numbers in the order of its memory, which is the order PyTorch draws them in.
#pragma once

#include "core/typed_kernel.h"
#include "cpu/strided_walk.h"

namespace mt {
namespace {

// The dimensions of `t` from the longest stride to the shortest.
inline Dims memory_order(const Tensor& t) {
    Dims order;
    for (int64_t i = 0; i < t.dim(); i++) order.push_back(i);
    for (int64_t i = 1; i < t.dim(); i++)
        for (int64_t j = i; j > 0 && t.stride(order[j - 1]) < t.stride(order[j]) && t.size(order[j]) != 1; j--)
            std::swap(order[j - 1], order[j]);
    return order;
}
inline Dims in_order(IntSpan list, const Dims& order) {
    Dims result;
    for (int64_t d : IntSpan(order)) result.push_back(list[d]);
    return result;
}

// A view of `t` whose dimensions run from the longest stride to the shortest.
inline TensorRef in_memory_order(const Tensor& t) {
    const Dims order = memory_order(t);
    return as_strided(t, in_order(t.sizes(), order), in_order(t.strides(), order), t.offset);
}

// produce(buffer, n) gives the next n elements of the stream.
template <class T, class Produce>
void fill_in_memory_order(Tensor& t, Produce&& produce) {
    int64_t n = t.numel();
    if (n == 0) return;
    if (t.is_non_overlapping_and_dense()) return produce(t.data<T>(), n);
    TensorRef sorted = in_memory_order(t);
    StridedWalk<1> walk(sorted->sizes(), {sorted->strides()});
    constexpr int64_t chunk = 256;
    T buffer[chunk];
    T* base = t.data<T>();
    walk.run([&](const auto& at, int64_t length, const auto& steps) {
        for (int64_t i = 0; i < length; i += chunk) {
            int64_t k = std::min(chunk, length - i);
            produce(buffer, k);
            for (int64_t j = 0; j < k; j++) base[at[0] + (i + j) * steps[0]] = buffer[j];
        }
    });
}

}  // namespace
}  // namespace mt
