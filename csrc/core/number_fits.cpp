#include "number_fits.h"

#include <cmath>

#include "error.h"

namespace mt {

bool number_fits(DType dtype, const Value& v) {
    if (dtype == DType::Bool || dtype == DType::Complex128 || dtype == DType::Complex32) return true;
    if (is_complex(dtype)) {
        const c128 z = v.as_complex();
        return number_fits(to_real(dtype), Value::of(z.real())) && number_fits(to_real(dtype), Value::of(z.imag()));
    }
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
    // Its double may be the next power of two.
    if (v.tag == Tag::Int && bits == 64) return is_unsigned || !v.is_unsigned();
    const double limit = std::ldexp(1.0, is_unsigned ? bits : bits - 1);
    if (is_unsigned && v.tag != Tag::Int && d < 0) return false;
    return d < limit && d >= -limit;  // false for NaN
}

namespace {

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
        case DType::Complex32:
            return "c10::complex<c10::Half>";
        case DType::Complex64:
            return "c10::complex<float>";
        default:
            return dtype_name(t);
    }
}

}  // namespace

void check_number_fits(DType dtype, const Value& v) {
    MT_CHECK(number_fits(dtype, v), "value cannot be converted to type ", c_name(dtype), " without overflow");
}

Value as_element(DType dtype, const Value& v) {
    if (dtype == DType::Float16 || dtype == DType::BFloat16) {
        const c128 z = v.as_complex();
        if (z.imag() == 0 && !number_fits(dtype, v)) {
            const float x = static_cast<float>(z.real());
            return Value::of(double(dtype == DType::Float16 ? float(Half(x)) : float(BFloat16(x))));
        }
    }
    check_number_fits(dtype, v);
    return v;
}

void check_item_fits(DType dtype, const Tensor& t) {
    const c128 z = *contiguous(t, DType::Complex128)->data<c128>();
    check_number_fits(dtype, z.imag() == 0 ? Value::of(z.real()) : Value::of(z));
}

void check_numbers_fit(const Call& c, DType dtype, std::initializer_list<int> positions) {
    for (int i : positions)
        if (c.args[i].is_scalar()) check_number_fits(dtype, c.args[i]);
}

void check_numbers_fit(DType dtype, std::initializer_list<Input> inputs) {
    for (const Input& x : inputs)
        if (x.number) check_number_fits(dtype, *x.number);
}

Value wrapped_into(DType dtype, const Value& v) {
    if (dtype != DType::UInt8 || v.tag == Tag::Complex) return v;
    return Value::of(static_cast<int64_t>(static_cast<uint8_t>(v.as_int())));
}

}  // namespace mt
