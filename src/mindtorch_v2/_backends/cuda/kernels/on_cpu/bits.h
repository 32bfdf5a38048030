// Bits of integers, numbers as bits, conversions with a named rounding.
#pragma once

static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline unsigned __brev(unsigned x) {
    x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
    x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
    x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(x);
}
static inline unsigned long long __brevll(unsigned long long x) {
    return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
static inline int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
static inline int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
static inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
    return (unsigned)((((unsigned long long)high << 32 | low) << (by & 31)) >> 32);
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
    return (unsigned)(((unsigned long long)high << 32 | low) >> (by & 31));
}
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
    unsigned long long both = (unsigned long long)b << 32 | a;
    unsigned result = 0;
    for (int i = 0; i < 4; i++) {
        unsigned choice = selector >> 4 * i & 15, byte = (unsigned)(both >> 8 * (choice & 7)) & 255;
        if (choice & 8) byte = byte & 128 ? 255 : 0;
        result |= byte << 8 * i;
    }
    return result;
}

template <class To, class From>
static inline To emulated_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "as many bits");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
static inline int __float_as_int(float x) { return emulated_bits<int>(x); }
static inline unsigned __float_as_uint(float x) { return emulated_bits<unsigned>(x); }
static inline float __int_as_float(int x) { return emulated_bits<float>(x); }
static inline float __uint_as_float(unsigned x) { return emulated_bits<float>(x); }
static inline long long __double_as_longlong(double x) { return emulated_bits<long long>(x); }
static inline double __longlong_as_double(long long x) { return emulated_bits<double>(x); }
static inline int __double2loint(double x) { return (int)__double_as_longlong(x); }
static inline int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
static inline double __hiloint2double(int high, int low) {
    return __longlong_as_double((long long)((unsigned long long)(unsigned)high << 32 | (unsigned)low));
}

// As a GPU converts: to the nearest number that there is, and of what is none to zero.
template <class To, class From>
static inline To emulated_convert(From x) {
    const bool is_signed = (To)-1 < (To)0;
    const From above = (From)2 * (From)((unsigned long long)1 << (sizeof(To) * 8 - 1 - (is_signed ? 1 : 0)));
    const To most = is_signed ? (To) ~((To)1 << (sizeof(To) * 8 - 1)) : (To)-1, least = is_signed ? (To)~most : (To)0;
    if (x != x) return sizeof(To) == 8 ? (To)((unsigned long long)1 << 63) : (To)0;
    if (x >= above) return most;
    if (is_signed ? x < -above : x < 0) return least;
    return (To)x;
}
#define EMULATED_CONVERT(from, to, To, near, down, up, cut)                                 \
    static inline To __##from##2##to##_rn(from x) { return emulated_convert<To>(near(x)); } \
    static inline To __##from##2##to##_rd(from x) { return emulated_convert<To>(down(x)); } \
    static inline To __##from##2##to##_ru(from x) { return emulated_convert<To>(up(x)); }   \
    static inline To __##from##2##to##_rz(from x) { return emulated_convert<To>(cut(x)); }
#define EMULATED_CONVERTS(from, near, down, up, cut)            \
    EMULATED_CONVERT(from, int, int, near, down, up, cut)       \
    EMULATED_CONVERT(from, uint, unsigned, near, down, up, cut) \
    EMULATED_CONVERT(from, ll, long long, near, down, up, cut)  \
    EMULATED_CONVERT(from, ull, unsigned long long, near, down, up, cut)
EMULATED_CONVERTS(float, __builtin_rintf, __builtin_floorf, __builtin_ceilf, __builtin_truncf)
EMULATED_CONVERTS(double, __builtin_rint, __builtin_floor, __builtin_ceil, __builtin_trunc)
#undef EMULATED_CONVERTS
#undef EMULATED_CONVERT
static inline float __int2float_rn(int x) { return (float)x; }
static inline float __uint2float_rn(unsigned x) { return (float)x; }
static inline float __ll2float_rn(long long x) { return (float)x; }
static inline float __ull2float_rn(unsigned long long x) { return (float)x; }
static inline double __int2double_rn(int x) { return x; }
static inline double __uint2double_rn(unsigned x) { return x; }
static inline double __ll2double_rn(long long x) { return (double)x; }
static inline double __ull2double_rn(unsigned long long x) { return (double)x; }
static inline float __double2float_rn(double x) { return (float)x; }
