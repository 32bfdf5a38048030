// A strided, batched matrix product, which every product of tensors reduces to. Batch dimensions are folded into rows
// or into the summed dimension where the strides allow.
#pragma once

#include "gemm.h"

namespace mt {

struct MatrixOperand {
    char* data;
    Dims batch;  // strides of the batch dimensions, 0 where broadcast (of the result: summed)
    int64_t row, col;
};

struct BatchedProduct {
    DType dtype;
    Dims sizes;  // of the batch dimensions
    int64_t m, n, k;
    MatrixOperand a, b, c;
    const void* bias = nullptr;
    c128 alpha = 1, beta = 0;
};

void multiply(BatchedProduct x, const char* op);

// Of a product that is added to `self`.
inline void check_product_dtypes(DType self, DType first, DType second) {
    MT_CHECK(self == second, "self and mat2 must have the same dtype, but got ", dtype_class_name(self), " and ",
             dtype_class_name(second));
    MT_CHECK(first == second, "mat1 and mat2 must have the same dtype, but got ", dtype_class_name(first), " and ",
             dtype_class_name(second));
}

// The conjugate of a complex tensor; any other as it is.
TensorRef conjugated(const Tensor& t);
// A matrix operand of 2 or more dimensions seen with `sizes` as batch dimensions.
MatrixOperand broadcast_operand(const Tensor& t, IntSpan sizes);
MatrixOperand transposed(MatrixOperand o);
// The result's operand has its columns adjacent, as gemm() asks.
MatrixOperand result_operand(Tensor& t, IntSpan sizes);

// Raise unless `self` expands to `target`; unless a and b are vectors of one length and dtype.
void check_expands(const Tensor& self, IntSpan target);
void check_dot(const Tensor& a, const Tensor& b, const char* name);

}  // namespace mt
