// The kinds of argument that operators bind natively.
#pragma once

#include <cstdint>

namespace mt {

enum class ArgKind : uint8_t {
    Tensor,
    Int,
    Float,
    Bool,
    Complex,
    Scalar,
    Str,
    IntList,
    FloatList,
    BoolList,
    TensorList,
    OptionalTensorList,
    ScalarList,
    StrList,
    DType,
    Layout,
    MemoryFormat,
    Device,
    Generator,
    Storage,
    Any,  // no native value: the kernel gets a Python object of the declared type
};

}  // namespace mt
