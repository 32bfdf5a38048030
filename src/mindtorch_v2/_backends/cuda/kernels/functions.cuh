// Functions that expressions use, for each type that arithmetic is done in. What CUDA has for float and double is CUDA's.
#pragma once

// ---- numbers ----

template <class T>
DEVICE T lowest() {
    return is_integer<T>::value ? (static_cast<T>(-1) > T(0) ? T(0) : static_cast<T>(T(1) << (sizeof(T) * 8 - 1)))
                                : static_cast<T>(-INFINITY);
}
template <>
DEVICE float lowest<float>() {
    return -INFINITY;
}
template <>
DEVICE double lowest<double>() {
    return -static_cast<double>(INFINITY);
}
template <>
DEVICE bool lowest<bool>() {
    return false;
}
template <class T>
DEVICE T highest() {
    return static_cast<T>(~lowest<T>());
}
template <>
DEVICE float highest<float>() {
    return INFINITY;
}
template <>
DEVICE double highest<double>() {
    return static_cast<double>(INFINITY);
}
template <>
DEVICE bool highest<bool>() {
    return true;
}

template <class T>
DEVICE bool is_nan(T x) {
    return x != x;
}
template <class T>
DEVICE bool is_inf(T) {
    return false;
}
DEVICE bool is_inf(float x) { return x == INFINITY || x == -INFINITY; }
DEVICE bool is_inf(double x) { return x == static_cast<double>(INFINITY) || x == -static_cast<double>(INFINITY); }
template <class R>
DEVICE bool is_inf(complex<R> x) {
    return is_inf(x.re) || is_inf(x.im);
}
template <class T>
DEVICE bool is_finite(T x) {
    return !is_nan(x) && !is_inf(x);
}
DEVICE bool sign_bit(float x) { return __float_as_int(x) < 0; }
DEVICE bool sign_bit(double x) { return __double_as_longlong(x) < 0; }
template <class T>
DEVICE bool sign_bit(T x) {
    return x < T(0);
}

// The larger and the smaller one; NaN if one is NaN.
template <class T>
DEVICE T larger(T x, T y) {
    return is_nan(x) || x > y ? x : is_nan(y) ? y : y;
}
template <class T>
DEVICE T smaller(T x, T y) {
    return is_nan(x) || x < y ? x : y;
}

// ---- complex numbers ----

template <class R>
DEVICE R abs(complex<R> z) {
    return hypot(z.re, z.im);
}
template <class R>
DEVICE complex<R> conj(complex<R> z) {
    return complex<R>(z.re, -z.im);
}
template <class T>
DEVICE T conj(T x) {
    return x;
}
template <class R>
DEVICE R arg(complex<R> z) {
    return atan2(z.im, z.re);
}
template <class R>
DEVICE complex<R> exp(complex<R> z) {
    R size = exp(z.re);
    return z.im == 0 ? complex<R>(size, z.im) : complex<R>(size * cos(z.im), size * sin(z.im));
}
template <class R>
DEVICE complex<R> log(complex<R> z) {
    return complex<R>(log(hypot(z.re, z.im)), atan2(z.im, z.re));
}
template <class R>
DEVICE complex<R> sqrt(complex<R> z) {
    R size = hypot(z.re, z.im);
    if (size == 0) return complex<R>(0, z.im);
    R half = sqrt((size + fabs(z.re)) / 2);
    R other = fabs(z.im) / (2 * half);
    return z.re >= 0 ? complex<R>(half, z.im < 0 ? -other : other) : complex<R>(other, z.im < 0 ? -half : half);
}
template <class R>
DEVICE complex<R> sinh(complex<R> z) {
    return complex<R>(sinh(z.re) * cos(z.im), cosh(z.re) * sin(z.im));
}
template <class R>
DEVICE complex<R> cosh(complex<R> z) {
    return complex<R>(cosh(z.re) * cos(z.im), sinh(z.re) * sin(z.im));
}
template <class R>
DEVICE complex<R> tanh(complex<R> z) {
    if (fabs(z.re) > 20) return complex<R>(z.re > 0 ? 1 : -1, 0);
    R d = cosh(2 * z.re) + cos(2 * z.im);
    return complex<R>(sinh(2 * z.re) / d, sin(2 * z.im) / d);
}
template <class R>
DEVICE complex<R> times_i(complex<R> z) {
    return complex<R>(-z.im, z.re);
}
template <class R>
DEVICE complex<R> sin(complex<R> z) {
    return complex<R>(sin(z.re) * cosh(z.im), cos(z.re) * sinh(z.im));
}
template <class R>
DEVICE complex<R> cos(complex<R> z) {
    return complex<R>(cos(z.re) * cosh(z.im), -sin(z.re) * sinh(z.im));
}
template <class R>
DEVICE complex<R> tan(complex<R> z) {
    complex<R> w = tanh(times_i(z));
    return complex<R>(w.im, -w.re);
}
template <class R>
DEVICE complex<R> asinh(complex<R> z) {
    return log(z + sqrt(z * z + complex<R>(1)));
}
template <class R>
DEVICE complex<R> acosh(complex<R> z) {
    return log(z + sqrt(z + complex<R>(1)) * sqrt(z - complex<R>(1)));
}
template <class R>
DEVICE complex<R> atanh(complex<R> z) {
    return (log(complex<R>(1) + z) - log(complex<R>(1) - z)) * complex<R>(R(0.5));
}
template <class R>
DEVICE complex<R> asin(complex<R> z) {
    complex<R> w = asinh(times_i(z));
    return complex<R>(w.im, -w.re);
}
template <class R>
DEVICE complex<R> acos(complex<R> z) {
    complex<R> w = asin(z);
    return complex<R>(R(1.57079632679489661923) - w.re, -w.im);
}
template <class R>
DEVICE complex<R> atan(complex<R> z) {
    complex<R> w = atanh(times_i(z));
    return complex<R>(w.im, -w.re);
}
template <class R>
DEVICE complex<R> log1p(complex<R> z) {
    return log(complex<R>(1) + z);
}
template <class R>
DEVICE complex<R> expm1(complex<R> z) {
    R s = sin(z.im / 2), e = expm1(z.re);
    return complex<R>(e * cos(z.im) - 2 * s * s, (e + 1) * sin(z.im));
}
template <class R>
DEVICE complex<R> log2(complex<R> z) {
    return log(z) * complex<R>(R(1.44269504088896340736));
}
template <class R>
DEVICE complex<R> log10(complex<R> z) {
    return log(z) * complex<R>(R(0.43429448190325182765));
}
template <class R>
DEVICE complex<R> exp2(complex<R> z) {
    return exp(z * complex<R>(R(0.69314718055994530942)));
}
template <class R>
DEVICE complex<R> pow(complex<R> z, complex<R> w) {
    if (w == complex<R>(0)) return complex<R>(1);
    if (z == complex<R>(0)) return w.re > 0 ? complex<R>(0) : complex<R>(NAN, NAN);
    return exp(w * log(z));
}

