// What takes the place of onednn.cpp, gemm_onednn.cpp and conv_onednn.cpp in a build without oneDNN.
#include "conv.h"
#include "gemm.h"
#include "int8_product.h"
#include "openblas.h"

namespace mt {

Sgemm onednn_sgemm() { return nullptr; }
void check_sgemm() {}
// By OpenBLAS, on ARM: these kernels are loaded where the processor has the instructions.
bool multiplies_bfloat16() {
#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
    return openblas::has_bfloat16();
#else
    return false;
#endif
}
bool onednn_product(const Product&) { return false; }
bool onednn_int8_product(int64_t, int64_t, int64_t, const void*, bool, const int8_t*, int32_t*) { return false; }

namespace conv {
bool onednn_int8_forward(const Geometry&, const Tensor&, const Tensor&, Tensor&) { return false; }
bool onednn_forward(const Geometry&, const Tensor&, const Tensor&, const Tensor*, Tensor&, bool) { return false; }
bool onednn_backward_data(const Geometry&, const Tensor&, const Tensor&, Tensor&, bool) { return false; }
bool onednn_backward_weight(const Geometry&, const Tensor&, const Tensor&, Tensor&, bool) { return false; }
}  // namespace conv

}  // namespace mt
