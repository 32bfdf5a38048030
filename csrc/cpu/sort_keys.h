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
inline uint64_t ascending_key(Half x) { return ascending_key(static_cast<float>(x)); }
inline uint64_t ascending_key(BFloat16 x) { return ascending_key(static_cast<float>(x)); }
inline uint64_t ascending_key(int8_t x) { return ascending_key(static_cast<int32_t>(x)); }
inline uint64_t ascending_key(uint8_t x) { return ascending_key(static_cast<int32_t>(x)); }
inline uint64_t ascending_key(Bool x) { return x; }
inline uint64_t ascending_key(int16_t x) { return ascending_key(static_cast<int32_t>(x)); }

inline bool has_wide_keys(DType t) { return itemsize(t) == 8; }

// The keys of n elements at `x`; `descending` turns the order (positions of ties stay ascending).
template <class Key>
void load_keys(const char* x, DType dtype, int64_t n, bool descending, Key* keys) {
    constexpr bool wide = sizeof(Key) == 16;
    uint64_t flip = descending ? (wide ? kNanKey64 : kNanKey32) : 0;
    auto load = [&]<class T>() {
        const T* v = reinterpret_cast<const T*>(x);
        for (int64_t i = 0; i < n; i++) keys[i] = Key::of(ascending_key(v[i]) ^ flip, static_cast<uint64_t>(i));
    };
    if constexpr (wide)
        visit(Types<double, int64_t>{}, dtype, "sort", load);
    else
        visit(Types<float, Half, BFloat16, uint8_t, int8_t, int16_t, int32_t, Bool>{}, dtype, "sort", load);
}

// Sorts n keys whose positions ascend; `spare` holds n more.
inline void sort_keys(NarrowKey* keys, NarrowKey* spare, int64_t n) {
    if (n < 512) return std::sort(keys, keys + n);
    // Least significant digit first, 3 digits of 11 bits; passes in which all digits agree are left out.
    NarrowKey *from = keys, *to = spare;
    for (int shift = 32; shift < 64; shift += 11) {
        int64_t counts[2048] = {};
        for (int64_t i = 0; i < n; i++) counts[from[i].both >> shift & 2047]++;
        if (counts[from[0].both >> shift & 2047] == n) continue;
        int64_t sum = 0;
        for (int64_t& count : counts) {
            int64_t c = count;
            count = sum;
            sum += c;
        }
        for (int64_t i = 0; i < n; i++) to[counts[from[i].both >> shift & 2047]++] = from[i];
        std::swap(from, to);
    }
    if (from != keys) std::copy(from, from + n, keys);
}
inline void sort_keys(WideKey* keys, WideKey*, int64_t n) { std::sort(keys, keys + n); }

// Runs f.operator()<Key>() with the key type of `dtype`.
template <class F>
void with_key(DType dtype, const F& f) {
    MT_CHECK(!is_complex(dtype), " Sort does not support complex dtypes on CPU");
    has_wide_keys(dtype) ? f.template operator()<WideKey>() : f.template operator()<NarrowKey>();
}

}  // namespace mt
