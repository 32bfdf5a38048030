// What the fused operators share: dtypes that they allow, tensors that may be left out, and numbers as they are
// rounded.
#pragma once

#include "reduction.h"

namespace emu {

inline size_t at(int64_t i) { return static_cast<size_t>(i); }

inline void allow(const View& v, const char* what, std::initializer_list<aclDataType> types) {
    std::string names;
    for (aclDataType t : types) {
        if (v.dtype == t) return;
        names += (names.empty() ? "" : ", ") + std::string(dtype_name(t));
    }
    reject(what, " is of ", dtype_name(v.dtype), ", allowed: ", names);
}
inline void allow_float(const View& v, const char* what) { allow(v, what, {ACL_FLOAT16, ACL_BF16, ACL_FLOAT}); }
inline void allow_like(const View& v, const char* what, const View& like, const char* other) {
    if (v.dtype != like.dtype)
        reject(what, " is of ", dtype_name(v.dtype), ", allowed: ", dtype_name(like.dtype), ", as ", other, " is");
}
inline void allow_rank(const View& v, const char* what, int low, int high) {
    if (v.rank < low || v.rank > high) reject(what, " has ", v.rank, " dimensions, allowed: ", low, " to ", high);
}
inline void allow_count(const View& v, const char* what, int64_t n) {
    if (v.numel() != n) reject(what, " has ", v.numel(), " elements, allowed: ", n);
}
inline void allow_number(int64_t v, const char* what, int64_t low, int64_t high) {
    if (v < low || v > high) reject(what, " is ", v, ", allowed: ", low, " to ", high);
}
inline void refuse_given(bool given, const char* what) {
    if (given) reject(what, " is given, and must be left out");
}
inline std::string text_or(str s, const char* otherwise) { return s && *s ? s : otherwise; }

// A tensor that may be left out.
struct Maybe {
    bool given;
    View view;
    explicit Maybe(T t) : given(t != nullptr && t->view.numel() != 0), view(t ? t->view : View()) {}
    std::vector<double> values(int64_t n, double otherwise) const {
        return given ? load<double>(view) : std::vector<double>(at(n), otherwise);
    }
    template <class X>
    void put(const X& x) const {
        if (given) store(view, x);
    }
};

// As `store` leaves a number in a dtype and it is read again.
inline double rounded_as(aclDataType t, double x) {
    if (t == ACL_DOUBLE) return x;
    return static_cast<double>(static_cast<float>(x));
}
// To the nearest whole number, halves to even, within the range of a type.
inline double whole(double x, double low, double high) { return std::min(std::max(std::nearbyint(x), low), high); }
inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace emu
