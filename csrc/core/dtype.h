// Element types: the enumeration (numbered as PyTorch's ScalarType), the two 16-bit floats, and promotion.
#pragma once

#include <complex>
#include <cstdint>
#include <cstring>
#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace mt {

enum class DType : uint8_t {
    UInt8 = 0,
    Int8 = 1,
    Int16 = 2,
    Int32 = 3,
    Int64 = 4,
    Float16 = 5,
    Float32 = 6,
    Float64 = 7,
    Complex32 = 8,
    Complex64 = 9,
    Complex128 = 10,
    Bool = 11,
    // Quantized: of tensors with a quantizer, whose memory holds whole numbers.
    QInt8 = 12,
    QUInt8 = 13,
    QInt32 = 14,
    BFloat16 = 15,
    QUInt4x2 = 16,
    QUInt2x4 = 17,
    // Bytes that somebody else packed: storage only, like the integers below eight bits and the smallest floats.
    Bits1x8 = 18,
    Bits2x4 = 19,
    Bits4x2 = 20,
    Bits8 = 21,
    Bits16 = 22,
    Float8_e5m2 = 23,
    Float8_e4m3fn = 24,
    Float8_e5m2fnuz = 25,
    Float8_e4m3fnuz = 26,
    UInt16 = 27,
    UInt32 = 28,
    UInt64 = 29,
    UInt1 = 30,
    UInt2 = 31,
    UInt3 = 32,
    UInt4 = 33,
    UInt5 = 34,
    UInt6 = 35,
    UInt7 = 36,
    Int1 = 37,
    Int2 = 38,
    Int3 = 39,
    Int4 = 40,
    Int5 = 41,
    Int6 = 42,
    Int7 = 43,
    Float8_e8m0fnu = 44,
    Float4_e2m1fn_x2 = 45,
    Undefined = 255,
};

struct alignas(2) BFloat16 {
    uint16_t bits;
    BFloat16() = default;
    BFloat16(float value) {  // round to nearest even, NaN stays NaN
        uint32_t u;
        std::memcpy(&u, &value, 4);
        if ((u & 0x7fffffffu) > 0x7f800000u)
            bits = 0x7fc0;
        else
            bits = static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
    }
    operator float() const {
        uint32_t u = static_cast<uint32_t>(bits) << 16;
        float f;
        std::memcpy(&f, &u, 4);
        return f;
    }
};

struct alignas(2) Half {
    uint16_t bits;
    Half() = default;
    Half(float value) {
#if defined(__F16C__)
        bits = static_cast<uint16_t>(_cvtss_sh(value, 0));
#elif defined(__aarch64__)
        const __fp16 narrow = static_cast<__fp16>(value);
        std::memcpy(&bits, &narrow, 2);
#else
        uint32_t x;
        std::memcpy(&x, &value, 4);
        uint32_t sign = (x >> 16) & 0x8000u;
        x &= 0x7fffffffu;
        if (x > 0x7f800000u) {
            bits = static_cast<uint16_t>(sign | 0x7e00u);
        } else if (x >= 0x47800000u) {  // overflow, infinity
            bits = static_cast<uint16_t>(sign | 0x7c00u);
        } else if (x < 0x38800000u) {  // subnormal or zero: let the float adder do the rounding
            float f;
            std::memcpy(&f, &x, 4);
            f += 0.5f;
            uint32_t u;
            std::memcpy(&u, &f, 4);
            bits = static_cast<uint16_t>(sign | (u - 0x3f000000u));
        } else {
            uint32_t odd = (x >> 13) & 1u;
            x += 0xc8000fffu + odd;
            bits = static_cast<uint16_t>(sign | (x >> 13));
        }
#endif
    }
    operator float() const {
#if defined(__F16C__)
        return _cvtsh_ss(bits);
#elif defined(__aarch64__)
        __fp16 narrow;
        std::memcpy(&narrow, &bits, 2);
        return narrow;
#else
        uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
        uint32_t em = static_cast<uint32_t>(bits & 0x7fffu);
        uint32_t u;
        if (em >= 0x7c00u) {
            u = sign | 0x7f800000u | ((em & 0x3ffu) << 13);
        } else if (em >= 0x400u) {
            u = sign | ((em << 13) + 0x38000000u);
        } else {
            float f = static_cast<float>(em) * 5.9604644775390625e-08f;
            std::memcpy(&u, &f, 4);
            u |= sign;
        }
        float f;
        std::memcpy(&f, &u, 4);
        return f;
#endif
    }
};

