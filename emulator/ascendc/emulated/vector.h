// Vector instructions, element by element. Each has a form with a number of elements, and forms with a mask (a number
// or bits) and repeats: step r handles 256 bytes, eight blocks of 32 bytes, of which the mask says which elements take
// part.
#pragma once

#include "copy.h"

namespace emulated {

template <class T>
constexpr uint32_t kPerRepeat = kRepeat / sizeof(T);
template <class T>
constexpr uint32_t kPerBlock = kBlock / sizeof(T);

// Which of the elements of a step take part.
struct Mask {
    uint64_t bits[2];
    uint32_t count;  // elements of a step up to the last that takes part

    bool operator[](uint32_t i) const { return bits[i / 64] >> (i % 64) & 1; }
};
template <class T>
Mask mask_of(uint64_t count, const char* name) {
    uint32_t all = kPerRepeat<T> > 128 ? 128 : kPerRepeat<T>;
    if (!count || count > all) fault(name, ": a mask of ", count, " elements; a step has ", all);
    Mask m{{0, 0}, static_cast<uint32_t>(count)};
    for (uint32_t i = 0; i < count; i++) m.bits[i / 64] |= uint64_t(1) << (i % 64);
    return m;
}
template <class T>
Mask mask_of(const uint64_t* bits, const char* name) {
    Mask m{{bits[0], kPerRepeat<T> > 64 ? bits[1] : 0}, 0};
    for (uint32_t i = 0; i < 128; i++)
        if (m[i]) m.count = i + 1;
    if (!m.count || m.count > kPerRepeat<T>)
        fault(name, ": a mask of elements beyond the ", kPerRepeat<T>, " of a step");
    return m;
}

// Where element i of step r of an operand lies; strides in blocks.
struct Strides {
    uint32_t block, repeat;
};
template <class T>
T* element(const AscendC::LocalTensor<T>& t, Strides s, uint32_t r, uint32_t i, const char* name) {
    uint64_t offset = (uint64_t(r) * s.repeat + i / kPerBlock<T> * s.block) * kBlock + i % kPerBlock<T> * sizeof(T);
    return reinterpret_cast<T*>(t.at(offset, sizeof(T), name));
}
template <class T>
void check_repeats(const AscendC::LocalTensor<T>& t, const char* name) {
    t.aligned(0, 0, name);
}

template <class D, class S, class F>
void unary(const AscendC::LocalTensor<D>& dst, const AscendC::LocalTensor<S>& src, int32_t count, const char* name,
           F f) {
    if (count <= 0) fault(name, ": ", count, " elements");
    D* to = dst.elements(static_cast<uint32_t>(count), name);
    const S* from = src.elements(static_cast<uint32_t>(count), name);
    if constexpr (sizeof(D) > sizeof(S)) {  // may be the same memory: the wider result goes backwards
        for (int32_t i = count; i-- > 0;) to[i] = f(from[i], to[i]);
    } else {
        for (int32_t i = 0; i < count; i++) to[i] = f(from[i], to[i]);
    }
}
template <class D, class S, class M, class F>
void unary(const AscendC::LocalTensor<D>& dst, const AscendC::LocalTensor<S>& src, M mask, uint8_t repeats,
           const AscendC::UnaryRepeatParams& p, const char* name, F f) {
    using Wide = std::conditional_t<(sizeof(D) > sizeof(S)), D, S>;
    Mask m = mask_of<Wide>(mask, name);
    check_repeats(dst, name);
    check_repeats(src, name);
    for (uint32_t r = 0; r < repeats; r++)
        for (uint32_t i = 0; i < m.count; i++)
            if (m[i]) {
                D* to = element(dst, {p.dstBlkStride, p.dstRepStride}, r, i, name);
                *to = f(*element(src, {p.srcBlkStride, p.srcRepStride}, r, i, name), *to);
            }
}
template <class D, class S, class F>
void binary(const AscendC::LocalTensor<D>& dst, const AscendC::LocalTensor<S>& a, const AscendC::LocalTensor<S>& b,
            int32_t count, const char* name, F f) {
    if (count <= 0) fault(name, ": ", count, " elements");
    uint32_t n = static_cast<uint32_t>(count);
    D* to = dst.elements(n, name);
    const S *x = a.elements(n, name), *y = b.elements(n, name);
    for (uint32_t i = 0; i < n; i++) to[i] = f(x[i], y[i], to[i]);
}
template <class D, class S, class M, class F>
void binary(const AscendC::LocalTensor<D>& dst, const AscendC::LocalTensor<S>& a, const AscendC::LocalTensor<S>& b,
            M mask, uint8_t repeats, const AscendC::BinaryRepeatParams& p, const char* name, F f) {
    Mask m = mask_of<S>(mask, name);
    check_repeats(dst, name);
    check_repeats(a, name);
    check_repeats(b, name);
    for (uint32_t r = 0; r < repeats; r++)
        for (uint32_t i = 0; i < m.count; i++)
            if (m[i]) {
                D* to = element(dst, {p.dstBlkStride, p.dstRepStride}, r, i, name);
                *to = f(*element(a, {p.src0BlkStride, p.src0RepStride}, r, i, name),
                        *element(b, {p.src1BlkStride, p.src1RepStride}, r, i, name), *to);
            }
}

template <class T>
bool compared(AscendC::CMPMODE mode, T a, T b) {
    switch (mode) {
        case AscendC::CMPMODE::LT:
            return a < b;
        case AscendC::CMPMODE::GT:
            return a > b;
        case AscendC::CMPMODE::EQ:
            return a == b;
        case AscendC::CMPMODE::LE:
            return a <= b;
        case AscendC::CMPMODE::GE:
            return a >= b;
        default:
            return a != b;
    }
}

// A whole number near v, in a rounding mode.
inline double rounded(double v, AscendC::RoundMode mode) {
    switch (mode) {
        case AscendC::RoundMode::CAST_FLOOR:
            return std::floor(v);
        case AscendC::RoundMode::CAST_CEIL:
            return std::ceil(v);
        case AscendC::RoundMode::CAST_ROUND:
            return std::round(v);
        case AscendC::RoundMode::CAST_TRUNC:
            return std::trunc(v);
        case AscendC::RoundMode::CAST_ODD: {
            double low = std::floor(v);
            return low == v || std::fmod(low, 2) != 0 ? low : low + 1;
        }
        default:
            return std::nearbyint(v);
    }
}

// The number of sixteen bits for v, in a rounding mode.
template <class H>
H narrowed(float v, AscendC::RoundMode mode) {
    H near(v);
    float back = near;
    if (back == v || v != v || std::isinf(v)) return near;
    auto beside = [&](bool up) {  // the neighbour of `near` on that side
        int step = (near.bits & 0x8000) ? (up ? -1 : 1) : (up ? 1 : -1);
        if (!(near.bits & 0x7fff)) return H::of_bits(up ? 1 : 0x8001);
        return H::of_bits(static_cast<uint16_t>(near.bits + step));
    };
    H low = back < v ? near : beside(false), high = back > v ? near : beside(true);
    switch (mode) {
        case AscendC::RoundMode::CAST_FLOOR:
            return low;
        case AscendC::RoundMode::CAST_CEIL:
            return high;
        case AscendC::RoundMode::CAST_TRUNC:
            return v < 0 ? high : low;
        case AscendC::RoundMode::CAST_ODD:
            return low.bits & 1 ? low : high;
        case AscendC::RoundMode::CAST_ROUND: {  // ties away from zero
            float below = v - float(low), above = float(high) - v;
            return below == above ? (v < 0 ? low : high) : near;
        }
        default:
            return near;
    }
}

template <class D, class S>
D cast(S value, AscendC::RoundMode mode) {
    constexpr bool kNarrow = std::is_same_v<D, half> || std::is_same_v<D, bfloat16_t>;
    if constexpr (std::is_integral_v<D> && std::is_integral_v<S>) {
        if (value < static_cast<S>(std::numeric_limits<D>::min()) && sizeof(D) < sizeof(S))
            return std::numeric_limits<D>::min();
        if (sizeof(D) < sizeof(S) && value > static_cast<S>(std::numeric_limits<D>::max()))
            return std::numeric_limits<D>::max();
        return static_cast<D>(value);
    } else if constexpr (std::is_integral_v<D>) {
        double v = rounded(static_cast<double>(static_cast<float>(value)), mode);
        if (v != v) return D(0);
        if (v <= static_cast<double>(std::numeric_limits<D>::min())) return std::numeric_limits<D>::min();
        if (v >= static_cast<double>(std::numeric_limits<D>::max())) return std::numeric_limits<D>::max();
        return static_cast<D>(v);
    } else if constexpr (kNarrow) {
        return narrowed<D>(static_cast<float>(value), mode);
    } else if constexpr (std::is_same_v<D, S>) {
        return mode == AscendC::RoundMode::CAST_NONE ? value
                                                     : static_cast<D>(rounded(static_cast<double>(value), mode));
    } else {
        return static_cast<D>(value);
    }
}

}  // namespace emulated

