// AT_DISPATCH_*: code for the element type that a tensor has.
#pragma once

#include <mindtorch/tensor.h>

namespace detail {
inline at::ScalarType scalar_type(at::ScalarType t) { return t; }
inline at::ScalarType scalar_type(const at::DeprecatedTypeProperties& t) { return t.scalarType(); }
inline at::ScalarType scalar_type(caffe2::TypeMeta t) { return t.toScalarType(); }
}  // namespace detail

namespace at {
// PyTorch can be built with some types of some kernels only; extensions are compiled with all.
constexpr bool should_include_kernel_dtype(const char*, ScalarType) { return true; }
}  // namespace at

namespace mindtorch MINDTORCH_HIDDEN {
[[noreturn, gnu::cold]] inline void no_case(const char* name, at::ScalarType t) {
    throw c10::NotImplementedError(c10::str('"', name, "\" not implemented for '", c10::toString(t), "'"));
}
}  // namespace mindtorch MINDTORCH_HIDDEN

#define AT_PRIVATE_CASE_TYPE_USING_HINT(enum_type, hint, ...)                       \
    case enum_type: {                                                               \
        using hint [[maybe_unused]] = ::c10::impl::ScalarTypeToCPPTypeT<enum_type>; \
        return __VA_ARGS__();                                                       \
    }
#define AT_PRIVATE_CASE_TYPE(name, enum_type, type, ...) \
    AT_PRIVATE_CASE_TYPE_USING_HINT(enum_type, scalar_t, __VA_ARGS__)
#define AT_DISPATCH_CASE(enum_type, ...) AT_PRIVATE_CASE_TYPE_USING_HINT(enum_type, scalar_t, __VA_ARGS__)
#define AT_DISPATCH_SWITCH(TYPE, NAME, ...)                                      \
    [&] {                                                                        \
        const auto& the_type = TYPE;                                             \
        [[maybe_unused]] constexpr const char* at_dispatch_name = NAME;          \
        const ::at::ScalarType mindtorch_type = ::detail::scalar_type(the_type); \
        switch (mindtorch_type) {                                                \
            __VA_ARGS__                                                          \
            default:                                                             \
                ::mindtorch::no_case(at_dispatch_name, mindtorch_type);          \
        }                                                                        \
    }()

// Lists of cases.
#define AT_DISPATCH_CASE_FLOATING_TYPES(...) \
    AT_DISPATCH_CASE(::at::ScalarType::Double, __VA_ARGS__) AT_DISPATCH_CASE(::at::ScalarType::Float, __VA_ARGS__)
#define AT_DISPATCH_CASE_COMPLEX_TYPES(...)                        \
    AT_DISPATCH_CASE(::at::ScalarType::ComplexDouble, __VA_ARGS__) \
    AT_DISPATCH_CASE(::at::ScalarType::ComplexFloat, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...)              \
    AT_DISPATCH_CASE(::at::ScalarType::Byte, __VA_ARGS__) \
    AT_DISPATCH_CASE(::at::ScalarType::Char, __VA_ARGS__) \
    AT_DISPATCH_CASE(::at::ScalarType::Int, __VA_ARGS__)  \
    AT_DISPATCH_CASE(::at::ScalarType::Long, __VA_ARGS__) \
    AT_DISPATCH_CASE(::at::ScalarType::Short, __VA_ARGS__)
#define AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(...) \
    AT_DISPATCH_CASE(::at::ScalarType::Half, __VA_ARGS__) AT_DISPATCH_CASE(::at::ScalarType::BFloat16, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(...) \
    AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...) \
    AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(...) \
    AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_QINT(enum_type, scalar_type, ...)                            \
    case enum_type: {                                                                 \
        using scalar_t = scalar_type;                                                 \
        using underlying_t [[maybe_unused]] = typename scalar_t::underlying;          \
        [[maybe_unused]] const auto SCALAR_TYPE = enum_type;                          \
        [[maybe_unused]] const auto UNDERLYING_TYPE = ::c10::toUnderlying(enum_type); \
        return __VA_ARGS__();                                                         \
    }