// An element of a bool tensor as it is read: the byte of one that was made elsewhere (a view of uint8, NumPy, a file)
// may be neither 0 nor 1, and then C++'s bool is undefined.
struct Bool {
    uint8_t byte;
    Bool() = default;
    Bool(bool value) : byte(value) {}
    operator bool() const { return byte != 0; }
};

using c64 = std::complex<float>;
using c128 = std::complex<double>;

template <class T>
struct dtype_of;
#define MT_DTYPE_OF(T, D)                        \
    template <>                                  \
    struct dtype_of<T> {                         \
        static constexpr DType value = DType::D; \
    };
MT_DTYPE_OF(uint8_t, UInt8)
MT_DTYPE_OF(int8_t, Int8)
MT_DTYPE_OF(int16_t, Int16)
MT_DTYPE_OF(int32_t, Int32)
MT_DTYPE_OF(int64_t, Int64)
MT_DTYPE_OF(uint16_t, UInt16)
MT_DTYPE_OF(uint32_t, UInt32)
MT_DTYPE_OF(uint64_t, UInt64)
MT_DTYPE_OF(Half, Float16)
MT_DTYPE_OF(BFloat16, BFloat16)
MT_DTYPE_OF(float, Float32)
MT_DTYPE_OF(double, Float64)
MT_DTYPE_OF(c64, Complex64)
MT_DTYPE_OF(c128, Complex128)
MT_DTYPE_OF(Bool, Bool)
MT_DTYPE_OF(bool, Bool)
#undef MT_DTYPE_OF

// Arithmetic on 16-bit floats is done in float ("opmath" in PyTorch).
template <class T>
struct opmath_of {
    using type = T;
};
template <>
struct opmath_of<Half> {
    using type = float;
};
template <>
struct opmath_of<BFloat16> {
    using type = float;
};
template <>
struct opmath_of<Bool> {
    using type = bool;
};
template <class T>
using opmath_t = typename opmath_of<T>::type;

constexpr int64_t itemsize(DType t) {
    switch (t) {
        case DType::Int16:
        case DType::UInt16:
        case DType::Float16:
        case DType::BFloat16:
        case DType::Bits16:
            return 2;
        case DType::Int32:
        case DType::QInt32:
        case DType::UInt32:
        case DType::Float32:
        case DType::Complex32:
            return 4;
        case DType::Int64:
        case DType::UInt64:
        case DType::Float64:
        case DType::Complex64:
            return 8;
        case DType::Complex128:
            return 16;
        default:
            return 1;
    }
}
constexpr bool is_complex(DType t) { return t == DType::Complex32 || t == DType::Complex64 || t == DType::Complex128; }
constexpr bool is_float8(DType t) {
    return (t >= DType::Float8_e5m2 && t <= DType::Float8_e4m3fnuz) || t == DType::Float8_e8m0fnu;
}
constexpr bool is_floating(DType t) {
    return t == DType::Float16 || t == DType::Float32 || t == DType::Float64 || t == DType::BFloat16 || is_float8(t) ||
           t == DType::Float4_e2m1fn_x2;
}
constexpr bool is_reduced_float(DType t) { return t == DType::Float16 || t == DType::BFloat16; }
constexpr bool is_quantized(DType t) {
    return (t >= DType::QInt8 && t <= DType::QInt32) || t == DType::QUInt4x2 || t == DType::QUInt2x4;
}
constexpr bool is_bits(DType t) { return t >= DType::Bits1x8 && t <= DType::Bits16; }
// Integers of fewer than eight bits, each in a byte.
constexpr bool is_short_integer(DType t) { return t >= DType::UInt1 && t <= DType::Int7; }
constexpr bool is_bool(DType t) { return t == DType::Bool; }
// Integers of which PyTorch has few kernels.
constexpr bool is_wide_unsigned(DType t) { return t == DType::UInt16 || t == DType::UInt32 || t == DType::UInt64; }
// Integers, bool not counted.
constexpr bool is_integer(DType t) { return t <= DType::Int64 || is_wide_unsigned(t); }
constexpr bool is_differentiable(DType t) { return is_floating(t) || is_complex(t); }

const char* dtype_name(DType t);        // "float32"
const char* dtype_class_name(DType t);  // "Float": as PyTorch's messages call it
DType promote(DType a, DType b);        // torch.promote_types
DType to_real(DType t);                 // complex64 -> float32
DType to_complex(DType t);              // float32 -> complex64
bool can_cast(DType from, DType to);    // torch.can_cast: no kind is lost
DType default_dtype();                  // torch.get_default_dtype()
void set_default_dtype(DType t);

}  // namespace mt
