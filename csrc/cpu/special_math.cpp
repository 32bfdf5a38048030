// Special functions of one and two doubles.
#include "special_math.h"

#include <cstdint>

#include "vecmath.h"

namespace mt::special {

// Sum of the first terms, then Euler and Maclaurin's formula.
double zeta(double s, double q) {
    if (s == 1) return kInf;
    if (s < 1) return kNan;
    if (q <= 0) {
        if (q == std::floor(q)) return kInf;
        if (s != std::floor(s)) return kNan;
    }
    double sum = std::pow(q, -s), a = q;
    for (int i = 0; i < 9 || a <= 9; i++) {
        a += 1;
        double term = std::pow(a, -s);
        sum += term;
        if (std::fabs(term) < 1e-17 * std::fabs(sum)) return sum;
    }
    double term = std::pow(a, -s);
    sum += term * a / (s - 1) - 0.5 * term;
    // B_2k / (2k)!
    constexpr double kBernoulli[] = {1.0 / 12,
                                     -1.0 / 720,
                                     1.0 / 30240,
                                     -1.0 / 1209600,
                                     1.0 / 47900160,
                                     -691.0 / 1307674368000.0,
                                     1.0 / 74724249600.0,
                                     -3617.0 / 10670622842880000.0,
                                     43867.0 / 5109094217170944000.0};
    double rising = s, power = term / a;
    for (int k = 0; k < 9; k++) {
        double t = kBernoulli[k] * rising * power;
        sum += t;
        if (std::fabs(t) < 1e-17 * std::fabs(sum)) break;
        rising *= (s + 2 * k + 1) * (s + 2 * k + 2);
        power /= a * a;
    }
    return sum;
}

double polygamma(int64_t n, double x) {
    const double sign = n % 2 ? 1 : -1, order = static_cast<double>(n);
    return sign * std::exp(std::lgamma(order + 1)) * zeta(order + 1, x);
}

template <size_t N>
static double polynomial(const double (&c)[N], double x) {
    double sum = c[N - 1];
    for (size_t i = N - 1; i > 0; i--) sum = vec::fma(sum, x, c[i - 1]);
    return sum;
}

// The normal distribution's quantile of 1/2 + q by three rational functions (Wichura, Applied Statistics algorithm
// 241); `tail` is 1/2 - |q|, which the caller knows better than this difference tells.
static double normal_quantile(double q, double tail) {
    static constexpr double kMiddle[2][8] = {
        {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
         4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3},
        {1, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4,
         3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3}};
    static constexpr double kOuter[2][8] = {
        {1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
         1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4},
        {1, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1, 1.48103976427480074590e-1,
         1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9}};
    static constexpr double kFar[2][8] = {
        {6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
         2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7},
        {1, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2, 7.86869131145613259100e-4,
         1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15}};
    if (std::fabs(q) <= 0.425) {
        double r = 0.180625 - q * q;
        return q * polynomial(kMiddle[0], r) / polynomial(kMiddle[1], r);
    }
    double r = std::sqrt(-std::log(tail));
    double x = r <= 5 ? polynomial(kOuter[0], r - 1.6) / polynomial(kOuter[1], r - 1.6)
                      : polynomial(kFar[0], r - 5) / polynomial(kFar[1], r - 5);
    return std::copysign(x, q);
}

double erfinv(double y) {
    if (!(std::fabs(y) <= 1)) return kNan;
    if (std::fabs(y) == 1) return std::copysign(kInf, y);
    return 0.70710678118654752440 * normal_quantile(y / 2, (1 - std::fabs(y)) / 2);
}

double ndtri(double p) {
    if (!(p >= 0 && p <= 1)) return kNan;
    if (p == 0 || p == 1) return p ? kInf : -kInf;
    return normal_quantile(p - 0.5, p < 0.5 ? p : 1 - p);
}

namespace {

double gamma_front(double a, double x) { return std::exp(a * std::log(x) - x - std::lgamma(a)); }

double lower_series(double a, double x) {
    double term = 1 / a, sum = term;
    for (int k = 1; k < 10000; k++) {
        term *= x / (a + k);
        sum += term;
        if (term < 1e-17 * sum) break;
    }
    return sum * gamma_front(a, x);
}

// Lentz's evaluation of the continued fraction of the upper function.
double upper_fraction(double a, double x) {
    constexpr double kTiny = 1e-300;
    double b = x + 1 - a, c = 1 / kTiny, d = 1 / b, h = d;
    for (int i = 1; i < 10000; i++) {
        double an = -i * (i - a);
        b += 2;
        d = an * d + b;
        if (std::fabs(d) < kTiny) d = kTiny;
        c = b + an / c;
        if (std::fabs(c) < kTiny) c = kTiny;
        d = 1 / d;
        double step = d * c;
        h *= step;
        if (std::fabs(step - 1) < 1e-16) break;
    }
    return gamma_front(a, x) * h;
}

}  // namespace

double igamma(double a, double x) {
    if (a != a || x != x || a < 0 || x < 0) return kNan;
    if (a == 0) return x > 0 ? 1 : kNan;
    if (x == 0) return 0;
    if (std::isinf(a)) return std::isinf(x) ? kNan : 0;
    if (std::isinf(x)) return 1;
    return x < a + 1 ? lower_series(a, x) : 1 - upper_fraction(a, x);
}

double igammac(double a, double x) {
    if (a != a || x != x || a < 0 || x < 0) return kNan;
    if (a == 0) return x > 0 ? 0 : kNan;
    if (x == 0) return 1;
    if (std::isinf(a)) return std::isinf(x) ? kNan : 1;
    if (std::isinf(x)) return 0;
    return x < a + 1 ? 1 - lower_series(a, x) : upper_fraction(a, x);
}

}  // namespace mt::special
