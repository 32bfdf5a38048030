// C++'s names of the element types, which PyTorch shows in some of its messages.
#pragma once

#include <string>
#include <string_view>

#include "dtype.h"

namespace mt {

const char* dtype_cpp_name(DType t);  // "float", "long int", "c10::Half"

// What an out= of another dtype than the result's is refused with: `text` with {out} and {result} filled in by their
// names
// ("Double"), {out_cpp} and {result_cpp} by C++'s ("double").
std::string refused_dtype(std::string_view text, DType out, DType result);

}  // namespace mt
