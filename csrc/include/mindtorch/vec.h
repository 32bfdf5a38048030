// at::vec: a register's worth of elements. Plain loops over an array, which the compiler turns into its vector
// instructions.
#pragma once

#include <mindtorch/intrinsics.h>
#include <mindtorch/types.h>

#include <cmath>
#include <functional>

#define VECTOR_WIDTH 32

namespace at {
namespace vec {

// As many bits as T has, as a signed integer.
template <class T>
using int_same_size_t = std::conditional_t<
    sizeof(T) == 1, int8_t,
    std::conditional_t<sizeof(T) == 2, int16_t, std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>>;

using c10::is_reduced_floating_point;
using c10::is_reduced_floating_point_v;

template <class T>
class alignas(VECTOR_WIDTH) Vectorized {
  public:
    using value_type = T;
    using size_type = int;
    static constexpr size_type kSize = VECTOR_WIDTH / sizeof(T);
    static constexpr size_type size() { return kSize; }

    Vectorized() : values_{} {}
    Vectorized(T v) {
        for (T& each : values_) each = v;
    }
    template <class... A, class = std::enable_if_t<sizeof...(A) == kSize && (sizeof...(A) > 1)>>
    Vectorized(A... v) : values_{static_cast<T>(v)...} {}
    template <class F>
    static Vectorized each(F f) {
        Vectorized r;
        for (int i = 0; i < kSize; i++) r.values_[i] = f(i);
        return r;
    }

    static Vectorized loadu(const void* p) { return loadu(p, kSize); }
    static Vectorized loadu(const void* p, int64_t count) {
        Vectorized r;
        std::memcpy(static_cast<void*>(r.values_), p, static_cast<size_t>(count) * sizeof(T));
        return r;
    }
    void store(void* p, int count = kSize) const { std::memcpy(p, values_, static_cast<size_t>(count) * sizeof(T)); }
    static Vectorized arange(T base = T(0), T step = T(1)) {
        return each([&](int i) { return static_cast<T>(base + static_cast<T>(i) * step); });
    }
    // The first `count` of b, the others of a.
    static Vectorized set(const Vectorized& a, const Vectorized& b, int64_t count = kSize) {
        return each([&](int i) { return i < count ? b[i] : a[i]; });
    }
    // Of b where the mask's bits are set.
    static Vectorized blendv(const Vectorized& a, const Vectorized& b, const Vectorized& mask) {
        return each([&](int i) { return mask.bits(i) != 0 ? b[i] : a[i]; });
    }
    template <int64_t mask>
    static Vectorized blend(const Vectorized& a, const Vectorized& b) {
        return each([&](int i) { return (mask >> i) & 1 ? b[i] : a[i]; });
    }

    const T& operator[](int i) const { return values_[i]; }
    T& operator[](int i) { return values_[i]; }
    operator const T*() const { return values_; }
    int_same_size_t<T> bits(int i) const {
        int_same_size_t<T> b;
        std::memcpy(&b, &values_[i], sizeof(T));
        return b;
    }
    static T of_bits(int_same_size_t<T> b) {
        T v;
        std::memcpy(static_cast<void*>(&v), &b, sizeof(T));
        return v;
    }
    // Bit i is set where element i is zero.
    int zero_mask() const {
        int m = 0;
        for (int i = 0; i < kSize; i++) m |= (values_[i] == T(0)) << i;
        return m;
    }
    bool has_inf_nan() const {
        for (const T& v : values_)
            if (!std::isfinite(static_cast<double>(v))) return true;
        return false;
    }

