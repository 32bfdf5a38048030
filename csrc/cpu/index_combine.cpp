// The loops behind scatter, put, index_add and their like: a row of elements assigned, added, multiplied or compared.
#include "index_combine.h"

#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>

#include "core/number_fits.h"
#include "cpu/number.h"

namespace mt {

Reduce reduce_named(std::string_view name, const char* op) {
    if (name == "sum" || name == "add") return Reduce::Sum;
    if (name == "prod" || name == "multiply") return Reduce::Prod;
    if (name == "mean") return Reduce::Mean;
    if (name == "amax") return Reduce::Amax;
    if (name == "amin") return Reduce::Amin;
    MT_THROW(Runtime, op, " reduce argument must be either sum, prod, mean, amax or amin, got ", name, ".");
}

namespace {

template <class T>
bool is_nan(const T& v) {
    if constexpr (std::is_floating_point_v<T>)
        return std::isnan(v);
    else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
        return std::isnan(static_cast<float>(v));
    else
        return false;
}

struct Assign {
    template <class T>
    static T of(const T&, const T& b) {
        return b;
    }
};
struct Sum {
    template <class T>
    static T of(const T& a, const T& b) {
        return num::add(a, b);
    }
};
struct Prod {
    template <class T>
    static T of(const T& a, const T& b) {
        return num::mul(a, b);
    }
};
template <bool largest>
struct Extremum {
    template <class T>
    static T of(const T& a, const T& b) {
        if (is_nan(a)) return a;
        if (is_nan(b)) return b;
        return largest ? (a < b ? b : a) : (b < a ? b : a);
    }
};

template <class T, class Op>
void combine_row(char* target, int64_t target_step, const char* source, int64_t source_step, int64_t n) {
    T* t = reinterpret_cast<T*>(target);
    const T* s = reinterpret_cast<const T*>(source);
    if (target_step == 1 && source_step == 1) {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) t[i] = Op::of(t[i], s[i]);
    } else {
        for (int64_t i = 0; i < n; i++) t[i * target_step] = Op::of(t[i * target_step], s[i * source_step]);
    }
}

template <class T, class Op>
void combine_picked(char* target, int64_t target_step, const int64_t* pick, int64_t pick_step, int64_t stride,
                    const char* source, int64_t source_step, int64_t n) {
    T* t = reinterpret_cast<T*>(target);
    const T* s = reinterpret_cast<const T*>(source);
    for (int64_t i = 0; i < n; i++) {
        T& at = t[i * target_step + pick[i * pick_step] * stride];
        at = Op::of(at, s[i * source_step]);
    }
}

template <class T, class Op>
constexpr Combiner kCombiner{combine_row<T, Op>, combine_picked<T, Op>};

// Sums and products of integers have the same bits whether signed or not.
template <class T>
struct Ring {
    using type = T;
};
template <std::signed_integral T>
struct Ring<T> {
    using type = std::make_unsigned_t<T>;
};

}  // namespace

Combiner assigner(int64_t itemsize) {
    Combiner found{};
    visit_size(itemsize, [&]<class T>() { found = kCombiner<T, Assign>; });
    return found;
}

Combiner combiner(Reduce reduce, DType dtype, const char* op) {
    Combiner found{};
    if (reduce == Reduce::Assign)
        visit(AllTypes{}, dtype, op, [&]<class T>() { found = assigner(sizeof(T)); });
    else if (reduce == Reduce::Amax)
        visit(RealBoolTypes{}, dtype, op, [&]<class T>() { found = kCombiner<T, Extremum<true>>; });
    else if (reduce == Reduce::Amin)
        visit(RealBoolTypes{}, dtype, op, [&]<class T>() { found = kCombiner<T, Extremum<false>>; });
    else if (reduce == Reduce::Prod)
        visit(AllTypes{}, dtype, op, [&]<class T>() { found = kCombiner<typename Ring<T>::type, Prod>; });
    else
        visit(AllTypes{}, dtype, op, [&]<class T>() { found = kCombiner<typename Ring<T>::type, Sum>; });
    return found;
}

Element element_of(const Value& value, DType dtype, const char* op) {
    Element e{};
    check_number_fits(dtype, value);
    if (dtype == DType::Complex32) {
        const c128 v = value.as_complex();
        const Half parts[2] = {Half(static_cast<float>(v.real())), Half(static_cast<float>(v.imag()))};
        std::memcpy(e.bytes, parts, sizeof parts);
        return e;
    }
    visit(AllTypes{}, dtype, op, [&]<class T>() {
        T v = value.to<T>();
        std::memcpy(e.bytes, &v, sizeof(T));
    });
    return e;
}

Element identity_of(Reduce reduce, DType dtype, const char* op) {
    Element e{};
    visit(AllTypes{}, dtype, op, [&]<class T>() {
        T v = T(reduce == Reduce::Prod ? 1 : 0);
        if (reduce == Reduce::Amax || reduce == Reduce::Amin) {
            const bool low = reduce == Reduce::Amax;
            if constexpr (std::is_integral_v<T>)
                v = low ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
            else if constexpr (std::is_same_v<T, Bool>)
                v = T(!low);
            else
                v = T(low ? -INFINITY : INFINITY);
        }
        std::memcpy(e.bytes, &v, sizeof(T));
    });
    return e;
}

}  // namespace mt