#define AT_DISPATCH_CASE_QINT_BYTE_TYPES(...)                                 \
    AT_DISPATCH_CASE_QINT(::at::ScalarType::QInt8, ::c10::qint8, __VA_ARGS__) \
    AT_DISPATCH_CASE_QINT(::at::ScalarType::QUInt8, ::c10::quint8, __VA_ARGS__)
#define AT_DISPATCH_CASE_QINT_TYPES(...)          \
    AT_DISPATCH_CASE_QINT_BYTE_TYPES(__VA_ARGS__) \
    AT_DISPATCH_CASE_QINT(::at::ScalarType::QInt32, ::c10::qint32, __VA_ARGS__)
#define AT_DISPATCH_QINT_BYTE_TYPES(TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_QINT_BYTE_TYPES(__VA_ARGS__))
#define AT_DISPATCH_QINT_TYPES(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_QINT_TYPES(__VA_ARGS__))

// A list with one to eight more types.
#define MINDTORCH_CASES_1(S1, ...) AT_DISPATCH_CASE(S1, __VA_ARGS__)
#define MINDTORCH_CASES_2(S1, S2, ...) AT_DISPATCH_CASE(S1, __VA_ARGS__) MINDTORCH_CASES_1(S2, __VA_ARGS__)
#define MINDTORCH_CASES_3(S1, S2, S3, ...) AT_DISPATCH_CASE(S1, __VA_ARGS__) MINDTORCH_CASES_2(S2, S3, __VA_ARGS__)
#define MINDTORCH_CASES_4(S1, S2, S3, S4, ...) \
    AT_DISPATCH_CASE(S1, __VA_ARGS__) MINDTORCH_CASES_3(S2, S3, S4, __VA_ARGS__)
#define MINDTORCH_CASES_5(S1, S2, S3, S4, S5, ...) \
    AT_DISPATCH_CASE(S1, __VA_ARGS__) MINDTORCH_CASES_4(S2, S3, S4, S5, __VA_ARGS__)
#define MINDTORCH_CASES_6(S1, S2, S3, S4, S5, S6, ...) \
    AT_DISPATCH_CASE(S1, __VA_ARGS__) MINDTORCH_CASES_5(S2, S3, S4, S5, S6, __VA_ARGS__)

#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND(S1, ...) \
    AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) MINDTORCH_CASES_1(S1, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND(S1, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES_AND(S1, __VA_ARGS__))
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND2(S1, S2, ...) \
    AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) MINDTORCH_CASES_2(S1, S2, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND2(S1, S2, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES_AND2(S1, S2, __VA_ARGS__))
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND3(S1, S2, S3, ...) \
    AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) MINDTORCH_CASES_3(S1, S2, S3, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND3(S1, S2, S3, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES_AND3(S1, S2, S3, __VA_ARGS__))
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND4(S1, S2, S3, S4, ...) \
    AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) MINDTORCH_CASES_4(S1, S2, S3, S4, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND4(S1, S2, S3, S4, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES_AND4(S1, S2, S3, S4, __VA_ARGS__))

#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES(TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__))
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND1(S1, ...) \
    AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) MINDTORCH_CASES_1(S1, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND1(S1, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND1(S1, __VA_ARGS__))
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND2(S1, S2, ...) \
    AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) MINDTORCH_CASES_2(S1, S2, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(S1, S2, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND2(S1, S2, __VA_ARGS__))
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND3(S1, S2, S3, ...) \
    AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) MINDTORCH_CASES_3(S1, S2, S3, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND3(S1, S2, S3, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND3(S1, S2, S3, __VA_ARGS__))
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND4(S1, S2, S3, S4, ...) \
    AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) MINDTORCH_CASES_4(S1, S2, S3, S4, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND4(S1, S2, S3, S4, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND4(S1, S2, S3, S4, __VA_ARGS__))
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND5(S1, S2, S3, S4, S5, ...) \
    AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) MINDTORCH_CASES_5(S1, S2, S3, S4, S5, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND5(S1, S2, S3, S4, S5, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND5(S1, S2, S3, S4, S5, __VA_ARGS__))
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND6(S1, S2, S3, S4, S5, S6, ...) \
    AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) MINDTORCH_CASES_6(S1, S2, S3, S4, S5, S6, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND6(S1, S2, S3, S4, S5, S6, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME,                                                           \
                       AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND6(S1, S2, S3, S4, S5, S6, __VA_ARGS__))

#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_CASE_INTEGRAL_TYPES_AND(S1, ...) \
    AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) MINDTORCH_CASES_1(S1, __VA_ARGS__)
