// Rows as sortable unsigned keys: one order for all element types, NaN above everything, ties by position.
#pragma once

#include <vector>

#include "cpu/reduce.h"

namespace mt {

// Types of at most 32 bits: key in the high half, position in the low half, so that one comparison does both.
struct NarrowKey {
    uint64_t both;
    static NarrowKey of(uint64_t key, uint64_t position) { return {key << 32 | position}; }
    uint64_t key() const { return both >> 32; }
    int64_t position() const { return static_cast<int64_t>(both & 0xffffffffu); }
    bool operator<(const NarrowKey& o) const { return both < o.both; }
};
struct WideKey {
    uint64_t bits;
    int64_t at;
    static WideKey of(uint64_t key, uint64_t position) { return {key, static_cast<int64_t>(position)}; }
    uint64_t key() const { return bits; }
    int64_t position() const { return at; }
    bool operator<(const WideKey& o) const { return bits != o.bits ? bits < o.bits : at < o.at; }
};

constexpr uint64_t kNanKey32 = 0xffffffffu;
constexpr uint64_t kNanKey64 = ~uint64_t(0);

inline uint64_t ascending_key(float x) {
    if (x != x) return kNanKey32;
    uint32_t u;
    x += 0.0f;  // -0 becomes 0
    std::memcpy(&u, &x, 4);
    return u >> 31 ? ~u : u | 0x80000000u;
}
inline uint64_t ascending_key(double x) {
    if (x != x) return kNanKey64;
    uint64_t u;
    x += 0.0;
    std::memcpy(&u, &x, 8);
    return u >> 63 ? ~u : u | uint64_t(1) << 63;
}
inline uint64_t ascending_key(int64_t x) { return static_cast<uint64_t>(x) ^ uint64_t(1) << 63; }
inline uint64_t ascending_key(int32_t x) { return static_cast<uint32_t>(x) ^ 0x80000000u; }
// The key of a 16-bit float: in the high half, so that sorting passes over the low one.
inline uint64_t ascending_key_16(uint32_t bits, uint32_t infinity) {
    const uint32_t magnitude = bits & 0x7fff, u = magnitude ? bits : 0;
    const uint32_t key = (u & 0x8000 ? ~u : u | 0x8000) << 16;
    return magnitude > infinity ? kNanKey32 : key;
}
inline uint64_t ascending_key(Half x) { return ascending_key_16(x.bits, 0x7c00); }
inline uint64_t ascending_key(BFloat16 x) { return ascending_key_16(x.bits, 0x7f80); }
inline uint64_t ascending_key(int8_t x) { return ascending_key(static_cast<int32_t>(x)); }
inline uint64_t ascending_key(uint8_t x) { return ascending_key(static_cast<int32_t>(x)); }
inline uint64_t ascending_key(Bool x) { return x; }
inline uint64_t ascending_key(uint16_t x) { return x; }
inline uint64_t ascending_key(uint32_t x) { return x; }
inline uint64_t ascending_key(uint64_t x) { return x; }
inline uint64_t ascending_key(int16_t x) { return ascending_key(static_cast<int32_t>(x)); }

inline bool has_wide_keys(DType t) { return itemsize(t) == 8; }

// f(key_at), where key_at(i) is the key of element i at `x`; `descending` turns the order (positions of ties stay
// ascending).
template <class Key, class F>
void with_key_at(const char* x, DType dtype, bool descending, const F& f) {
    constexpr bool wide = sizeof(Key) == 16;
    using Word = std::conditional_t<wide, uint64_t, uint32_t>;
    const Word flip = descending ? ~Word(0) : Word(0);
    auto run = [&]<class T>() {
        const T* v = reinterpret_cast<const T*>(x);
        f([=](int64_t i) { return static_cast<Word>(static_cast<Word>(ascending_key(v[i])) ^ flip); });
    };
    if constexpr (wide)
        visit(Types<double, int64_t, uint64_t>{}, dtype, "sort", run);
    else
        visit(Types<float, Half, BFloat16, uint8_t, int8_t, int16_t, int32_t, Bool, uint16_t, uint32_t>{}, dtype,
              "sort", run);
}

template <class Key>
void load_keys(const char* x, DType dtype, int64_t n, bool descending, Key* keys) {
    with_key_at<Key>(x, dtype, descending, [=](const auto& key_at) {
        for (int64_t i = 0; i < n; i++) keys[i] = Key::of(key_at(i), static_cast<uint64_t>(i));
    });
}

// Sorts n keys whose positions ascend by their distances from the least one, whose high digits are often zero;
// `spare` holds n more. Least significant digit first; digits in which all are zero are left out.
template <int kDigitBits, class Key>
void sort_by_digits(Key* keys, Key* spare, int64_t n) {
    constexpr int kKeyBits = sizeof(Key) == 16 ? 64 : 32;
    constexpr int64_t kDigits = int64_t(1) << kDigitBits, kRowsPerPass = kDigits / 20;
    uint64_t least = ~uint64_t(0), bits = 0;
    for (int64_t i = 0; i < n; i++) least = std::min(least, keys[i].key());
    for (int64_t i = 0; i < n; i++) bits |= keys[i].key() - least;
    int passes = 0;
    for (int shift = 0; shift < kKeyBits; shift += kDigitBits) passes += (bits >> shift & (kDigits - 1)) != 0;
    if (n < kRowsPerPass * passes) return std::sort(keys, keys + n);
    Key *from = keys, *to = spare;
    for (int shift = 0; shift < kKeyBits; shift += kDigitBits) {
        if ((bits >> shift & (kDigits - 1)) == 0) continue;
        auto digit = [=](Key key) { return (key.key() - least) >> shift & (kDigits - 1); };
        int64_t counts[kDigits] = {};
        for (int64_t i = 0; i < n; i++) counts[digit(from[i])]++;
        int64_t sum = 0;
        for (int64_t& count : counts) {
            int64_t c = count;
            count = sum;
            sum += c;
        }
        for (int64_t i = 0; i < n; i++) to[counts[digit(from[i])]++] = from[i];
        std::swap(from, to);
    }
    if (from != keys) std::copy(from, from + n, keys);
}

template <class Key>
void sort_keys(Key* keys, Key* spare, int64_t n) {
    n < 1000 ? sort_by_digits<8>(keys, spare, n) : sort_by_digits<11>(keys, spare, n);
}

// Runs f.operator()<Key>() with the key type of `dtype`.
template <class F>
void with_key(DType dtype, const F& f) {
    MT_CHECK(!is_complex(dtype), " Sort does not support complex dtypes on CPU");
    has_wide_keys(dtype) ? f.template operator()<WideKey>() : f.template operator()<NarrowKey>();
}

}  // namespace mt
