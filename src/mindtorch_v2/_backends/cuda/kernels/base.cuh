// What every kernel begins with: element types, how a kernel and its shared memory are declared, loads and stores.
// It compiles for GPUs (NVRTC, no other header) and, behind on_cpu.h, for the emulated one.
#pragma once

#ifndef ON_CPU
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
// One parameter, a struct: what launches it packs one block of bytes.
#define BOUNDS  // __launch_bounds__, by headers whose blocks are large
#define KERNEL(name, Args) extern "C" __global__ void BOUNDS name(const __grid_constant__ Args a)
#define SHARED(T, name)                                \
    extern __shared__ __align__(16) char dynamic_shared[]; \
    T* name = reinterpret_cast<T*>(dynamic_shared)
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#endif
#define DEVICE __device__ __forceinline__

#ifdef ON_CPU
inline float on_cpu_float(uint16_t half) {
    const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16, rest = half & 0x7fffu;
    if (rest >= 0x7c00u) return __int_as_float(static_cast<int32_t>(sign | 0x7f800000u | (rest & 0x3ffu) << 13));
    if (rest >= 0x400u) return __int_as_float(static_cast<int32_t>(sign | ((rest << 13) + 0x38000000u)));
    const float small = static_cast<float>(rest) * 5.9604644775390625e-08f;
    return sign ? -small : small;
}
inline uint16_t on_cpu_half(float value) {  // to the nearest, ties to even
    uint32_t x = static_cast<uint32_t>(__float_as_int(value));
    const uint32_t sign = x >> 16 & 0x8000u;
    x &= 0x7fffffffu;
    if (x > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
    if (x >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7c00u);
    if (x < 0x38800000u) {  // the float adder rounds
        const float shifted = __int_as_float(static_cast<int32_t>(x)) + 0.5f;
        return static_cast<uint16_t>(sign | (static_cast<uint32_t>(__float_as_int(shifted)) - 0x3f000000u));
    }
    x += 0xc8000fffu + (x >> 13 & 1u);
    return static_cast<uint16_t>(sign | x >> 13);
}
#endif

// ---- element types ----

struct f16 {
    uint16_t bits;
    f16() = default;
    DEVICE explicit f16(float x) {
#ifdef ON_CPU
        bits = on_cpu_half(x);
#else
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
#endif
    }
    DEVICE operator float() const {
#ifdef ON_CPU
        return on_cpu_float(bits);
#else
        float x;
        asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
        return x;
#endif
    }
};

struct bf16 {
    uint16_t bits;
    bf16() = default;
    DEVICE explicit bf16(float x) {
        uint32_t u = static_cast<uint32_t>(__float_as_int(x));
        bits = (u & 0x7fffffffu) > 0x7f800000u ? 0x7fc0 : static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
    }
    DEVICE operator float() const { return __int_as_float(static_cast<int32_t>(static_cast<uint32_t>(bits) << 16)); }
};

// A bool that was made elsewhere may be a byte other than 0 and 1.
struct b8 {
    uint8_t byte;
    b8() = default;
    DEVICE explicit b8(bool x) : byte(x) {}
    DEVICE operator bool() const { return byte != 0; }
};

template <class R>
struct alignas(2 * sizeof(R)) complex {
    R re, im;
    complex() = default;
    DEVICE complex(R real, R imaginary = 0) : re(real), im(imaginary) {}
    DEVICE complex operator-() const { return complex(-re, -im); }
    DEVICE complex operator+(complex o) const { return complex(re + o.re, im + o.im); }
    DEVICE complex operator-(complex o) const { return complex(re - o.re, im - o.im); }
    DEVICE complex operator*(complex o) const { return complex(re * o.re - im * o.im, re * o.im + im * o.re); }
    DEVICE complex operator/(complex o) const {  // scaled by the larger part of the divisor
        if (fabs(o.re) >= fabs(o.im)) {
            if (o.re == 0 && o.im == 0) return complex(re / fabs(o.re), im / fabs(o.im));
            R r = o.im / o.re, d = 1 / (o.re + o.im * r);
            return complex((re + im * r) * d, (im - re * r) * d);
        }
        R r = o.re / o.im, d = 1 / (o.re * r + o.im);
        return complex((re * r + im) * d, (im * r - re) * d);
    }
    DEVICE bool operator==(complex o) const { return re == o.re && im == o.im; }
    DEVICE bool operator!=(complex o) const { return !(*this == o); }
    DEVICE explicit operator bool() const { return re != 0 || im != 0; }
};
typedef complex<float> c64;
typedef complex<double> c128;

// ---- the type that arithmetic is done in ----

template <class T>
struct math_of {
    typedef T type;
};
template <>
struct math_of<f16> {
    typedef float type;
};
template <>
struct math_of<bf16> {
    typedef float type;
};
template <>
struct math_of<b8> {
    typedef bool type;
};

template <class T>
struct is_complex {
    static constexpr bool value = false;
};
template <class R>
struct is_complex<complex<R>> {
    static constexpr bool value = true;
};
template <class T>
struct is_integer {
    static constexpr bool value = static_cast<T>(0.5f) == static_cast<T>(0);
};
template <class R>
struct is_integer<complex<R>> {
    static constexpr bool value = false;
};
template <class A, class B>
struct same {
    static constexpr bool value = false;
};
template <class A>
struct same<A, A> {
    static constexpr bool value = true;
};

// Any element as any other: the real part of a complex number, whether a number is not zero for bool.
template <class To, class From>
struct cast {
    DEVICE static To of(From x) { return static_cast<To>(x); }
};
template <class T>
struct cast<T, T> {
    DEVICE static T of(T x) { return x; }
};
template <class From>
struct cast<f16, From> {
    DEVICE static f16 of(From x) { return f16(static_cast<float>(x)); }
};
template <class From>
struct cast<bf16, From> {
    DEVICE static bf16 of(From x) { return bf16(static_cast<float>(x)); }
};
template <>
struct cast<f16, f16> {
    DEVICE static f16 of(f16 x) { return x; }
};
template <>
struct cast<bf16, bf16> {
    DEVICE static bf16 of(bf16 x) { return x; }
};
template <class To>
struct cast<To, f16> {
    DEVICE static To of(f16 x) { return static_cast<To>(static_cast<float>(x)); }
};
template <class To>
struct cast<To, bf16> {
    DEVICE static To of(bf16 x) { return static_cast<To>(static_cast<float>(x)); }
};
template <>
struct cast<bf16, f16> {
    DEVICE static bf16 of(f16 x) { return bf16(static_cast<float>(x)); }
};
template <>
struct cast<f16, bf16> {
    DEVICE static f16 of(bf16 x) { return f16(static_cast<float>(x)); }
};
template <class R, class From>
struct cast<complex<R>, From> {
    DEVICE static complex<R> of(From x) { return complex<R>(static_cast<R>(x)); }
};
template <class R, class S>
struct cast<complex<R>, complex<S>> {
    DEVICE static complex<R> of(complex<S> x) { return complex<R>(static_cast<R>(x.re), static_cast<R>(x.im)); }
};
template <class R>
struct cast<complex<R>, complex<R>> {
    DEVICE static complex<R> of(complex<R> x) { return x; }
};
template <class R>
struct cast<complex<R>, f16> {
    DEVICE static complex<R> of(f16 x) { return complex<R>(static_cast<float>(x)); }
};
template <class R>
struct cast<complex<R>, bf16> {
    DEVICE static complex<R> of(bf16 x) { return complex<R>(static_cast<float>(x)); }
};
template <class To, class R>
struct cast<To, complex<R>> {
    DEVICE static To of(complex<R> x) { return static_cast<To>(x.re); }
};
template <class R>
struct cast<bool, complex<R>> {
    DEVICE static bool of(complex<R> x) { return static_cast<bool>(x); }
};
template <class R>
struct cast<b8, complex<R>> {
    DEVICE static b8 of(complex<R> x) { return b8(static_cast<bool>(x)); }
};
template <class R>
struct cast<f16, complex<R>> {
    DEVICE static f16 of(complex<R> x) { return f16(static_cast<float>(x.re)); }
};
template <class R>
struct cast<bf16, complex<R>> {
    DEVICE static bf16 of(complex<R> x) { return bf16(static_cast<float>(x.re)); }
};
template <class To, class From>
DEVICE To to(From x) {
    return cast<To, From>::of(x);
}

// A number of the host, as the launch packs it: an integer, or a real and an imaginary part.
struct Number {
    double real, imaginary;
    DEVICE int64_t integer() const { return __double_as_longlong(real); }
};

// Neighbours that are loaded and stored at once.
template <class T, int N>
struct alignas(sizeof(T) * N) Vector {
    T item[N];
};
