// Bessel functions, the Airy function, and orthogonal polynomials. Worked out in double for either dtype.
#include <cmath>
#include <limits>

#include "pointwise.h"
#include "vec_special.h"

namespace mt {
namespace {

constexpr double kPi = 3.14159265358979323846, kInf = std::numeric_limits<double>::infinity(),
                 kNaN = std::numeric_limits<double>::quiet_NaN();

// ---- Bessel functions ----

double bessel_j0(double x) { return std::isinf(x) ? kNaN : ::j0(x); }
double bessel_j1(double x) { return std::isinf(x) ? kNaN : ::j1(x); }
double bessel_y0(double x) { return x == 0 ? -kInf : x < 0 || std::isinf(x) ? kNaN : ::y0(x); }
double bessel_y1(double x) { return x == 0 ? -kInf : x < 0 || std::isinf(x) ? kNaN : ::y1(x); }
double modified_i0(double x) { return std::isinf(x) ? kNaN : vec::i0(x); }
double modified_i1(double x) { return std::isinf(x) ? kNaN : vec::i1(x); }

// exp(x) K_n(x) for large x: the asymptotic series, of which six terms suffice there.
double scaled_k_asymptotic(int n, double x) {
    double term = 1, sum = 1;
    for (int k = 1; k <= 6; k++) {
        term *= (4.0 * n * n - (2 * k - 1) * (2 * k - 1)) / (8.0 * k * x);
        sum += term;
    }
    return std::sqrt(kPi / (2 * x)) * sum;
}

double modified_k(int n, double x, bool scaled) {
    if (x == 0) return kInf;
    if (!(x > 0)) return kNaN;
    if (x > 300) return scaled_k_asymptotic(n, x) * (scaled ? 1.0 : std::exp(-x));
    const double value = std::cyl_bessel_k(static_cast<double>(n), x);
    return scaled ? value * std::exp(x) : value;
}

double spherical_j0(double x) {
    if (std::isinf(x)) return 0;
    return std::abs(x) < 1e-4 ? 1 - x * x / 6 : std::sin(x) / x;
}

// By Bessel functions of order a third.
double airy_ai(double x) {
    if (!std::isfinite(x)) return kNaN;
    if (std::abs(x) < 1e-6) return 0.35502805388781723926 - 0.25881940379280679840 * x;
    if (x > 103.892) return 0;
    const double z = 2.0 / 3 * std::pow(std::abs(x), 1.5), third = 1.0 / 3;
    if (x > 0) return std::sqrt(x / 3) / kPi * std::cyl_bessel_k(third, z);
    // J of order -1/3 is cos(pi / 3) J - sin(pi / 3) Y.
    const double j = std::cyl_bessel_j(third, z), y = std::cyl_neumann(third, z);
    return std::sqrt(-x) / 3 * (1.5 * j - std::sqrt(3.0) / 2 * y);
}

// ---- orthogonal polynomials: by their recurrences, and inside (-1, 1) by angles where the degree is high ----

enum class Chebyshev { T, U, V, W };

template <Chebyshev kind>
double at_angle(double angle, double n) {
    const double half = angle / 2;
    switch (kind) {
        case Chebyshev::T:
            return std::cos(n * angle);
        case Chebyshev::U:
            return std::sin((n + 1) * angle) / std::sin(angle);
        case Chebyshev::V:
            return std::cos((n + 0.5) * angle) / std::cos(half);
        case Chebyshev::W:
            return std::sin((n + 0.5) * angle) / std::sin(half);
    }
    return 0;
}

// The next of three terms: (a x + b) q - c p, for as long as the numbers last.
template <class Step>
double recur(int64_t n, double zeroth, double first, Step step) {
    if (n < 0) return 0;
    if (n == 0) return zeroth;
    double p = zeroth, q = first;
    for (int64_t k = 1; k < n && !std::isnan(q); k++) {
        const double next = step(k, p, q);
        p = q;
        q = next;
    }
    return q;
}

template <Chebyshev kind>
double chebyshev(double x, int64_t n) {
    const double degree = static_cast<double>(n), sign = n % 2 ? -1 : 1;
    if (n >= 0 && x == 1) return kind == Chebyshev::U ? degree + 1 : kind == Chebyshev::W ? 2 * degree + 1 : 1;
    if (n >= 0 && x == -1)
        return sign * (kind == Chebyshev::U ? degree + 1 : kind == Chebyshev::V ? 2 * degree + 1 : 1);
    if (n > (kind == Chebyshev::T ? 6 : 8) && std::abs(x) < 1) return at_angle<kind>(std::acos(x), degree);
    const double first = kind == Chebyshev::T   ? x
                         : kind == Chebyshev::U ? 2 * x
                         : kind == Chebyshev::V ? 2 * x - 1
                                                : 2 * x + 1;
    return recur(n, 1, first, [x](int64_t, double p, double q) { return 2 * x * q - p; });
}

template <Chebyshev kind>
double shifted_chebyshev(double x, int64_t n) {
    return chebyshev<kind>(2 * x - 1, n);
}

// Above these degrees PyTorch gives up on Hermite's polynomials.
double hermite_h(double x, int64_t n, int64_t limit) {
    if (n > limit) return kNaN;
    return recur(n, 1, 2 * x,
                 [x](int64_t k, double p, double q) { return 2 * x * q - 2 * static_cast<double>(k) * p; });
}
double hermite_he(double x, int64_t n, int64_t limit) {
    if (n > limit) return kNaN;
    return recur(n, 1, x, [x](int64_t k, double p, double q) { return x * q - static_cast<double>(k) * p; });
}
double laguerre(double x, int64_t n) {
    if (n >= 0 && x == 0) return 1;
    return recur(n, 1, 1 - x, [x](int64_t k, double p, double q) {
        const double d = static_cast<double>(k);
        return ((2 * d + 1 - x) * q - d * p) / (d + 1);
    });
}
double legendre(double x, int64_t n) {
    if (n >= 0 && std::abs(x) == 1) return x > 0 || n % 2 == 0 ? 1 : -1;
    return recur(n, 1, x, [x](int64_t k, double p, double q) {
        const double d = static_cast<double>(k);
        return ((2 * d + 1) * x * q - d * p) / (d + 1);
    });
}

using Reals = Types<float, double>;

template <class F>
void of_one(Out out, const Tensor& self, F f) {
    unary_float(out, Reals{}, self, [f]<class T>(T a) -> T { return static_cast<T>(f(static_cast<double>(a))); });
}

// The degree arrives as a number of the same dtype, and is cut to an integer; none is like a negative one.
int64_t degree_of(double n) { return n > -1 && n < 0x1p63 ? static_cast<int64_t>(n) : -1; }

template <class F>
void of_degree(Out out, const Input& x, const Input& n, F f) {
    pointwise_float(out, Reals{}, {x, n}, [f]<class T>(T x, T n) -> T {
        const int64_t limit = sizeof(T) == sizeof(double) ? 512 : 128;
        if constexpr (std::is_invocable_v<F, double, int64_t, int64_t>)
            return static_cast<T>(f(static_cast<double>(x), degree_of(static_cast<double>(n)), limit));
        else
            return static_cast<T>(f(static_cast<double>(x), degree_of(static_cast<double>(n))));
    });
}

#define MT_ONE(name, ...)                                        \
    void name##_cpu(Out out, const Tensor& self) {               \
        of_one(out, self, [](double x) { return __VA_ARGS__; }); \
    }
MT_ONE(airy_ai, airy_ai(x))
MT_ONE(bessel_j0, bessel_j0(x))
MT_ONE(bessel_j1, bessel_j1(x))
MT_ONE(bessel_y0, bessel_y0(x))
MT_ONE(bessel_y1, bessel_y1(x))
MT_ONE(modified_bessel_i0, modified_i0(x))
MT_ONE(modified_bessel_i1, modified_i1(x))
MT_ONE(modified_bessel_k0, modified_k(0, x, false))
MT_ONE(modified_bessel_k1, modified_k(1, x, false))
MT_ONE(scaled_modified_bessel_k0, modified_k(0, x, true))
MT_ONE(scaled_modified_bessel_k1, modified_k(1, x, true))
MT_ONE(spherical_bessel_j0, spherical_j0(x))
#undef MT_ONE

#define MT_DEGREE(name, ...) \
    void name##_cpu(Out out, Input x, Input n) { of_degree(out, x, n, __VA_ARGS__); }
MT_DEGREE(chebyshev_polynomial_t, chebyshev<Chebyshev::T>)
MT_DEGREE(chebyshev_polynomial_u, chebyshev<Chebyshev::U>)
MT_DEGREE(chebyshev_polynomial_v, chebyshev<Chebyshev::V>)
MT_DEGREE(chebyshev_polynomial_w, chebyshev<Chebyshev::W>)
MT_DEGREE(shifted_chebyshev_polynomial_t, shifted_chebyshev<Chebyshev::T>)
MT_DEGREE(shifted_chebyshev_polynomial_u, shifted_chebyshev<Chebyshev::U>)
MT_DEGREE(shifted_chebyshev_polynomial_v, shifted_chebyshev<Chebyshev::V>)
MT_DEGREE(shifted_chebyshev_polynomial_w, shifted_chebyshev<Chebyshev::W>)
MT_DEGREE(hermite_polynomial_h, hermite_h)
MT_DEGREE(hermite_polynomial_he, hermite_he)
MT_DEGREE(laguerre_polynomial_l, laguerre)
MT_DEGREE(legendre_polynomial_p, legendre)
#undef MT_DEGREE

KERNELS
{
#define MT_KERNEL(name) structured<name##_cpu>("special_" #name, kInputMayAlias);
    MT_KERNEL(airy_ai)
    MT_KERNEL(bessel_j0)
    MT_KERNEL(bessel_j1)
    MT_KERNEL(bessel_y0)
    MT_KERNEL(bessel_y1)
    MT_KERNEL(modified_bessel_i0)
    MT_KERNEL(modified_bessel_i1)
    MT_KERNEL(modified_bessel_k0)
    MT_KERNEL(modified_bessel_k1)
    MT_KERNEL(scaled_modified_bessel_k0)
    MT_KERNEL(scaled_modified_bessel_k1)
    MT_KERNEL(spherical_bessel_j0)
    MT_KERNEL(chebyshev_polynomial_t)
    MT_KERNEL(chebyshev_polynomial_u)
    MT_KERNEL(chebyshev_polynomial_v)
    MT_KERNEL(chebyshev_polynomial_w)
    MT_KERNEL(shifted_chebyshev_polynomial_t)
    MT_KERNEL(shifted_chebyshev_polynomial_u)
    MT_KERNEL(shifted_chebyshev_polynomial_v)
    MT_KERNEL(shifted_chebyshev_polynomial_w)
    MT_KERNEL(hermite_polynomial_h)
    MT_KERNEL(hermite_polynomial_he)
    MT_KERNEL(laguerre_polynomial_l)
    MT_KERNEL(legendre_polynomial_p)
#undef MT_KERNEL
}

}  // namespace
}  // namespace mt
