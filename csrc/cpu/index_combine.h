// How elements named by an index are written over or combined with those that are there already. The loops over rows of
// them know dtypes and sizes; what walks tensors to find the rows works on bytes and is compiled once.
#pragma once

#include <string_view>

#include "core/typed_kernel.h"

namespace mt {

enum class Reduce { Assign, Sum, Prod, Mean, Amax, Amin };
Reduce reduce_named(std::string_view name, const char* op);

// Steps and strides count elements.
struct Combiner {
    // target[i * target_step] with source[i * source_step]. Rows that overlap in part are not allowed.
    void (*row)(char* target, int64_t target_step, const char* source, int64_t source_step, int64_t n);
    // target[i * target_step + pick[i * pick_step] * stride] with source[i * source_step], in the order of i.
    void (*picked)(char* target, int64_t target_step, const int64_t* pick, int64_t pick_step, int64_t stride,
                   const char* source, int64_t source_step, int64_t n);
};
Combiner assigner(int64_t itemsize);
Combiner combiner(Reduce reduce, DType dtype, const char* op);  // Mean adds

// One element of any dtype.
struct alignas(16) Element {
    char bytes[16];
};
Element element_of(const Value& value, DType dtype, const char* op);
Element identity_of(Reduce reduce, DType dtype, const char* op);

// Shared by what is indexed along one dimension.
inline TensorRef index64(const Tensor& index) {
    if (index.dtype == DType::Int64) return TensorRef::share(&index);
    TensorRef wide = empty(index.sizes(), DType::Int64);
    copy_into(*wide, index);
    return wide;
}
inline int64_t size_or_1(const Tensor& t, int64_t d) { return t.dim() ? t.size(d) : 1; }
// The dimension that work is split along between threads: the longest but `dim`, along which nothing is written twice.
inline int64_t split_dim(IntSpan sizes, int64_t dim) {
    int64_t longest = -1;
    for (int64_t d = 0; d < sizes.size; d++)
        if (d != dim && (longest < 0 || sizes[d] > sizes[longest])) longest = d;
    return longest;
}

}  // namespace mt
