// CUDA's small vectors.
#pragma once

#define EMULATED_VECTOR(type, name, align2, align4)                                    \
    struct name##1 { type x; };                                                        \
    struct __attribute__((aligned(align2))) name##2 { type x, y; };                    \
    struct name##3 { type x, y, z; };                                                  \
    struct __attribute__((aligned(align4))) name##4 { type x, y, z, w; };              \
    static inline name##1 make_##name##1(type x) { return {x}; }                       \
    static inline name##2 make_##name##2(type x, type y) { return {x, y}; }            \
    static inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
    static inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
EMULATED_VECTOR(signed char, char, 2, 4)
EMULATED_VECTOR(unsigned char, uchar, 2, 4)
EMULATED_VECTOR(short, short, 4, 8)
EMULATED_VECTOR(unsigned short, ushort, 4, 8)
EMULATED_VECTOR(int, int, 8, 16)
EMULATED_VECTOR(unsigned, uint, 8, 16)
EMULATED_VECTOR(long, long, 16, 16)
EMULATED_VECTOR(unsigned long, ulong, 16, 16)
EMULATED_VECTOR(long long, longlong, 16, 16)
EMULATED_VECTOR(unsigned long long, ulonglong, 16, 16)
EMULATED_VECTOR(float, float, 8, 16)
EMULATED_VECTOR(double, double, 16, 16)
#undef EMULATED_VECTOR

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
