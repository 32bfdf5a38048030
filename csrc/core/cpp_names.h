// C++'s names of the element types, which PyTorch shows in some of its messages.
#pragma once

#include "dtype.h"

namespace mt {

const char* dtype_cpp_name(DType t);  // "float", "long int", "c10::Half"

}  // namespace mt
