// The matrix product under mm, bmm, linear, matmul and convolution's fall-back: picks oneDNN, OpenBLAS or own loops.
#pragma once

#include "core/typed_kernel.h"
#include "simd.h"

namespace mt {

// C[i] = alpha A[i] B[i] + beta C[i] (+ bias on every row), i < batch. Strides in elements; C's columns have stride 1.
// A is m x k, B is k x n, all of one dtype; a batch stride may be 0.
struct Product {
    DType dtype;
    int64_t batch = 1, m = 0, n = 0, k = 0;
    const void* a = nullptr;
    int64_t a_batch = 0, a_row = 0, a_col = 1;
    const void* b = nullptr;
    int64_t b_batch = 0, b_row = 0, b_col = 1;
    void* c = nullptr;
    int64_t c_batch = 0, c_row = 0;
    const void* bias = nullptr;  // n items of the same dtype, stride 1
    c128 alpha = 1, beta = 0;
};

// Raises RuntimeError `"<op>" not implemented for 'Bool'` for dtypes without arithmetic. Releases the GIL on large
// work.
void gemm(const Product& p, const char* op);

// Whether the processor and the library that is there multiply bfloat16 without widening it.
bool multiplies_bfloat16();

// One float32 product on the calling thread, for use inside parallel loops: no GIL, nothing thrown.
// lda, ldb: distance of two rows of the operand as it is stored (m x k, or k x m when transposed).
void sgemm_here(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha, const float* a,
                int64_t lda, const float* b, int64_t ldb, float beta, float* c, int64_t ldc);
// Must have been called, with the GIL, before sgemm_here() is used.
void prepare_sgemm();
// To be called after products by sgemm_here() or a Sgemm: raises if the library refused one of them, on any thread.
void check_sgemm();

// Whether oneDNN's float32 sums have one order for any number of threads: those of AVX-512's kernels have.
constexpr bool kOneOrder = simd::kLanes == 16;

// A library's float32 product, row-major; lda, ldb as above. The caller's thread may be one of many.
using Sgemm = void (*)(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha, const float* a,
                       int64_t lda, const float* b, int64_t ldb, float beta, float* c, int64_t ldc);
// oneDNN's; null where the build has none or MINDTORCH_ONEDNN=0 asks to do without. Needs the GIL.
Sgemm onednn_sgemm();
// A product through oneDNN's matmul primitive; false if that is not the one to do it: nothing was written then.
bool onednn_product(const Product& p);

// to[j] = sum over i of from[i * row + j]: gradients of biases. Any float dtype, summed in float32 or wider.
void column_sums(DType dtype, const void* from, int64_t rows, int64_t cols, int64_t row_stride, void* to);

}  // namespace mt