    template <class F>
    Vectorized map(F f) const {
        return each([&](int i) { return static_cast<T>(f(values_[i])); });
    }
    template <class F>
    Vectorized map(const Vectorized& o, F f) const {
        return each([&](int i) { return static_cast<T>(f(values_[i], o[i])); });
    }
    Vectorized abs() const {
        return map([](T v) { return std::is_unsigned<T>::value ? v : v < T(0) ? static_cast<T>(-v) : v; });
    }
    Vectorized neg() const {
        return map([](T v) { return -v; });
    }
    Vectorized reciprocal() const {
        return map([](T v) { return T(1) / v; });
    }
    Vectorized rsqrt() const {
        return map([](T v) { return T(1) / std::sqrt(v); });
    }
    Vectorized frac() const {
        return map([](T v) { return v - std::trunc(v); });
    }
    // To the even one of two equally near.
    Vectorized round() const {
        return map([](T v) { return std::nearbyint(v); });
    }
    Vectorized isnan() const {
        return map([](T v) { return of_bits(v != v ? -1 : 0); });
    }
    Vectorized exp_u20() const { return exp(); }
    Vectorized fexp_u20() const { return exp(); }
    Vectorized real() const { return *this; }
    Vectorized imag() const { return Vectorized(T(0)); }
    Vectorized conj() const { return *this; }
#define MINDTORCH_VEC_MATH(name)                      \
    Vectorized name() const {                         \
        return map([](T v) { return std::name(v); }); \
    }
    MINDTORCH_VEC_MATH(sqrt)
    MINDTORCH_VEC_MATH(exp)
    MINDTORCH_VEC_MATH(exp2)
    MINDTORCH_VEC_MATH(expm1)
    MINDTORCH_VEC_MATH(log)
    MINDTORCH_VEC_MATH(log2)
    MINDTORCH_VEC_MATH(log10)
    MINDTORCH_VEC_MATH(log1p)
    MINDTORCH_VEC_MATH(sin)
    MINDTORCH_VEC_MATH(cos)
    MINDTORCH_VEC_MATH(tan)
    MINDTORCH_VEC_MATH(sinh)
    MINDTORCH_VEC_MATH(cosh)
    MINDTORCH_VEC_MATH(tanh)
    MINDTORCH_VEC_MATH(asin)
    MINDTORCH_VEC_MATH(acos)
    MINDTORCH_VEC_MATH(atan)
    MINDTORCH_VEC_MATH(asinh)
    MINDTORCH_VEC_MATH(acosh)
    MINDTORCH_VEC_MATH(atanh)
    MINDTORCH_VEC_MATH(erf)
    MINDTORCH_VEC_MATH(erfc)
    MINDTORCH_VEC_MATH(lgamma)
    MINDTORCH_VEC_MATH(floor)
    MINDTORCH_VEC_MATH(ceil)
    MINDTORCH_VEC_MATH(trunc)
#undef MINDTORCH_VEC_MATH
#define MINDTORCH_VEC_MATH(name)                                 \
    Vectorized name(const Vectorized& o) const {                 \
        return map(o, [](T a, T b) { return std::name(a, b); }); \
    }
    MINDTORCH_VEC_MATH(pow)
    MINDTORCH_VEC_MATH(fmod)
    MINDTORCH_VEC_MATH(hypot)
    MINDTORCH_VEC_MATH(atan2)
    MINDTORCH_VEC_MATH(copysign)
    MINDTORCH_VEC_MATH(nextafter)
#undef MINDTORCH_VEC_MATH
    // Signs compare to masks of all bits; names to ones and zeros.
#define MINDTORCH_VEC_COMPARE(sign, name)                                           \
    Vectorized operator sign(const Vectorized& o) const {                           \
        return each([&](int i) { return of_bits(values_[i] sign o[i] ? -1 : 0); }); \
    }                                                                               \
    Vectorized name(const Vectorized& o) const {                                    \
        return each([&](int i) { return values_[i] sign o[i] ? T(1) : T(0); });     \
    }
    MINDTORCH_VEC_COMPARE(==, eq)
    MINDTORCH_VEC_COMPARE(!=, ne)
    MINDTORCH_VEC_COMPARE(<, lt)
    MINDTORCH_VEC_COMPARE(<=, le)
    MINDTORCH_VEC_COMPARE(>, gt)
    MINDTORCH_VEC_COMPARE(>=, ge)
#undef MINDTORCH_VEC_COMPARE