#define AT_DISPATCH_INTEGRAL_TYPES_AND(S1, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_INTEGRAL_TYPES_AND(S1, __VA_ARGS__))

#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_CASE_ALL_TYPES_AND(S1, ...) \
    AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) MINDTORCH_CASES_1(S1, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND(S1, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND(S1, __VA_ARGS__))
#define AT_DISPATCH_CASE_ALL_TYPES_AND2(S1, S2, ...) \
    AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) MINDTORCH_CASES_2(S1, S2, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND2(S1, S2, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND2(S1, S2, __VA_ARGS__))
#define AT_DISPATCH_CASE_ALL_TYPES_AND3(S1, S2, S3, ...) \
    AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) MINDTORCH_CASES_3(S1, S2, S3, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND3(S1, S2, S3, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND3(S1, S2, S3, __VA_ARGS__))

#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX(TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__))
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND(S1, ...) \
    AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) MINDTORCH_CASES_1(S1, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND(S1, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND(S1, __VA_ARGS__))
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND2(S1, S2, ...) \
    AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) MINDTORCH_CASES_2(S1, S2, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2(S1, S2, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND2(S1, S2, __VA_ARGS__))
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND3(S1, S2, S3, ...) \
    AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) MINDTORCH_CASES_3(S1, S2, S3, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(S1, S2, S3, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND3(S1, S2, S3, __VA_ARGS__))
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND4(S1, S2, S3, S4, ...) \
    AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) MINDTORCH_CASES_4(S1, S2, S3, S4, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND4(S1, S2, S3, S4, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND4(S1, S2, S3, S4, __VA_ARGS__))
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND5(S1, S2, S3, S4, S5, ...) \
    AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) MINDTORCH_CASES_5(S1, S2, S3, S4, S5, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND5(S1, S2, S3, S4, S5, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND5(S1, S2, S3, S4, S5, __VA_ARGS__))
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND6(S1, S2, S3, S4, S5, S6, ...) \
    AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) MINDTORCH_CASES_6(S1, S2, S3, S4, S5, S6, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND6(S1, S2, S3, S4, S5, S6, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND6(S1, S2, S3, S4, S5, S6, __VA_ARGS__))

#define AT_DISPATCH_COMPLEX_TYPES(TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__))
#define AT_DISPATCH_CASE_COMPLEX_TYPES_AND(S1, ...) \
    AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__) MINDTORCH_CASES_1(S1, __VA_ARGS__)
#define AT_DISPATCH_COMPLEX_TYPES_AND(S1, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_COMPLEX_TYPES_AND(S1, __VA_ARGS__))

#define AT_DISPATCH_REDUCED_FLOATING_TYPES(TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(__VA_ARGS__))