// One instruction of two operands, in its three forms. `x` and `y` are the operands, `z` what the destination holds.
#define EMULATED_BINARY(name, formula)                                                                            \
    template <class T>                                                                                            \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, int32_t count) { \
        using C = emulated::Compute<T>;                                                                           \
        emulated::binary(dst, src0, src1, count, #name,                                                           \
                         [](C x, C y, [[maybe_unused]] C z) -> T { return T(formula); });                         \
    }                                                                                                             \
    template <class T, class M, class = std::enable_if_t<std::is_integral_v<M> || std::is_pointer_v<M>>>          \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, M mask,          \
              uint8_t repeats, const BinaryRepeatParams& p) {                                                     \
        using C = emulated::Compute<T>;                                                                           \
        emulated::binary(dst, src0, src1, emulated::mask_argument(mask), repeats, p, #name,                       \
                         [](C x, C y, [[maybe_unused]] C z) -> T { return T(formula); });                         \
    }
#define EMULATED_UNARY(name, formula)                                                                    \
    template <class T>                                                                                   \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, int32_t count) {                     \
        using C = emulated::Compute<T>;                                                                  \
        emulated::unary(dst, src, count, #name, [](C x, C) -> T { return T(formula); });                 \
    }                                                                                                    \
    template <class T, class M, class = std::enable_if_t<std::is_integral_v<M> || std::is_pointer_v<M>>> \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, M mask, uint8_t repeats,             \
              const UnaryRepeatParams& p) {                                                              \
        using C = emulated::Compute<T>;                                                                  \
        emulated::unary(dst, src, emulated::mask_argument(mask), repeats, p, #name,                      \
                        [](C x, C) -> T { return T(formula); });                                         \
    }
