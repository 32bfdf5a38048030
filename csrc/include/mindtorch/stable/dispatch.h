// THO_DISPATCH_*: code for the element type that a tensor has, without a library.
#pragma once

#include <mindtorch/stable/headeronly.h>

#define MINDTORCH_THO_CASE(enum_type, hint, ...)                                                  \
    case enum_type: {                                                                             \
        using hint [[maybe_unused]] = ::torch::headeronly::impl::ScalarTypeToCPPTypeT<enum_type>; \
        return __VA_ARGS__();                                                                     \
    }
#define THO_DISPATCH_CASE(enum_type, ...) MINDTORCH_THO_CASE(enum_type, scalar_t, __VA_ARGS__)
#define THO_DISPATCH_SWITCH(TYPE, NAME, ...)                                         \
    [&] {                                                                            \
        const ::torch::headeronly::ScalarType mindtorch_type = (TYPE);               \
        switch (mindtorch_type) {                                                    \
            __VA_ARGS__                                                              \
            default:                                                                 \
                STD_TORCH_CHECK(false, '"', NAME, "\" not implemented for '",        \
                                ::torch::headeronly::toString(mindtorch_type), "'"); \
                throw 0; /* not reached */                                           \
        }                                                                            \
    }()

// Lists of types, as THO_DISPATCH_V2(type, name, AT_WRAP(body), AT_EXPAND(AT_FLOATING_TYPES), kHalf) takes them.
#ifndef AT_WRAP
#define AT_WRAP(...) __VA_ARGS__
#endif
#ifndef AT_EXPAND
#define AT_EXPAND(...) __VA_ARGS__
#endif
#define MINDTORCH_ST(name) ::torch::headeronly::ScalarType::name
#ifndef AT_FLOATING_TYPES
#define AT_FLOATING_TYPES MINDTORCH_ST(Double), MINDTORCH_ST(Float)
#define AT_INTEGRAL_TYPES \
    MINDTORCH_ST(Byte), MINDTORCH_ST(Char), MINDTORCH_ST(Int), MINDTORCH_ST(Long), MINDTORCH_ST(Short)
#define AT_COMPLEX_TYPES MINDTORCH_ST(ComplexDouble), MINDTORCH_ST(ComplexFloat)
#define AT_ALL_TYPES AT_INTEGRAL_TYPES, AT_FLOATING_TYPES
#define AT_ALL_TYPES_AND_COMPLEX AT_ALL_TYPES, AT_COMPLEX_TYPES
#define AT_BAREBONES_UNSIGNED_TYPES MINDTORCH_ST(UInt16), MINDTORCH_ST(UInt32), MINDTORCH_ST(UInt64)
#define AT_INTEGRAL_TYPES_V2 AT_INTEGRAL_TYPES, AT_BAREBONES_UNSIGNED_TYPES
#define AT_FLOAT8_TYPES                                                                    \
    MINDTORCH_ST(Float8_e5m2), MINDTORCH_ST(Float8_e5m2fnuz), MINDTORCH_ST(Float8_e4m3fn), \
        MINDTORCH_ST(Float8_e4m3fnuz), MINDTORCH_ST(Float8_e8m0fnu)
#endif

// A macro for each item of a list: each level scans the rest again.
#define MINDTORCH_SCAN(...) MINDTORCH_SCAN3(MINDTORCH_SCAN3(MINDTORCH_SCAN3(__VA_ARGS__)))
#define MINDTORCH_SCAN3(...) MINDTORCH_SCAN2(MINDTORCH_SCAN2(MINDTORCH_SCAN2(__VA_ARGS__)))
#define MINDTORCH_SCAN2(...) MINDTORCH_SCAN1(MINDTORCH_SCAN1(MINDTORCH_SCAN1(__VA_ARGS__)))
#define MINDTORCH_SCAN1(...) __VA_ARGS__
#define MINDTORCH_NOTHING()
#define MINDTORCH_CASE_EACH(body, type, ...)      \
    THO_DISPATCH_CASE(type, MINDTORCH_STRIP body) \
    __VA_OPT__(MINDTORCH_CASE_AGAIN MINDTORCH_NOTHING()()(body, __VA_ARGS__))
#define MINDTORCH_CASE_AGAIN() MINDTORCH_CASE_EACH
#define MINDTORCH_STRIP(...) __VA_ARGS__
#define THO_DISPATCH_V2(TYPE, NAME, BODY, ...) \
    THO_DISPATCH_SWITCH(TYPE, NAME, MINDTORCH_SCAN(MINDTORCH_CASE_EACH((BODY), __VA_ARGS__)))
