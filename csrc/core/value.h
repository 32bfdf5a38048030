// Value: one bound argument or result of an operator, typed by the schema. Small, trivially copyable.
#pragma once

#include <complex>
#include <cstdint>
#include <string_view>

#include "tensor.h"

namespace mt {

enum class Tag : uint8_t {
    None,
    Tensor,
    Bool,
    Int,
    Double,
    Complex,
    IntList,
    DoubleList,
    BoolList,
    TensorList,  // items may be null (Tensor?[])
    ScalarList,
    Str,
    DType,
    Device,
    Layout,
    MemoryFormat,
    Generator,
    Object,  // any Python object: what the schema language does not cover
};

enum class MemoryFormat : int64_t { Contiguous = 0, Preserve = 1, ChannelsLast = 2, ChannelsLast3d = 3 };

// Values in `args` borrow (the caller of the operator keeps them alive); values in `rets` own their tensors and
// objects.
struct Value {
    Tag tag = Tag::None;
    uint32_t len = 0;  // of a list or string; 1 for an integer that is above int64's range
    union {
        Tensor* t;
        bool b;
        int64_t i;
        double d;
        double z[2];
        const int64_t* ints;
        const double* doubles;
        const bool* bools;
        Tensor* const* tensors;
        const Value* values;
        const char* str;
        PyObject* obj;
        Device device;
        DType dtype;
    };
    constexpr Value() : z{0, 0} {}
    static Value of(Tensor* v) {
        Value r;
        r.tag = v ? Tag::Tensor : Tag::None;
        r.t = v;
        return r;
    }
    static Value of(bool v) {
        Value r;
        r.tag = Tag::Bool;
        r.b = v;
        return r;
    }
    static Value of(int64_t v) {
        Value r;
        r.tag = Tag::Int;
        r.i = v;
        return r;
    }
    // An integer of Python's from 2**63 on: what takes it for an int64 sees it wrapped.
    static Value of_unsigned(uint64_t v) {
        Value r = of(static_cast<int64_t>(v));
        r.len = r.i < 0;
        return r;
    }
    static Value of(double v) {
        Value r;
        r.tag = Tag::Double;
        r.d = v;
        return r;
    }
    static Value of(c128 v) {
        Value r;
        r.tag = Tag::Complex;
        r.z[0] = v.real();
        r.z[1] = v.imag();
        return r;
    }
    static Value of(DType v) {
        Value r;
        r.tag = Tag::DType;
        r.dtype = v;
        return r;
    }
    static Value object(PyObject* v) {
        Value r;
        r.tag = Tag::Object;
        r.obj = v;
        return r;
    }
    bool is_none() const { return tag == Tag::None; }
    bool is_tensor() const { return tag == Tag::Tensor; }
    bool is_scalar() const { return tag >= Tag::Bool && tag <= Tag::Complex; }
    bool is_unsigned() const { return tag == Tag::Int && len; }
    // Numeric value of a scalar of any kind.
    double as_double() const {
        if (is_unsigned()) return static_cast<double>(static_cast<uint64_t>(i));
        return tag == Tag::Double ? d : tag == Tag::Int ? static_cast<double>(i) : tag == Tag::Bool ? double(b) : z[0];
    }
    int64_t as_int() const {
        return tag == Tag::Int      ? i
               : tag == Tag::Bool   ? int64_t(b)
               : tag == Tag::Double ? static_cast<int64_t>(d)
                                    : static_cast<int64_t>(z[0]);
    }
    bool as_bool() const {
        return tag == Tag::Complex  ? (z[0] != 0 || z[1] != 0)
               : tag == Tag::Double ? d != 0
               : tag == Tag::Int    ? i != 0
                                    : b;
    }
    c128 as_complex() const { return tag == Tag::Complex ? c128(z[0], z[1]) : c128(as_double(), 0); }
    template <class T>
    T to() const {
        if constexpr (std::is_same_v<T, c64>) {
            c128 v = as_complex();
            return c64(static_cast<float>(v.real()), static_cast<float>(v.imag()));
        } else if constexpr (std::is_same_v<T, c128>) {
            return as_complex();
        } else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, Bool>) {
            return as_bool();
        } else if constexpr (std::is_integral_v<T>) {
            return static_cast<T>(as_int());
        } else {
            return T(static_cast<opmath_t<T>>(as_double()));
        }
    }
    // The dtype that a Python number has on its own: bool, int64, default dtype, complex of the default dtype.
    DType scalar_dtype() const;
};
static_assert(sizeof(Value) == 24);

}  // namespace mt
