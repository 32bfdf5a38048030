// A matrix compressed by rows times a dense one: each row of the product is a weighted sum of rows.
#include "core/typed_kernel.h"

namespace mt {
namespace {

template <class T>
struct Product {
    const int64_t *start, *column;
    const T *weight, *from;
    T* to;
    int64_t width, last;

    static constexpr int64_t kAhead = 8;
    template <int64_t N>
    static void prefetch(const T* row) {
        for (size_t byte = 0; byte < N * sizeof(T); byte += 64)
            __builtin_prefetch(reinterpret_cast<const char*>(row) + byte);
    }

    // N columns of one row from `first` on, with their sums at hand.
    template <int64_t N>
    void sums(int64_t b, int64_t first) const {
        using Acc = opmath_t<T>;
        Acc sum[N] = {};
        for (int64_t i = start[b]; i < start[b + 1]; i++) {
            const T* row = from + column[i] * width + first;
            // The rows lie anywhere: what will be needed is asked for in time.
            if constexpr (N >= 8)
                if (i + kAhead < last) prefetch<N>(from + column[i + kAhead] * width + first);
            const Acc w = static_cast<Acc>(weight[i]);
            for (int64_t j = 0; j < N; j++) sum[j] += w * static_cast<Acc>(row[j]);
        }
        for (int64_t j = 0; j < N; j++) to[b * width + first + j] = T(sum[j]);
    }
    void operator()(int64_t begin, int64_t end) const {
        for (int64_t b = begin; b < end; b++) {
            int64_t first = 0;
            for (; first + 32 <= width; first += 32) sums<32>(b, first);
            for (; first + 8 <= width; first += 8) sums<8>(b, first);
            for (; first < width; first++) sums<1>(b, first);
        }
    }
};

// args: starts, columns, values, mat
TensorRef weighted_row_sums_cpu(const Tensor& given_starts, const Tensor& given_columns, const Tensor& values,
                                const Tensor& mat) {
    MT_CHECK(mat.dim() == 2 && values.dim() == 1 && values.dtype == mat.dtype,
             "_weighted_row_sums expects a vector of values and a matrix of one dtype");
    TensorRef starts = contiguous(given_starts, DType::Int64), columns = contiguous(given_columns, DType::Int64),
              weights = contiguous(values), rows = contiguous(mat);
    MT_CHECK(starts->dim() == 1 && starts->numel() > 0 && columns->numel() == values.numel(),
             "_weighted_row_sums expects where each row begins, and a column for each value");
    const int64_t count = starts->numel() - 1, nnz = values.numel(), height = mat.size(0), width = mat.size(1);
    const int64_t *start = starts->data<int64_t>(), *column = columns->data<int64_t>();
    // The indices of sparse tensors are whatever their maker said.
    MT_CHECK(start[0] >= 0 && start[count] <= nnz, "a compressed sparse tensor has ", nnz,
             " values, but its rows go from ", start[0], " to ", start[count]);
    for (int64_t b = 0; b < count; b++)
        MT_CHECK(start[b] <= start[b + 1], "row ", b, " of a compressed sparse tensor ends before it begins");
    for (int64_t i = start[0]; i < start[count]; i++)
        MT_CHECK_INDEX(column[i] >= 0 && column[i] < height, "index ", column[i],
                       " of a sparse tensor is out of bounds for a dimension with size ", height);
    const int64_t sizes[2] = {count, width};
    TensorRef out = empty(IntSpan(sizes, 2), mat.dtype);
    visit(NumberTypes{}, mat.dtype, "addmm_sparse_dense", [&]<class T>() {
        const Product<T> product{start,          column, weights->data<T>(), rows->data<T>(),
                                 out->data<T>(), width,  start[count]};
        parallel_for(count, grain_for(width * (nnz / std::max<int64_t>(1, count) + 1)), product);
    });
    return out;
}

KERNELS
{
    direct<weighted_row_sums_cpu>("_weighted_row_sums");
}

}  // namespace
}  // namespace mt
