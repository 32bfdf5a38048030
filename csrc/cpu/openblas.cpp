// Loading OpenBLAS and its matrix product.
#include "openblas.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "shared_library.h"

namespace mt::openblas {
namespace {

void* library() {
    static void* const loaded = open_shared_library(
        {"*/scipy_openblas32/lib/libscipy_openblas.so", "libscipy_openblas.so"}, "scipy-openblas32");
    return loaded;
}

template <class T>
using RealGemm = void (*)(int, int, int, int, int, int, T, const T*, int, const T*, int, T, T*, int);
using ComplexGemm = void (*)(int, int, int, int, int, int, const void*, const void*, int, const void*, int, const void*,
                             void*, int);

constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112;

}  // namespace

namespace {

// OpenBLAS takes its working buffers when it is loaded and at its first calls, two for a thread, and ends the process
// if it gets none. So that much is asked of the system before, and given back to it.
void check_room_for(int threads) {
    constexpr size_t kBuffer = size_t(32) << 20, kStack = size_t(8) << 20, kCode = size_t(28) << 20;
    static std::atomic<int> had_room_for{0};
    const int before = had_room_for.load(std::memory_order_relaxed);
    if (threads <= before) return;
    const size_t needed = (before ? 0 : kCode) + static_cast<size_t>(threads - before) * (2 * kBuffer + kStack);
    void* room = mmap(nullptr, needed, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MT_CHECK(room != MAP_FAILED,
             "[enforce fail at alloc_cpu] DefaultCPUAllocator: can't allocate memory: OpenBLAS needs ", needed,
             " bytes to work in. Error code 12 (Cannot allocate memory)");
    munmap(room, needed);
    had_room_for.store(threads, std::memory_order_relaxed);
}

}  // namespace

void* symbol(const char* name) {
    check_room_for(1);
    return symbol_of(library(), (std::string("scipy_") + name).c_str());
}

void use_threads(int n) {
    check_room_for(std::max(n, num_threads()));
    using SetFn = void (*)(int);
    using GetFn = int (*)();
    static const SetFn set = reinterpret_cast<SetFn>(symbol("openblas_set_num_threads"));
    static const GetFn get = reinterpret_cast<GetFn>(symbol("openblas_get_num_threads"));
    if (get() != n) set(n);
}

void check_sizes(std::initializer_list<int64_t> sizes) {
    for (int64_t n : sizes) MT_CHECK(n <= INT32_MAX, "matrix product: a dimension exceeds the 32-bit range of BLAS");
}

void sgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha, const float* a,
           int64_t lda, const float* b, int64_t ldb, float beta, float* c, int64_t ldc) {
    static const auto f = reinterpret_cast<RealGemm<float>>(symbol("cblas_sgemm"));
    f(kRowMajor, transpose_a ? kTransposed : kPlain, transpose_b ? kTransposed : kPlain, int(m), int(n), int(k), alpha,
      a, int(lda), b, int(ldb), beta, c, int(ldc));
}

void dgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha, const double* a,
           int64_t lda, const double* b, int64_t ldb, double beta, double* c, int64_t ldc) {
    static const auto f = reinterpret_cast<RealGemm<double>>(symbol("cblas_dgemm"));
    f(kRowMajor, transpose_a ? kTransposed : kPlain, transpose_b ? kTransposed : kPlain, int(m), int(n), int(k), alpha,
      a, int(lda), b, int(ldb), beta, c, int(ldc));
}

namespace {
using Bfloat16Gemm = void (*)(int, int, int, int, int, int, float, const BFloat16*, int, const BFloat16*, int, float,
                              float*, int);
// Builds of OpenBLAS may be without it.
Bfloat16Gemm bfloat16_gemm() {
    static const auto f = reinterpret_cast<Bfloat16Gemm>(dlsym(library(), "scipy_cblas_sbgemm"));
    return f;
}
}  // namespace

bool has_bfloat16() { return bfloat16_gemm() != nullptr; }
void sbgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha, const BFloat16* a,
            int64_t lda, const BFloat16* b, int64_t ldb, float beta, float* c, int64_t ldc) {
    check_sizes({m, n, k, lda, ldb, ldc});
    use_threads(num_threads());
    const auto f = bfloat16_gemm();
    NoGil released(m * n * k > 20000);
    f(kRowMajor, transpose_a ? kTransposed : kPlain, transpose_b ? kTransposed : kPlain, int(m), int(n), int(k), alpha,
      a, int(lda), b, int(ldb), beta, c, int(ldc));
}

void gemm(DType dtype, bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, c128 alpha, const void* a,
          int64_t lda, const void* b, int64_t ldb, c128 beta, void* c, int64_t ldc) {
    check_sizes({m, n, k, lda, ldb, ldc});
    use_threads(num_threads());
    int ta = transpose_a ? kTransposed : kPlain, tb = transpose_b ? kTransposed : kPlain;
    int im = int(m), in = int(n), ik = int(k), ia = int(lda), ib = int(ldb), ic = int(ldc);
    if (dtype == DType::Float64) {
        static const auto f = reinterpret_cast<RealGemm<double>>(symbol("cblas_dgemm"));
        NoGil released(m * n * k > 20000);
        f(kRowMajor, ta, tb, im, in, ik, alpha.real(), static_cast<const double*>(a), ia, static_cast<const double*>(b),
          ib, beta.real(), static_cast<double*>(c), ic);
    } else if (dtype == DType::Complex64) {
        static const auto f = reinterpret_cast<ComplexGemm>(symbol("cblas_cgemm"));
        c64 al(alpha), be(beta);
        NoGil released(m * n * k > 20000);
        f(kRowMajor, ta, tb, im, in, ik, &al, a, ia, b, ib, &be, c, ic);
    } else {
        static const auto f = reinterpret_cast<ComplexGemm>(symbol("cblas_zgemm"));
        NoGil released(m * n * k > 20000);
        f(kRowMajor, ta, tb, im, in, ik, &alpha, a, ia, b, ib, &beta, c, ic);
    }
}

}  // namespace mt::openblas
