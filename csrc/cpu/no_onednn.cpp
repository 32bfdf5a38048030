// What takes the place of onednn.cpp, gemm_onednn.cpp and conv_onednn.cpp in a build without oneDNN.
#include "conv.h"
#include "gemm.h"
#include "int8_product.h"

namespace mt {

Sgemm onednn_sgemm() { return nullptr; }
void check_sgemm() {}
bool multiplies_bfloat16() { return false; }
bool onednn_product(const Product&) { return false; }
bool onednn_int8_product(int64_t, int64_t, int64_t, const void*, bool, const int8_t*, int32_t*) { return false; }

namespace conv {
bool onednn_int8_forward(const Geometry&, const Tensor&, const Tensor&, Tensor&) { return false; }
bool onednn_forward(const Geometry&, const Tensor&, const Tensor&, const Tensor*, Tensor&, bool) { return false; }
bool onednn_backward_data(const Geometry&, const Tensor&, const Tensor&, Tensor&, bool) { return false; }
bool onednn_backward_weight(const Geometry&, const Tensor&, const Tensor&, Tensor&, bool) { return false; }
}  // namespace conv

}  // namespace mt
