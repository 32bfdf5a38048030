// Dtypes that the parameters of a normalisation may have: the input's, or float32 beside 16-bit inputs.
#pragma once

#include "core/kernel.h"

namespace mt {

// The first parameter that is given decides for all, as in PyTorch. Null ones are left out.
inline void check_parameter_dtypes(const Tensor& input, std::initializer_list<const Tensor*> parameters) {
    const Tensor* first = nullptr;
    for (const Tensor* t : parameters) first = first ? first : t;
    if (!first) return;
    const bool mixed = first->dtype != input.dtype;
    for (const Tensor* t : parameters) {
        if (!t) continue;
        MT_CHECK(!mixed || t->dtype == DType::Float32,
                 "mixed dtype (CPU): expect parameter to have scalar type of Float");
        MT_CHECK(mixed || t->dtype == input.dtype, "expected scalar type ", dtype_class_name(input.dtype),
                 " but found ", dtype_class_name(t->dtype));
    }
    MT_CHECK(!mixed || is_reduced_float(input.dtype), "mixed dtype (CPU): all inputs must share same datatype.");
}

}  // namespace mt
