// OpenBLAS (the package scipy-openblas32, loaded at the first use): products of float64 and complex, and LAPACK.
#pragma once

#include <initializer_list>

#include "core/typed_kernel.h"

namespace mt::openblas {

// An entry point by its plain name ("dgetrf_", "cblas_dgemm"); the package prefixes all with "scipy_".
void* symbol(const char* name);
// Makes OpenBLAS use so many threads from now on.
void use_threads(int n);
// RuntimeError for a dimension that BLAS' 32-bit integers cannot hold.
void check_sizes(std::initializer_list<int64_t> sizes);

// C = alpha A B + beta C with cblas' conventions; row-major; dtype Float64, Complex64 or Complex128.
// lda, ldb: distance of two rows, or of two columns where transposed.
void gemm(DType dtype, bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, c128 alpha, const void* a,
          int64_t lda, const void* b, int64_t ldb, c128 beta, void* c, int64_t ldc);

// The same for float32, on any thread; an Sgemm of gemm.h.
void sgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha, const float* a,
           int64_t lda, const float* b, int64_t ldb, float beta, float* c, int64_t ldc);
// And for float64; needs symbol() to have been called once, with the GIL, before it runs on threads.
void dgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha, const double* a,
           int64_t lda, const double* b, int64_t ldb, double beta, double* c, int64_t ldc);

// And for bfloat16 with float32 sums, where has_bfloat16() says that there is such a product; needs the GIL.
bool has_bfloat16();
void sbgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha, const BFloat16* a,
            int64_t lda, const BFloat16* b, int64_t ldb, float beta, float* c, int64_t ldc);

}  // namespace mt::openblas
