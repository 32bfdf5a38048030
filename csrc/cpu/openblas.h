// OpenBLAS (the package scipy-openblas32, loaded at the first use): products of float64 and complex, and LAPACK.
#pragma once

#include "core/kernel.h"

namespace mt::openblas {

// An entry point by its plain name ("dgetrf_", "cblas_dgemm"); the package prefixes all with "scipy_".
void* symbol(const char* name);
// Makes OpenBLAS use as many threads as torch.get_num_threads() says.
void use_our_thread_count();

// C = alpha A B + beta C with cblas' conventions; row-major; dtype Float32, Float64, Complex64 or Complex128.
// lda, ldb: distance of two rows, or of two columns where transposed.
void gemm(DType dtype, bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, c128 alpha, const void* a,
          int64_t lda, const void* b, int64_t ldb, c128 beta, void* c, int64_t ldc);

}  // namespace mt::openblas