// ---- integers ----

template <class T>
DEVICE T magnitude(T x) {
    return x < T(0) ? static_cast<T>(-x) : x;
}
DEVICE float magnitude(float x) { return fabsf(x); }
DEVICE double magnitude(double x) { return fabs(x); }
DEVICE bool magnitude(bool x) { return x; }
template <class R>
DEVICE R magnitude(complex<R> z) {
    return hypot(z.re, z.im);
}

template <class T>
DEVICE T power(T x, T n) {  // as integers do: what is between 0 and 1 is 0
    if (n < T(0)) return x == T(1) ? T(1) : x == static_cast<T>(-1) ? (n % T(2) ? static_cast<T>(-1) : T(1)) : T(0);
    T r = T(1);
    while (n > T(0)) {
        if (n % T(2)) r = static_cast<T>(r * x);
        n = static_cast<T>(n / T(2));
        if (n) x = static_cast<T>(x * x);
    }
    return r;
}
DEVICE bool power(bool x, bool n) { return x || !n; }
DEVICE float power(float x, float n) { return n == 2 ? x * x : n == 0.5f ? sqrt(x) : n == 1 ? x : n == 3 ? x * x * x : pow(x, n); }
DEVICE double power(double x, double n) { return n == 2 ? x * x : n == 0.5 ? sqrt(x) : n == 1 ? x : pow(x, n); }
template <class R>
DEVICE complex<R> power(complex<R> x, complex<R> n) {
    return n == complex<R>(2) ? x * x : pow(x, n);
}