  private:
    T values_[kSize];
};

#define MINDTORCH_VEC_SIGN(sign)                                                           \
    template <class T>                                                                     \
    Vectorized<T> operator sign(const Vectorized<T>& a, const Vectorized<T>& b) {          \
        return Vectorized<T>::each([&](int i) { return static_cast<T>(a[i] sign b[i]); }); \
    }                                                                                      \
    template <class T>                                                                     \
    Vectorized<T>& operator sign##=(Vectorized<T>& a, const Vectorized<T>& b) {            \
        return a = a sign b;                                                               \
    }
MINDTORCH_VEC_SIGN(+)
MINDTORCH_VEC_SIGN(-)
MINDTORCH_VEC_SIGN(*)
MINDTORCH_VEC_SIGN(/)
MINDTORCH_VEC_SIGN(%)
MINDTORCH_VEC_SIGN(<<)
MINDTORCH_VEC_SIGN(>>)
#undef MINDTORCH_VEC_SIGN
#define MINDTORCH_VEC_BITS(sign)                                                                                       \
    template <class T>                                                                                                 \
    Vectorized<T> operator sign(const Vectorized<T>& a, const Vectorized<T>& b) {                                      \
        return Vectorized<T>::each(                                                                                    \
            [&](int i) { return Vectorized<T>::of_bits(static_cast<int_same_size_t<T>>(a.bits(i) sign b.bits(i))); }); \
    }
MINDTORCH_VEC_BITS(&)
MINDTORCH_VEC_BITS(|)
MINDTORCH_VEC_BITS(^)
#undef MINDTORCH_VEC_BITS
template <class T>
Vectorized<T> operator~(const Vectorized<T>& a) {
    return Vectorized<T>::each(
        [&](int i) { return Vectorized<T>::of_bits(static_cast<int_same_size_t<T>>(~a.bits(i))); });
}
template <class T>
Vectorized<T> operator-(const Vectorized<T>& a) {
    return a.neg();
}

// NaN of either where one is NaN.
template <class T>
Vectorized<T> maximum(const Vectorized<T>& a, const Vectorized<T>& b) {
    return a.map(b, [](T x, T y) { return x != x ? x : y != y ? y : x > y ? x : y; });
}
template <class T>
Vectorized<T> minimum(const Vectorized<T>& a, const Vectorized<T>& b) {
    return a.map(b, [](T x, T y) { return x != x ? x : y != y ? y : x < y ? x : y; });
}
template <class T>
Vectorized<T> clamp_min(const Vectorized<T>& a, const Vectorized<T>& low) {
    return a.map(low, [](T v, T l) { return v < l ? l : v; });
}
template <class T>
Vectorized<T> clamp_max(const Vectorized<T>& a, const Vectorized<T>& high) {
    return a.map(high, [](T v, T h) { return v > h ? h : v; });
}
template <class T>
Vectorized<T> clamp(const Vectorized<T>& a, const Vectorized<T>& low, const Vectorized<T>& high) {
    return clamp_max(clamp_min(a, low), high);
}
template <class T>
Vectorized<T> fmadd(const Vectorized<T>& a, const Vectorized<T>& b, const Vectorized<T>& c) {
    return a * b + c;
}
template <class T>
Vectorized<T> fmsub(const Vectorized<T>& a, const Vectorized<T>& b, const Vectorized<T>& c) {
    return a * b - c;
}
template <class To, class From>
Vectorized<To> cast(const Vectorized<From>& a) {  // the same bits
    return Vectorized<To>::loadu(static_cast<const From*>(a));
}
template <class T>
Vectorized<int_same_size_t<T>> convert_to_int_of_same_size(const Vectorized<T>& a) {
    using Int = int_same_size_t<T>;
    return Vectorized<Int>::each([&](int i) { return static_cast<Int>(a[i]); });
}
template <class T>
std::pair<Vectorized<T>, Vectorized<T>> interleave2(const Vectorized<T>& a, const Vectorized<T>& b) {
    constexpr int half = Vectorized<T>::size() / 2;
    return {Vectorized<T>::each([&](int i) { return (i % 2 ? b : a)[i / 2]; }),
            Vectorized<T>::each([&](int i) { return (i % 2 ? b : a)[half + i / 2]; })};
}
template <class T>
std::pair<Vectorized<T>, Vectorized<T>> deinterleave2(const Vectorized<T>& a, const Vectorized<T>& b) {
    constexpr int half = Vectorized<T>::size() / 2;
    auto of = [&](int i) { return i < 2 * half ? a[i] : b[i - 2 * half]; };
    return {Vectorized<T>::each([&](int i) { return of(2 * i); }),
            Vectorized<T>::each([&](int i) { return of(2 * i + 1); })};
}
template <class T>
std::pair<Vectorized<float>, Vectorized<float>> convert_to_float(const Vectorized<T>& a) {
    constexpr int n = Vectorized<float>::size();
    return {Vectorized<float>::each([&](int i) { return static_cast<float>(a[i]); }),
            Vectorized<float>::each([&](int i) { return static_cast<float>(a[n + i]); })};
}
template <class T>
Vectorized<T> convert_from_float(const Vectorized<float>& a, const Vectorized<float>& b) {
    constexpr int n = Vectorized<float>::size();
    return Vectorized<T>::each([&](int i) { return static_cast<T>(i < n ? a[i] : b[i - n]); });
}
// As many as both hold, from the first on; what more the result holds is zero.
template <class To, class From>
Vectorized<To> convert(const Vectorized<From>& a) {
    return Vectorized<To>::each([&](int i) { return i < Vectorized<From>::size() ? static_cast<To>(a[i]) : To(0); });
}
template <class From, class To>
void convert(const From* from, To* to, int64_t n) {
    for (int64_t i = 0; i < n; i++) to[i] = static_cast<To>(from[i]);
}

// ---- whole arrays. Functions of 16-bit floats are given vectors of float. ----
template <class T>
using vec_scalar_t = std::conditional_t<is_reduced_floating_point_v<T>, float, T>;
template <class T>
struct Widened {
    using type = vec_scalar_t<T>;
    using Vec = Vectorized<type>;
    static Vec load(const T* p, int64_t n) {
        return Vec::each([&](int i) { return i < n ? static_cast<type>(p[i]) : type(0); });
    }
    static void store(T* p, const Vec& v, int64_t n) {
        for (int i = 0; i < n; i++) p[i] = static_cast<T>(v[i]);
    }
    static int64_t step(int64_t left) { return std::min<int64_t>(left, Vec::size()); }
};
template <class T, class F>
void map(const F& f, T* out, const T* in, int64_t size) {
    using W = Widened<T>;
    for (int64_t i = 0, n; i < size; i += n) {
        n = W::step(size - i);
        W::store(out + i, f(W::load(in + i, n)), n);
    }
}
// Narrowed as it is stored.
template <class T, class F, std::enable_if_t<is_reduced_floating_point_v<T>, int> = 0>
void map(const F& f, T* out, const float* in, int64_t size) {
    for (int64_t i = 0, n; i < size; i += n) {
        n = Widened<float>::step(size - i);
        Widened<T>::store(out + i, f(Widened<float>::load(in + i, n)), n);
    }
}
template <class T, class F>
void map2(const F& f, T* out, const T* a, const T* b, int64_t size) {
    using W = Widened<T>;
    for (int64_t i = 0, n; i < size; i += n) {
        n = W::step(size - i);
        W::store(out + i, f(W::load(a + i, n), W::load(b + i, n)), n);
    }
}
template <class T, class F>
void map3(const F& f, T* out, const T* a, const T* b, const T* c, int64_t size) {
    using W = Widened<T>;
    for (int64_t i = 0, n; i < size; i += n) {
        n = W::step(size - i);
        W::store(out + i, f(W::load(a + i, n), W::load(b + i, n), W::load(c + i, n)), n);
    }
}
template <class T, class F>
void map4(const F& f, T* out, const T* a, const T* b, const T* c, const T* d, int64_t size) {
    using W = Widened<T>;
    for (int64_t i = 0, n; i < size; i += n) {
        n = W::step(size - i);
        W::store(out + i, f(W::load(a + i, n), W::load(b + i, n), W::load(c + i, n), W::load(d + i, n)), n);
    }
}
// One value of all elements of a vector.
template <class T, class F>
T vec_reduce_all(const F& f, const Vectorized<T>& v, int64_t size = Vectorized<T>::size()) {
    Vectorized<T> all(v[0]);
    for (int64_t i = 1; i < size; i++) {
        Vectorized<T> next(v[static_cast<int>(i)]);
        all = f(all, next);
    }
    return all[0];
}
// f of all that `make(first, count)` gives, which may be shorter vectors.
template <class T, class F, class Make>
vec_scalar_t<T> reduce_made(const F& f, int64_t size, const Make& make) {
    using W = Widened<T>;
    using Vec = typename W::Vec;
    int64_t n = W::step(size);
    Vec all = make(0, n);
    const int64_t first = n;
    for (int64_t i = n; i < size; i += n) {
        n = W::step(size - i);
        Vec next = make(i, n);
        all = Vec::set(all, f(all, next), n);
    }
    return vec_reduce_all<vec_scalar_t<T>>(f, all, first);
}
template <class T, class F>
vec_scalar_t<T> reduce_all(const F& f, const T* data, int64_t size) {
    return reduce_made<T>(f, size, [&](int64_t i, int64_t n) { return Widened<T>::load(data + i, n); });
}
template <class T, class Map, class F>
vec_scalar_t<T> map_reduce_all(const Map& map, const F& f, const T* data, int64_t size) {
    return reduce_made<T>(f, size, [&](int64_t i, int64_t n) { return map(Widened<T>::load(data + i, n)); });
}
template <class T, class Map, class F>
vec_scalar_t<T> map2_reduce_all(const Map& map, const F& f, const T* a, const T* b, int64_t size) {
    return reduce_made<T>(
        f, size, [&](int64_t i, int64_t n) { return map(Widened<T>::load(a + i, n), Widened<T>::load(b + i, n)); });
}
template <class T, class Map, class F>
vec_scalar_t<T> map3_reduce_all(const Map& map, const F& f, const T* a, const T* b, const T* c, int64_t size) {
    return reduce_made<T>(f, size, [&](int64_t i, int64_t n) {
        return map(Widened<T>::load(a + i, n), Widened<T>::load(b + i, n), Widened<T>::load(c + i, n));
    });
}

}  // namespace vec
}  // namespace at