// One instruction of an operand and a number `y`.
#define EMULATED_SCALAR(name, formula)                                                                            \
    template <class T, class U>                                                                                   \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, U scalar, int32_t count) {                    \
        using C = emulated::Compute<T>;                                                                           \
        C y = static_cast<C>(static_cast<T>(scalar));                                                             \
        emulated::unary(dst, src, count, #name, [y](C x, [[maybe_unused]] C z) -> T { return T(formula); });      \
    }                                                                                                             \
    template <class T, class U, class M, class = std::enable_if_t<std::is_integral_v<M> || std::is_pointer_v<M>>> \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, U scalar, M mask, uint8_t repeats,            \
              const UnaryRepeatParams& p) {                                                                       \
        using C = emulated::Compute<T>;                                                                           \
        C y = static_cast<C>(static_cast<T>(scalar));                                                             \
        emulated::unary(dst, src, emulated::mask_argument(mask), repeats, p, #name,                               \
                        [y](C x, [[maybe_unused]] C z) -> T { return T(formula); });                              \
    }

namespace emulated {
template <class M>
auto mask_argument(M mask) {
    if constexpr (std::is_pointer_v<M>)
        return static_cast<const uint64_t*>(mask);
    else
        return static_cast<uint64_t>(mask);
}
}  // namespace emulated

