// Numbers of element types, devices, layouts, memory formats and tags.
#include "stable/abi.h"

#define DEFINE(name, number) \
    int32_t name() { return number; }
MINDTORCH_STABLE_NUMBERS(DEFINE)
#undef DEFINE

size_t aoti_torch_dtype_element_size(int32_t dtype) {
    switch (dtype) {
        case 0:   // uint8
        case 1:   // int8
        case 11:  // bool
        case 23:  // float8_e5m2
        case 24:  // float8_e4m3fn
        case 25:  // float8_e5m2fnuz
        case 26:  // float8_e4m3fnuz
        case 44:  // float8_e8m0fnu
        case 45:  // float4_e2m1fn_x2
            return 1;
        case 2:   // int16
        case 5:   // float16
        case 15:  // bfloat16
        case 27:  // uint16
            return 2;
        case 3:   // int32
        case 6:   // float32
        case 8:   // complex32
        case 28:  // uint32
            return 4;
        case 4:   // int64
        case 7:   // float64
        case 9:   // complex64
        case 29:  // uint64
            return 8;
        case 10:  // complex128
            return 16;
        default:
            return 0;
    }
}