// Towards negative infinity, the remainder with the divisor's sign. An integer's division by zero is all bits.
template <class T>
DEVICE T floor_quotient(T x, T y) {
    if (y == T(0)) return static_cast<T>(-1);
    T q = static_cast<T>(x / y);
    return x % y != T(0) && (x < T(0)) != (y < T(0)) ? static_cast<T>(q - 1) : q;
}
template <class F>
DEVICE F floor_real(F x, F y) {
    if (y == 0) return x / y;
    F m = fmod(x, y);
    F q = (x - m) / y;
    if (m != 0 && (y < 0) != (m < 0)) q -= 1;
    if (q == 0) return copysign(F(0), x / y);
    F whole = floor(q);
    return q - whole > F(0.5) ? whole + 1 : whole;
}
DEVICE float floor_quotient(float x, float y) { return floor_real(x, y); }
DEVICE double floor_quotient(double x, double y) { return floor_real(x, y); }
template <class T>
DEVICE T trunc_quotient(T x, T y) {
    return y == T(0) ? static_cast<T>(-1) : static_cast<T>(x / y);
}
DEVICE float trunc_quotient(float x, float y) { return trunc(x / y); }
DEVICE double trunc_quotient(double x, double y) { return trunc(x / y); }
template <class T>
DEVICE T remainder_of(T x, T y) {
    if (y == T(0)) return x;
    T m = static_cast<T>(x % y);
    return m != T(0) && (m < T(0)) != (y < T(0)) ? static_cast<T>(m + y) : m;
}
DEVICE float remainder_of(float x, float y) {
    float m = fmod(x, y);
    return m != 0 && (y < 0) != (m < 0) ? m + y : m;
}
DEVICE double remainder_of(double x, double y) {
    double m = fmod(x, y);
    return m != 0 && (y < 0) != (m < 0) ? m + y : m;
}
template <class T>
DEVICE T mod_of(T x, T y) {
    return y == T(0) ? x : static_cast<T>(x % y);
}
DEVICE float mod_of(float x, float y) { return fmod(x, y); }
DEVICE double mod_of(double x, double y) { return fmod(x, y); }

template <class T>
DEVICE T greatest_divisor(T x, T y) {
    x = magnitude(x);
    y = magnitude(y);
    while (x != T(0)) {
        T r = static_cast<T>(y % x);
        y = x;
        x = r;
    }
    return y;
}
template <class T>
DEVICE T least_multiple(T x, T y) {
    T g = greatest_divisor(x, y);
    return g == T(0) ? T(0) : magnitude(static_cast<T>(x / g * y));
}
template <class T>
DEVICE T shift_left(T x, T n) {
    return n < T(0) || n >= static_cast<T>(sizeof(T) * 8) ? T(0) : static_cast<T>(static_cast<uint64_t>(x) << n);
}
template <class T>
DEVICE T shift_right(T x, T n) {
    return n < T(0) || n >= static_cast<T>(sizeof(T) * 8) ? (x < T(0) ? static_cast<T>(-1) : T(0)) : static_cast<T>(x >> n);
}

template <class T>
DEVICE T sign_of(T x) {
    return static_cast<T>((T(0) < x) - (x < T(0)));
}
DEVICE float sign_of(float x) { return x > 0 ? 1.0f : x < 0 ? -1.0f : x == 0 ? 0.0f : NAN; }
DEVICE double sign_of(double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x == 0 ? 0.0 : static_cast<double>(NAN); }
template <class R>
DEVICE complex<R> sign_of(complex<R> z) {
    R size = abs(z);
    return size == 0 ? complex<R>(0) : complex<R>(z.re / size, z.im / size);
}

// ---- activations and special functions ----

template <class T>
DEVICE T sigmoid(T x) {
    return T(1) / (T(1) + exp(-x));
}
template <class T>
DEVICE T normal_below(T x) {  // of a standard normal variable
    return T(0.5) * erfc(-x * T(0.70710678118654752440));
}
template <class T>
DEVICE T softplus_of(T x, T beta, T threshold) {
    return x * beta > threshold ? x : log1p(exp(x * beta)) / beta;
}
template <class T>
DEVICE T digamma_of(T x) {
    if (x == 0) return copysign(T(INFINITY), -x);
    T r = 0;
    double y = x;
    if (y < 0) {
        if (y == floor(y)) return T(NAN);
        double whole = y - floor(y);
        r = static_cast<T>(-3.14159265358979323846 / tan(3.14159265358979323846 * whole));
        y = 1 - y;
    }
    double sum = 0;
    while (y < 10) sum -= 1 / y, y += 1;
    if (y == 10) return static_cast<T>(r + sum + 2.25175258906672110764);
    double z = 1 / (y * y);
    double series = z * (8.33333333333333333333e-2 + z * (-8.33333333333333333333e-3 + z * (3.96825396825396825397e-3 +
        z * (-4.16666666666666666667e-3 + z * (7.57575757575757575758e-3 + z * (-2.10927960927960927961e-2 +
        z * 8.33333333333333333333e-2))))));
    return static_cast<T>(r + sum + log(y) - 0.5 / y - (y < 1e17 ? series : 0));
}

// ---- what a few operators need ----

