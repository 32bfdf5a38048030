// Products of a matrix and a few vectors, which the time to read the matrix decides.
#pragma once

#include "gemm.h"

namespace mt {

// False if it is not for here (other dtypes, strides, shapes): nothing was written then.
bool matrix_vector_product(const Product& p);

}  // namespace mt