namespace AscendC {

EMULATED_BINARY(Add, x + y)
EMULATED_BINARY(Sub, x - y)
EMULATED_BINARY(Mul, x* y)
EMULATED_BINARY(Div, x / y)
EMULATED_BINARY(Max, x > y ? x : y)
EMULATED_BINARY(Min, x < y ? x : y)
EMULATED_BINARY(And, x& y)
EMULATED_BINARY(Or, x | y)
EMULATED_BINARY(AddRelu, x + y > C(0) ? x + y : C(0))
EMULATED_BINARY(SubRelu, x - y > C(0) ? x - y : C(0))
EMULATED_BINARY(FusedMulAdd, x* z + y)
EMULATED_BINARY(FusedMulAddRelu, x* z + y > C(0) ? x * z + y : C(0))
EMULATED_BINARY(MulAddDst, x* y + z)

EMULATED_UNARY(Exp, std::exp(x))
EMULATED_UNARY(Ln, std::log(x))
EMULATED_UNARY(Abs, x < C(0) ? -x : x)
EMULATED_UNARY(Sqrt, std::sqrt(x))
EMULATED_UNARY(Rsqrt, C(1) / std::sqrt(x))
EMULATED_UNARY(Reciprocal, C(1) / x)
EMULATED_UNARY(Relu, x > C(0) ? x : C(0))
EMULATED_UNARY(Not, ~x)

EMULATED_SCALAR(Adds, x + y)
EMULATED_SCALAR(Muls, x* y)
EMULATED_SCALAR(Maxs, x > y ? x : y)
EMULATED_SCALAR(Mins, x < y ? x : y)
EMULATED_SCALAR(LeakyRelu, x >= C(0) ? x : x * y)
EMULATED_SCALAR(ShiftLeft, x << y)
EMULATED_SCALAR(ShiftRight, x >> y)

template <class D, class S, class U>
void Axpy(const LocalTensor<D>& dst, const LocalTensor<S>& src, U scalar, int32_t count) {
    using C = emulated::Compute<D>;
    C y = static_cast<C>(static_cast<S>(scalar));
    emulated::unary(dst, src, count, "Axpy", [y](S x, D z) -> D { return D(C(x) * y + C(z)); });
}

template <class D, class S>
void Cast(const LocalTensor<D>& dst, const LocalTensor<S>& src, RoundMode mode, uint32_t count) {
    emulated::unary(dst, src, static_cast<int32_t>(count), "Cast",
                    [mode](S x, D) -> D { return emulated::cast<D, S>(x, mode); });
}
template <class D, class S, class M>
void Cast(const LocalTensor<D>& dst, const LocalTensor<S>& src, RoundMode mode, M mask, uint8_t repeats,
          const UnaryRepeatParams& p) {
    emulated::unary(dst, src, emulated::mask_argument(mask), repeats, p, "Cast",
                    [mode](S x, D) -> D { return emulated::cast<D, S>(x, mode); });
}

template <class T, class V>
void Duplicate(const LocalTensor<T>& dst, V value, int32_t count) {
    T v = static_cast<T>(value);
    emulated::unary(dst, dst, count, "Duplicate", [v](T, T) { return v; });
}
template <class T, class V, class M>
void Duplicate(const LocalTensor<T>& dst, V value, M mask, uint8_t repeats, uint16_t block_stride,
               uint8_t repeat_stride) {
    T v = static_cast<T>(value);
    UnaryRepeatParams p(block_stride, block_stride, repeat_stride, repeat_stride);
    emulated::unary(dst, dst, emulated::mask_argument(mask), repeats, p, "Duplicate", [v](T, T) { return v; });
}
template <class T, class M>
void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, M mask, uint8_t repeats, const CopyRepeatParams& p) {
    UnaryRepeatParams q(p.dstStride, p.srcStride, static_cast<uint8_t>(p.dstRepeatSize),
                        static_cast<uint8_t>(p.srcRepeatSize));
    emulated::unary(dst, src, emulated::mask_argument(mask), repeats, q, "Copy", [](T x, T) { return x; });
}

