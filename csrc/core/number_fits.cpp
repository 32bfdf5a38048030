#include "number_fits.h"

#include <cmath>

#include "error.h"

namespace mt {

namespace {

bool fits_in(DType dtype, const Value& v) {
    if (dtype == DType::Bool || is_complex(dtype)) return true;
    if (v.tag == Tag::Complex && v.z[1] != 0) return false;
    const double d = v.tag == Tag::Complex ? v.z[0] : v.as_double();
    if (!is_integer(dtype)) {
        // Each type's largest finite number; the 8-bit floats saturate.
        const double largest = dtype == DType::Float16    ? 65504.0
                               : dtype == DType::BFloat16 ? 0x1.fep127
                               : dtype == DType::Float32  ? 0x1.fffffep127
                                                          : HUGE_VAL;
        return !std::isfinite(d) || std::fabs(d) <= largest;
    }
    const int bits = static_cast<int>(itemsize(dtype)) * 8;
    const bool is_unsigned =
        dtype == DType::UInt8 || dtype == DType::UInt16 || dtype == DType::UInt32 || dtype == DType::UInt64;
    const double limit = std::ldexp(1.0, is_unsigned ? bits : bits - 1);
    return d < limit && d >= -limit;  // false for NaN
}

const char* c_name(DType t) {
    switch (t) {
        case DType::UInt8:
            return "uint8_t";
        case DType::Int8:
            return "int8_t";
        case DType::Int16:
            return "int16_t";
        case DType::Int32:
            return "int";
        case DType::Int64:
            return "int64_t";
        case DType::Float16:
            return "c10::Half";
        case DType::BFloat16:
            return "c10::BFloat16";
        case DType::Float32:
            return "float";
        case DType::Float64:
            return "double";
        default:
            return dtype_name(t);
    }
}

}  // namespace

void check_number_fits(DType dtype, const Value& v) {
    MT_CHECK(fits_in(dtype, v), "value cannot be converted to type ", c_name(dtype), " without overflow");
}

}  // namespace mt
