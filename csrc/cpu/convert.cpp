// Conversion of runs of elements between dtypes.
//
// Not a loop for each of the 20 x 20 pairs: each dtype converts to and from a few hub types (float, double, int64 and
// the two complex types), and a pair without a direct loop goes through a buffer of its hub. That of 8-bit floats is
// always float.
#include "convert.h"

#include <cmath>

#include "float8.h"
#include "narrow.h"

namespace mt {

namespace {

struct c32 {
    Half re, im;
};

template <class S>
constexpr bool is_complex_type = std::is_same_v<S, c32> || std::is_same_v<S, c64> || std::is_same_v<S, c128>;

template <class S>
constexpr bool is_float8_type =
    std::is_same_v<S, Float8_e5m2> || std::is_same_v<S, Float8_e4m3fn> || std::is_same_v<S, Float8_e5m2fnuz> ||
    std::is_same_v<S, Float8_e4m3fnuz> || std::is_same_v<S, Float8_e8m0fnu>;

template <class S>
auto real_part(S s) {
    if constexpr (std::is_same_v<S, c32>)
        return static_cast<float>(s.re);
    else
        return s.real();
}
template <class S>
auto imag_part(S s) {
    if constexpr (std::is_same_v<S, c32>)
        return static_cast<float>(s.im);
    else
        return s.imag();
}

template <class D, class S>
inline D convert(S s) {
    constexpr bool kToInteger = std::is_integral_v<D>;
    if constexpr (std::is_same_v<S, Bool>) {
        return convert<D>(static_cast<uint8_t>(s ? 1 : 0));
    } else if constexpr (std::is_same_v<D, Bool>) {
        if constexpr (is_complex_type<S>)
            return real_part(s) != 0 || imag_part(s) != 0;
        else if constexpr (std::is_arithmetic_v<S>)
            return s != S(0);
        else
            return static_cast<float>(s) != 0.0f;
    } else if constexpr (is_complex_type<S>) {
        if constexpr (std::is_same_v<D, c32>)
            return c32{Half(static_cast<float>(real_part(s))), Half(static_cast<float>(imag_part(s)))};
        else if constexpr (is_complex_type<D>)
            return D(static_cast<typename D::value_type>(real_part(s)),
                     static_cast<typename D::value_type>(imag_part(s)));
        else
            return convert<D>(real_part(s));
    } else if constexpr (is_complex_type<D>) {
        if constexpr (std::is_same_v<D, c32>)
            return c32{Half(convert<float>(s)), Half(0.0f)};
        else
            return D(convert<typename D::value_type>(s), 0);
    } else if constexpr (std::is_arithmetic_v<S> && std::is_arithmetic_v<D>) {
        if constexpr (kToInteger && std::is_floating_point_v<S> && sizeof(D) < 8 && !std::is_same_v<D, int32_t>)
            return static_cast<D>(static_cast<int64_t>(s));
        else
            return static_cast<D>(s);
    } else if constexpr (std::is_arithmetic_v<S>) {
        return D(static_cast<float>(s));  // to a 16- or 8-bit float
    } else {
        return convert<D>(static_cast<float>(s));  // from one
    }
}

using RunFn = void (*)(char* d, int64_t ds, const char* s, int64_t ss, int64_t n);

template <class D, class S>
void run(char* d, int64_t ds, const char* s, int64_t ss, int64_t n) {
    if (ds == int64_t(sizeof(D)) && ss == int64_t(sizeof(S))) {
        D* dp = reinterpret_cast<D*>(d);
        const S* sp = reinterpret_cast<const S*>(s);
        if constexpr (std::is_same_v<D, float> && (std::is_same_v<S, Half> || std::is_same_v<S, BFloat16>)) {
            widen(sp, dp, n);
        } else if constexpr (std::is_same_v<S, float> && (std::is_same_v<D, Half> || std::is_same_v<D, BFloat16>)) {
            narrow(sp, dp, n);
        } else {
            for (int64_t i = 0; i < n; i++) dp[i] = convert<D>(sp[i]);
        }
        return;
    }
    for (int64_t i = 0; i < n; i++)
        *reinterpret_cast<D*>(d + i * ds) = convert<D>(*reinterpret_cast<const S*>(s + i * ss));
}

template <class S>
struct tag {
    using type = S;
};

// Calls f(tag<T>) for the C++ type of a dtype.
template <class F>
RunFn of_dtype(DType t, F f) {
    switch (t) {
        case DType::UInt8:
            return f(tag<uint8_t>());
        case DType::Int8:
            return f(tag<int8_t>());
        case DType::Int16:
            return f(tag<int16_t>());
        case DType::Int32:
            return f(tag<int32_t>());
        case DType::Int64:
            return f(tag<int64_t>());
        case DType::UInt16:
            return f(tag<uint16_t>());
        case DType::UInt32:
            return f(tag<uint32_t>());
        case DType::UInt64:
            return f(tag<uint64_t>());
        case DType::Float16:
            return f(tag<Half>());
        case DType::BFloat16:
            return f(tag<BFloat16>());
        case DType::Float32:
            return f(tag<float>());
        case DType::Float64:
            return f(tag<double>());
        case DType::Complex32:
            return f(tag<c32>());
        case DType::Complex64:
            return f(tag<c64>());
        case DType::Complex128:
            return f(tag<c128>());
        case DType::Bool:
            return f(tag<Bool>());
        case DType::Float8_e5m2:
            return f(tag<Float8_e5m2>());
        case DType::Float8_e4m3fn:
            return f(tag<Float8_e4m3fn>());
        case DType::Float8_e5m2fnuz:
            return f(tag<Float8_e5m2fnuz>());
        case DType::Float8_e4m3fnuz:
            return f(tag<Float8_e4m3fnuz>());
        case DType::Float8_e8m0fnu:
            return f(tag<Float8_e8m0fnu>());
        default:
            unsupported_dtype("copy_", t);
    }
}

template <class D, class S>
RunFn run_of() {
    if constexpr ((is_float8_type<D> && !std::is_same_v<S, float>) || (is_float8_type<S> && !std::is_same_v<D, float>))
        return nullptr;  // never asked for: hub_of
    else
        return run<D, S>;
}

template <class H>
RunFn load_to(DType from) {
    return of_dtype(from, []<class S>(tag<S>) { return run_of<H, S>(); });
}
template <class H>
RunFn store_from(DType to) {
    return of_dtype(to, []<class D>(tag<D>) { return run_of<D, H>(); });
}

RunFn load(DType hub, DType from) {
    switch (hub) {
        case DType::Float32:
            return load_to<float>(from);
        case DType::Float64:
            return load_to<double>(from);
        case DType::Int64:
            return load_to<int64_t>(from);
        case DType::Complex64:
            return load_to<c64>(from);
        default:
            return load_to<c128>(from);
    }
}

RunFn store(DType hub, DType to) {
    switch (hub) {
        case DType::Float32:
            return store_from<float>(to);
        case DType::Float64:
            return store_from<double>(to);
        case DType::Int64:
            return store_from<int64_t>(to);
        case DType::Complex64:
            return store_from<c64>(to);
        default:
            return store_from<c128>(to);
    }
}

// The type that values of `from` pass through on their way to `to`.
DType hub_of(DType from, DType to) {
    if (is_float8(from) || is_float8(to)) return DType::Float32;
    if (is_complex(to)) return to == DType::Complex128 ? DType::Complex128 : DType::Complex64;
    if (to == DType::Bool) {
        if (is_complex(from)) return from == DType::Complex128 ? DType::Complex128 : DType::Complex64;
        return from == DType::Float64 ? DType::Float64 : is_floating(from) ? DType::Float32 : DType::Int64;
    }
    if (is_floating(to)) return to == DType::Float64 ? DType::Float64 : DType::Float32;
    return DType::Int64;
}

template <class T>
void move(char* d, int64_t ds, const char* s, int64_t ss, int64_t n) {
    for (int64_t i = 0; i < n; i++) std::memcpy(d + i * ds, s + i * ss, sizeof(T));
}

template <class T>
void repeat(char* d, const char* one, int64_t n) {
    T value;
    std::memcpy(&value, one, sizeof(T));
    for (int64_t i = 0; i < n; i++) std::memcpy(d + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

}  // namespace

void cast_run(void* dst, int64_t ds, DType to, const void* src, int64_t ss, DType from, int64_t n) {
    char* d = static_cast<char*>(dst);
    const char* s = static_cast<const char*>(src);
    const int64_t size = itemsize(to);
    if (ss == 0 && ds == size && n > 1) {  // one element for all, as in what expand() makes
        alignas(16) char one[16];
        cast_run(one, size, to, s, 0, from, 1);
        return visit_size(size, [&]<class T>() { repeat<T>(d, one, n); });
    }
    if (from == DType::Bool && (to == DType::UInt8 || to == DType::Int8)) return run<uint8_t, Bool>(d, ds, s, ss, n);
    if (to == from) {
        if (ds == size && ss == size)
            std::memmove(d, s, static_cast<size_t>(n * size));
        else
            visit_size(size, [&]<class T>() { move<T>(d, ds, s, ss, n); });
        return;
    }
    DType hub = hub_of(from, to);
    if (to == DType::Int32 && (from == DType::Float32 || from == DType::Float64)) {
        (from == DType::Float32 ? run<int32_t, float> : run<int32_t, double>)(d, ds, s, ss, n);
    } else if (hub == to) {
        load(hub, from)(d, ds, s, ss, n);
    } else if (hub == from) {
        store(hub, to)(d, ds, s, ss, n);
    } else {
        constexpr int64_t kChunk = 256;
        alignas(64) char buffer[kChunk * 16];
        const int64_t width = itemsize(hub);
        RunFn in = load(hub, from), out = store(hub, to);
        for (int64_t i = 0; i < n; i += kChunk) {
            int64_t m = std::min(kChunk, n - i);
            in(buffer, width, s + i * ss, ss, m);
            out(d + i * ds, ds, buffer, width, m);
        }
    }
}

}  // namespace mt