template <class T>
void CreateVecIndex(const LocalTensor<T>& dst, T first, uint32_t count) {
    T* to = dst.elements(count, "CreateVecIndex");
    for (uint32_t i = 0; i < count; i++)
        to[i] = static_cast<T>(static_cast<emulated::Compute<T>>(first) + static_cast<emulated::Compute<T>>(i));
}
// Eight elements a step, each filling a block.
template <class T>
void Brcb(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint8_t repeats, const BrcbRepeatParams& p) {
    for (uint32_t r = 0; r < repeats; r++)
        for (uint32_t b = 0; b < 8; b++) {
            T value = src.GetValue(r * 8 + b);
            uint64_t offset = (uint64_t(r) * p.dstRepStride + uint64_t(b) * p.dstBlkStride) * emulated::kBlock;
            auto* to = reinterpret_cast<T*>(dst.aligned(offset, emulated::kBlock, "Brcb"));
            for (uint32_t i = 0; i < emulated::kPerBlock<T>; i++) to[i] = value;
        }
}
// Offsets in bytes.
template <class T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& offsets, uint32_t base,
            uint32_t count) {
    T* to = dst.elements(count, "Gather");
    const uint32_t* from = offsets.elements(count, "Gather");
    for (uint32_t i = 0; i < count; i++)
        std::memcpy(&to[i], src.at(uint64_t(base) + from[i], sizeof(T), "Gather"), sizeof(T));
}

// ---- comparisons: a bit an element ----

template <class U, class T>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode,
             uint32_t count) {
    using C = emulated::Compute<T>;
    if (count * sizeof(T) % emulated::kRepeat)
        emulated::fault("misaligned Compare: ", count * sizeof(T), " bytes are not a multiple of ", emulated::kRepeat);
    auto* bits = reinterpret_cast<uint8_t*>(dst.aligned(0, count / 8, "Compare"));
    const T *a = src0.elements(count, "Compare"), *b = src1.elements(count, "Compare");
    std::memset(bits, 0, count / 8);
    for (uint32_t i = 0; i < count; i++)
        if (emulated::compared<C>(mode, C(a[i]), C(b[i]))) bits[i / 8] = static_cast<uint8_t>(bits[i / 8] | 1 << i % 8);
}
template <class U, class T>
void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src, T scalar, CMPMODE mode, uint32_t count) {
    using C = emulated::Compute<T>;
    if (count * sizeof(T) % emulated::kRepeat)
        emulated::fault("misaligned CompareScalar: ", count * sizeof(T), " bytes are not a multiple of ",
                        emulated::kRepeat);
    auto* bits = reinterpret_cast<uint8_t*>(dst.aligned(0, count / 8, "CompareScalar"));
    const T* a = src.elements(count, "CompareScalar");
    std::memset(bits, 0, count / 8);
    for (uint32_t i = 0; i < count; i++)
        if (emulated::compared<C>(mode, C(a[i]), C(scalar)))
            bits[i / 8] = static_cast<uint8_t>(bits[i / 8] | 1 << i % 8);
}

}  // namespace AscendC

namespace emulated {
// In the mode of the mask register every step uses the same bits.
template <class T, class U, class F>
void select(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<U>& mask, const AscendC::LocalTensor<T>& a,
            AscendC::SELMODE mode, uint32_t count, F otherwise) {
    bool same = mode == AscendC::SELMODE::VSEL_CMPMASK_SPR;
    uint32_t bits_used = same && count > kPerRepeat<T> ? kPerRepeat<T> : count;
    auto* bits = reinterpret_cast<const uint8_t*>(mask.aligned(0, (bits_used + 7) / 8, "Select"));
    T* to = dst.elements(count, "Select");
    const T* x = a.elements(count, "Select");
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bit = same ? i % kPerRepeat<T> : i;
        to[i] = bits[bit / 8] >> (bit % 8) & 1 ? x[i] : otherwise(i);
    }
}
}  // namespace emulated

namespace AscendC {

template <class T, class U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& mask, const LocalTensor<T>& src0,
            const LocalTensor<T>& src1, SELMODE mode, uint32_t count) {
    const T* b = src1.elements(count, "Select");
    emulated::select(dst, mask, src0, mode, count, [b](uint32_t i) { return b[i]; });
}
template <class T, class U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& mask, const LocalTensor<T>& src0, T scalar, SELMODE mode,
            uint32_t count) {
    emulated::select(dst, mask, src0, mode, count, [scalar](uint32_t) { return scalar; });
}

}  // namespace AscendC
