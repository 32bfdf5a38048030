// Bits of unsigned integers, by the names that c10 took over from LLVM.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

namespace c10 {
namespace llvm {

enum ZeroBehavior { ZB_Undefined, ZB_Max, ZB_Width };

// Zero has as many zeros as its type has bits.
template <class T>
std::size_t countLeadingZeros(T value, ZeroBehavior = ZB_Width) {
    static_assert(std::is_unsigned_v<T> && sizeof(T) <= 8,
                  "countLeadingZeros takes unsigned integers of up to 64 bits");
    if (value == 0) return std::numeric_limits<T>::digits;
    return static_cast<std::size_t>(__builtin_clzll(value)) - (64 - std::numeric_limits<T>::digits);
}
template <class T>
std::size_t countTrailingZeros(T value, ZeroBehavior = ZB_Width) {
    static_assert(std::is_unsigned_v<T> && sizeof(T) <= 8,
                  "countTrailingZeros takes unsigned integers of up to 64 bits");
    return value == 0 ? std::numeric_limits<T>::digits : static_cast<std::size_t>(__builtin_ctzll(value));
}
template <class T>
std::size_t countLeadingOnes(T value, ZeroBehavior = ZB_Width) {
    return countLeadingZeros(static_cast<T>(~value));
}
template <class T>
std::size_t countTrailingOnes(T value, ZeroBehavior = ZB_Width) {
    return countTrailingZeros(static_cast<T>(~value));
}
template <class T>
unsigned countPopulation(T value) {
    static_assert(std::is_unsigned_v<T> && sizeof(T) <= 8, "countPopulation takes unsigned integers of up to 64 bits");
    return static_cast<unsigned>(__builtin_popcountll(value));
}

constexpr bool isPowerOf2_32(uint32_t value) { return value != 0 && (value & (value - 1)) == 0; }
constexpr bool isPowerOf2_64(uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }
// Logarithms, rounded down; -1 (as unsigned) of zero.
inline unsigned Log2_32(uint32_t value) { return 31 - static_cast<unsigned>(countLeadingZeros(value)); }
inline unsigned Log2_64(uint64_t value) { return 63 - static_cast<unsigned>(countLeadingZeros(value)); }
inline unsigned Log2_32_Ceil(uint32_t value) { return 32 - static_cast<unsigned>(countLeadingZeros(value - 1)); }
inline unsigned Log2_64_Ceil(uint64_t value) { return 64 - static_cast<unsigned>(countLeadingZeros(value - 1)); }
// The next power of two above; 0 where there is none.
constexpr uint64_t NextPowerOf2(uint64_t value) {
    for (unsigned shift = 1; shift < 64; shift *= 2) value |= value >> shift;
    return value + 1;
}
inline uint64_t PowerOf2Floor(uint64_t value) { return value == 0 ? 0 : uint64_t(1) << Log2_64(value); }
inline uint64_t PowerOf2Ceil(uint64_t value) { return value == 0 ? 0 : NextPowerOf2(value - 1); }

constexpr uint64_t divideCeil(uint64_t numerator, uint64_t denominator) {
    return (numerator + denominator - 1) / denominator;
}
// The next number above that is `skew` more than a multiple of `align`.
constexpr uint64_t alignTo(uint64_t value, uint64_t align, uint64_t skew = 0) {
    skew %= align;
    return (value + align - 1 - skew) / align * align + skew;
}

}  // namespace llvm
}  // namespace c10