#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...) \
    AT_DISPATCH_FLOATING_TYPES_AND(::at::ScalarType::Half, TYPE, NAME, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(...) \
    AT_DISPATCH_CASE_FLOATING_TYPES_AND(::at::ScalarType::Half, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_HALF(TYPE, NAME, ...) \
    AT_DISPATCH_ALL_TYPES_AND(::at::ScalarType::Half, TYPE, NAME, __VA_ARGS__)
#define AT_DISPATCH_INDEX_TYPES(TYPE, NAME, ...)                                                    \
    AT_DISPATCH_SWITCH(TYPE, NAME,                                                                  \
                       AT_PRIVATE_CASE_TYPE_USING_HINT(::at::ScalarType::Int, index_t, __VA_ARGS__) \
                           AT_PRIVATE_CASE_TYPE_USING_HINT(::at::ScalarType::Long, index_t, __VA_ARGS__))

// Version 2: the types come last, each list unwrapped.
#define AT_WRAP(...) __VA_ARGS__
#define AT_EXPAND(...) __VA_ARGS__
#define AT_FLOATING_TYPES ::at::ScalarType::Double, ::at::ScalarType::Float
#define AT_COMPLEX_TYPES ::at::ScalarType::ComplexDouble, ::at::ScalarType::ComplexFloat
#define AT_INTEGRAL_TYPES                                                                          \
    ::at::ScalarType::Byte, ::at::ScalarType::Char, ::at::ScalarType::Int, ::at::ScalarType::Long, \
        ::at::ScalarType::Short
#define AT_BAREBONES_UNSIGNED_TYPES ::at::ScalarType::UInt16, ::at::ScalarType::UInt32, ::at::ScalarType::UInt64
#define AT_INTEGRAL_TYPES_V2 AT_INTEGRAL_TYPES, AT_BAREBONES_UNSIGNED_TYPES
#define AT_FLOAT8_TYPES                                                                                \
    ::at::ScalarType::Float8_e5m2, ::at::ScalarType::Float8_e5m2fnuz, ::at::ScalarType::Float8_e4m3fn, \
        ::at::ScalarType::Float8_e4m3fnuz, ::at::ScalarType::Float8_e8m0fnu
#define AT_OPAQUE_TYPES                                                                                   \
    ::at::ScalarType::Byte, ::at::ScalarType::UInt16, ::at::ScalarType::UInt32, ::at::ScalarType::UInt64, \
        ::at::ScalarType::ComplexDouble
#define AT_QINT_TYPES ::at::ScalarType::QInt8, ::at::ScalarType::QUInt8, ::at::ScalarType::QInt32
#define AT_ALL_TYPES AT_INTEGRAL_TYPES, AT_FLOATING_TYPES
#define AT_ALL_TYPES_AND_COMPLEX AT_ALL_TYPES, AT_COMPLEX_TYPES

// A case for each item of a list: each level scans the rest again.
#define MINDTORCH_AT_SCAN(...) MINDTORCH_AT_SCAN3(MINDTORCH_AT_SCAN3(MINDTORCH_AT_SCAN3(__VA_ARGS__)))
#define MINDTORCH_AT_SCAN3(...) MINDTORCH_AT_SCAN2(MINDTORCH_AT_SCAN2(MINDTORCH_AT_SCAN2(__VA_ARGS__)))
#define MINDTORCH_AT_SCAN2(...) MINDTORCH_AT_SCAN1(MINDTORCH_AT_SCAN1(MINDTORCH_AT_SCAN1(__VA_ARGS__)))
#define MINDTORCH_AT_SCAN1(...) __VA_ARGS__
#define MINDTORCH_AT_NOTHING()
#define MINDTORCH_AT_STRIP(...) __VA_ARGS__
#define MINDTORCH_AT_EACH(body, type, ...)          \
    AT_DISPATCH_CASE(type, MINDTORCH_AT_STRIP body) \
    __VA_OPT__(MINDTORCH_AT_AGAIN MINDTORCH_AT_NOTHING()()(body, __VA_ARGS__))
#define MINDTORCH_AT_AGAIN() MINDTORCH_AT_EACH
#define AT_DISPATCH_V2(TYPE, NAME, BODY, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, MINDTORCH_AT_SCAN(MINDTORCH_AT_EACH((BODY), __VA_ARGS__)))
