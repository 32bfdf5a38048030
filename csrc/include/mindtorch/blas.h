// at::native::cpublas, what of it PyTorch's library shows: products of small matrices that are given as addresses.
#pragma once

#include <mindtorch/functions.h>

namespace at {
namespace native {

enum class TransposeType { NoTranspose, Transpose, ConjTranspose };

inline char to_blas(TransposeType t) {
    return t == TransposeType::NoTranspose ? 'N' : t == TransposeType::Transpose ? 'T' : 'C';
}

namespace cpublas {

using native::TransposeType;

namespace detail {
// B in groups: [K / group][N][group] where it is packed, [K][N] where not.
template <class T, class U, class C>
void rows(int64_t M, int64_t N, int64_t K, int64_t ld_a, int64_t ld_b, int64_t ld_c, bool add_C, const T* A, const U* B,
          C* out, int64_t group) {
    for (int64_t m = 0; m < M; m++) {
        C* c = out + m * ld_c;
        if (!add_C)
            for (int64_t n = 0; n < N; n++) c[n] = C(0);
        for (int64_t k = 0; k < K; k++) {
            const C a = static_cast<C>(A[m * ld_a + k]);
            const U* b = B + k / group * group * ld_b + k % group;
            for (int64_t n = 0; n < N; n++) c[n] += a * static_cast<C>(b[n * group]);
        }
    }
}
}  // namespace detail

// C (M x N) = A B, or C + A B: rows that are `ld_` apart, plain loops that the compiler makes vectors of. `is_vnni`
// says that the rows of B lie in groups beside each other, two of 16-bit numbers and four of 8-bit ones.
#define MINDTORCH_BRGEMM(name, A_t, B_t, C_t, group, packed)                                                      \
    inline void name(int64_t M, int64_t N, int64_t K, int64_t ld_a, int64_t ld_b, int64_t ld_c, const bool add_C, \
                     const A_t* A, const B_t* B, C_t* C, bool is_vnni = packed) {                                 \
        detail::rows(M, N, K, ld_a, ld_b, ld_c, add_C, A, B, C, is_vnni ? group : 1);                             \
    }
#define CPUBLAS_BRGEMM_F16F16F32
#define CPUBLAS_BRGEMM_BF16BF16F32
#define CPUBLAS_BRGEMM_F32F32F32
#define CPUBLAS_BRGEMM_U8U8I32
#define CPUBLAS_BRGEMM_U8I8I32
#define CPUBLAS_BRGEMM_I8I8I32
#define CPUBLAS_BRGEMM_F8F8F32
MINDTORCH_BRGEMM(brgemm, at::Half, at::Half, float, 2, true)
MINDTORCH_BRGEMM(brgemm, at::BFloat16, at::BFloat16, float, 2, true)
MINDTORCH_BRGEMM(brgemm, float, float, float, 1, false)
MINDTORCH_BRGEMM(brgemm, unsigned char, unsigned char, int32_t, 4, true)
MINDTORCH_BRGEMM(brgemm, unsigned char, signed char, int32_t, 4, true)
MINDTORCH_BRGEMM(brgemm, signed char, signed char, int32_t, 4, true)
MINDTORCH_BRGEMM(brgemm, at::Float8_e4m3fn, at::Float8_e4m3fn, float, 4, true)
MINDTORCH_BRGEMM(brgemm, at::Float8_e5m2, at::Float8_e5m2, float, 4, true)
#undef MINDTORCH_BRGEMM
// Nothing is kept between calls here.
inline void brgemm_release(bool = true) {}
// No layout of B is faster here, and `pack` is for programs that were told otherwise.
inline bool could_pack(ScalarType) { return false; }
inline void pack(int64_t, int64_t, int64_t, int64_t, ScalarType, ScalarType, const void*, void*) {
    TORCH_CHECK(false, "cpublas::pack: nothing is packed here; ask could_pack first");
}

}  // namespace cpublas
}  // namespace native
}  // namespace at