template <class T, class F>
DEVICE T whole_or(T x, F round) {  // integers are whole
    return x;
}
template <class F>
DEVICE float whole_or(float x, F round) {
    return round(x);
}
template <class F>
DEVICE double whole_or(double x, F round) {
    return round(x);
}
template <class T>
DEVICE T inverted(T x) {
    return static_cast<T>(~x);
}
DEVICE bool inverted(bool x) { return !x; }
DEVICE float largest_of(f16&) { return 65504.0f; }
DEVICE float largest_of(float&) { return 3.402823466e+38f; }
DEVICE double largest_of(double&) { return 1.7976931348623157e+308; }
template <class T>
DEVICE T largest_of(T&) {
    return highest<T>();
}
template <class T>
DEVICE T log_of_sum(T x, T y) {
    return is_inf(x) && x == y ? x : larger(x, y) + log1p(exp(-fabs(x - y)));
}
template <class R>
DEVICE complex<R> log_of_sum(complex<R> x, complex<R> y) {
    return x.re >= y.re ? x + log1p(exp(y - x)) : y + log1p(exp(x - y));
}
template <class T>
DEVICE T sinc_of(T x) {
    const T y = x * T(3.14159265358979323846);
    return x == T(0) ? T(1) : sin(y) / y;
}
template <class T>
DEVICE float angle_of(T x) {
    return x < T(0) ? 3.14159265358979323846f : 0.0f;
}
DEVICE float angle_of(float x) { return is_nan(x) ? x : x < 0 ? 3.14159265358979323846f : 0.0f; }
DEVICE double angle_of(double x) { return is_nan(x) ? x : x < 0 ? 3.14159265358979323846 : 0.0; }
template <class R>
DEVICE R angle_of(complex<R> z) {
    return arg(z);
}

// ---- orthogonal polynomials, in double ----

// The degree arrives as a number and is cut to an integer; none is like a negative one, whose polynomial is 0.
DEVICE int64_t degree_of(double n) { return n > -1 && n < 9.2e18 ? static_cast<int64_t>(n) : -1; }

template <class Step>
DEVICE double recurred(int64_t n, double zeroth, double first, Step step) {
    if (n <= 0) return n < 0 ? 0.0 : zeroth;
    double p = zeroth, q = first;
    for (int64_t k = 1; k < n && !is_nan(q); k++) {
        const double next = step(static_cast<double>(k), p, q);
        p = q;
        q = next;
    }
    return q;
}
// The four kinds are T, U, V and W. Inside of (-1, 1) those of a high degree are trigonometric functions.
template <char KIND>
DEVICE double chebyshev(double x, double given) {
    const int64_t n = degree_of(given);
    const double d = static_cast<double>(n), sign = n % 2 ? -1 : 1;
    if (n >= 0 && x == 1) return KIND == 'U' ? d + 1 : KIND == 'W' ? 2 * d + 1 : 1;
    if (n >= 0 && x == -1) return sign * (KIND == 'U' ? d + 1 : KIND == 'V' ? 2 * d + 1 : 1);
    if (n > (KIND == 'T' ? 6 : 8) && fabs(x) < 1) {
        const double angle = acos(x), half = angle / 2;
        return KIND == 'T'   ? cos(d * angle)
               : KIND == 'U' ? sin((d + 1) * angle) / sin(angle)
               : KIND == 'V' ? cos((d + 0.5) * angle) / cos(half)
                             : sin((d + 0.5) * angle) / sin(half);
    }
    const double first = KIND == 'T' ? x : KIND == 'U' ? 2 * x : KIND == 'V' ? 2 * x - 1 : 2 * x + 1;
    return recurred(n, 1, first, [x](double, double p, double q) { return 2 * x * q - p; });
}
template <char KIND>
DEVICE double shifted_chebyshev(double x, double n) {
    return chebyshev<KIND>(2 * x - 1, n);
}
// Above a degree, 128 in float and 512 in double, there are no numbers.
template <bool PHYSICISTS>
DEVICE double hermite(double x, double given, int64_t limit) {
    const int64_t n = degree_of(given);
    if (n > limit) return NAN;
    const double twice = PHYSICISTS ? 2 : 1;
    return recurred(n, 1, twice * x, [=](double k, double p, double q) { return twice * (x * q - k * p); });
}
DEVICE double laguerre(double x, double given) {
    const int64_t n = degree_of(given);
    if (n >= 0 && x == 0) return 1;
    return recurred(n, 1, 1 - x, [x](double k, double p, double q) { return ((2 * k + 1 - x) * q - k * p) / (k + 1); });
}
DEVICE double legendre(double x, double given) {
    const int64_t n = degree_of(given);
    if (n >= 0 && fabs(x) == 1) return x > 0 || n % 2 == 0 ? 1 : -1;
    return recurred(n, 1, x, [x](double k, double p, double q) { return ((2 * k + 1) * x * q - k * p) / (k + 1); });
}

#include "airy.cuh"
#include "slopes.cuh"
#include "special.cuh"
