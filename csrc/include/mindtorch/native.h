// Parts of at::native that extensions call: positions in nested loops, sizes of resampled images, small enums.
#pragma once

#include <mindtorch/functions.h>
#include <mindtorch/language.h>
#include <mindtorch/vec.h>

namespace at {
namespace native {

enum class EmbeddingBagMode { SUM = 0, MEAN = 1, MAX = 2 };

// The indices (x, with X its size, and so on) of an element, the last the fastest; what is left is given back.
template <class T>
T data_index_init(T offset) {
    return offset;
}
template <class T, class... A>
T data_index_init(T offset, T& x, const T& X, A&&... rest) {
    offset = data_index_init(offset, std::forward<A>(rest)...);
    x = offset % X;
    return offset / X;
}
// The next element's; true where all have come round to zero.
inline bool data_index_step() { return true; }
template <class T, class... A>
bool data_index_step(T& x, const T& X, A&&... rest) {
    if (!data_index_step(std::forward<A>(rest)...)) return false;
    x = x + 1 == X ? T(0) : x + 1;
    return x == 0;
}

// An output that gets the shape of the result: told of where it held something. True where it was resized.
inline bool resize_output_check(const Tensor& output, IntArrayRef shape) {
    if (output.sizes() == shape) return false;
    if (output.numel() != 0)
        TORCH_WARN("An output with one or more elements was resized since it had shape ", output.sizes(),
                   ", which does not match the required output shape ", shape,
                   ". This behavior is deprecated, and in a future PyTorch release outputs will not be resized unless "
                   "they have zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero "
                   "elements with t.resize_(0).");
    return true;
}
inline bool resize_output(const Tensor& output, IntArrayRef shape) {
    const bool resized = resize_output_check(output, shape);
    if (resized) output.resize_(shape);
    return resized;
}
// Whether 32 bits count the elements, and reach each of them from the first.
inline bool canUse32BitIndexMath(const Tensor& t, int64_t max_elem = std::numeric_limits<int32_t>::max()) {
    int64_t last = 0;
    for (int64_t d = 0; d < t.dim(); d++) last += (t.size(d) - 1) * t.stride(d);
    return t.numel() == 0 ? max_elem > 0 : t.numel() < max_elem && last < max_elem;
}
// Of a tensor without dimensions as if it had one.
inline int64_t ensure_nonempty_dim(int64_t dim) { return std::max<int64_t>(dim, 1); }
inline int64_t ensure_nonempty_size(const Tensor& t, int64_t dim) { return t.dim() == 0 ? 1 : t.size(dim); }
inline int64_t ensure_nonempty_stride(const Tensor& t, int64_t dim) { return t.dim() == 0 ? 1 : t.stride(dim); }
template <class To, class From>
To safe_downcast(From v) {
    return c10::checked_convert<To>(v, "dest_t");
}
// How many windows a pool has along a dimension. In ceil mode the last may begin inside the image and end behind it.
template <class T>
T pooling_output_shape_pad_lr(T input, T kernel, T pad_left, T pad_right, T stride, T dilation, bool ceil_mode) {
    const T room = input + pad_left + pad_right - (dilation * (kernel - 1) + 1);
    T steps = room / stride;
    if (room % stride != 0) steps += ceil_mode ? (room > 0) : -(room < 0);
    if (ceil_mode && steps * stride >= input + pad_left) steps -= 1;
    return steps + 1;
}
template <class T>
T pooling_output_shape(T input, T kernel, T pad, T stride, T dilation, bool ceil_mode) {
    TORCH_CHECK(stride != 0, "stride should not be zero");
    TORCH_CHECK(pad >= 0, "pad must be non-negative, but got pad: ", pad);
    TORCH_CHECK(pad <= ((kernel - 1) * dilation + 1) / 2,
                "pad should be at most half of effective kernel size, but got pad=", pad, ", kernel_size=", kernel,
                " and dilation=", dilation);
    return pooling_output_shape_pad_lr(input, kernel, pad, pad, stride, dilation, ceil_mode);
}
namespace utils {
// dst (N x M) of src (M x N); `ld_` are the distances of rows.
template <class T>
void transpose(int64_t M, int64_t N, const T* src, int64_t ld_src, T* dst, int64_t ld_dst) {
    for (int64_t j = 0; j < N; j++)
        for (int64_t i = 0; i < M; i++) dst[j * ld_dst + i] = src[i * ld_src + j];
}
}  // namespace utils

}  // namespace native
}  // namespace at

// Adds to a number that other threads add to as well.
inline void cpu_atomic_add_float(float* to, float value) {
    float seen, wanted;
    __atomic_load(to, &seen, __ATOMIC_RELAXED);
    do wanted = seen + value;
    while (!__atomic_compare_exchange(to, &seen, &wanted, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}
