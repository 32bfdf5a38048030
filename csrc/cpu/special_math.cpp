// Special functions of one and two doubles.
#include "special_math.h"

#include <cstdint>

namespace mt::special {

// Recurrence up to x >= 10, then the asymptotic series; reflection for negative x.
double digamma(double x) {
    if (x == 0) return std::copysign(kInf, -x);
    if (x < 0) {
        double whole;
        double part = std::modf(x, &whole);
        if (part == 0) return kNan;
        return digamma(1 - x) - kPi / std::tan(kPi * part);
    }
    double shift = 0;
    while (x < 10) {
        shift -= 1 / x;
        x += 1;
    }
    if (x == 10) return shift + 2.25175258906672110764;
    double z = 1 / (x * x);
    double series =
        z * (1.0 / 12 -
             z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
    return shift + std::log(x) - 0.5 / x - series;
}

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
    if (n == 0) return digamma(x);
    double sign = n % 2 ? 1 : -1;
    if (n == 1 && x < 0.5) {  // reflection: pi^2 / sin^2(pi x)
        double s = std::sin(kPi * x);
        return kPi * kPi / (s * s) - zeta(2, 1 - x);
    }
    return sign * std::exp(std::lgamma(static_cast<double>(n) + 1)) * zeta(static_cast<double>(n) + 1, x);
}

// A first guess (Winitzki), then Halley steps on erf or, near the ends, erfc.
double erfinv(double y) {
    if (y != y || y < -1 || y > 1) return kNan;
    if (y == 1) return kInf;
    if (y == -1) return -kInf;
    if (y == 0) return y;
    double a = std::fabs(y);
    double l = std::log1p(-a * a), t = 2 / (kPi * 0.147) + l / 2;
    double x = std::sqrt(std::sqrt(t * t - l / 0.147) - t);
    for (int i = 0; i < 3; i++) {
        double error = a < 0.5 ? std::erf(x) - a : (1 - a) - std::erfc(x);
        double step = error / (1.1283791670955125739 * std::exp(-x * x));
        x -= step / (1 + x * step);
    }
    return std::copysign(x, y);
}

double erfcx(double x) {
    if (x != x) return x;
    if (x < 0) return x < -26.7 ? kInf : 2 * std::exp(x * x) - erfcx(-x);
    if (x < 2) return std::exp(x * x) * std::erfc(x);
    if (x > 1e8) return 0.56418958354775628695 / x;
    // Continued fraction: 1 / (x + (1/2) / (x + 1 / (x + (3/2) / ...))).
    int terms = x < 5 ? 100 : 40;
    double f = x;
    for (int k = terms; k > 0; k--) f = x + 0.5 * k / f;
    return 0.56418958354775628695 / f;
}

double ndtri(double p) {
    if (p != p || p < 0 || p > 1) return kNan;
    if (p == 0) return -kInf;
    if (p == 1) return kInf;
    if (p > 0.5) {
        if (p < 0.75) return 1.41421356237309504880 * erfinv(2 * p - 1);
        return -ndtri(1 - p);
    }
    if (p > 0.25) return 1.41421356237309504880 * erfinv(2 * p - 1);
    // log p as a function of x is nearly quadratic in the tail: Newton on it converges from a rough guess.
    double l = std::log(p), x = -std::sqrt(-2 * l);
    double guess = x;
    if (l < -2) guess = -std::sqrt(-2 * l - std::log(-2 * l) - 1.837877066409345483 + 0.0);
    x = guess == guess ? guess : x;
    for (int i = 0; i < 8; i++) {
        double f = log_ndtr(x);
        double slope = std::exp(-0.5 * x * x - 0.91893853320467274178 - f);
        double step = (f - l) / slope;
        x -= step;
        if (std::fabs(step) < 1e-15 * std::fabs(x)) break;
    }
    return x;
}

double log_ndtr(double x) {
    if (x < -1) return std::log(erfcx(-x * 0.70710678118654752440) / 2) - x * x / 2;
    return std::log1p(-std::erfc(x * 0.70710678118654752440) / 2);
}

namespace {

// Power series for |x| < 30: all terms positive.
double bessel_series(double x, int order) {
    double q = x * x / 4, term = order ? x / 2 : 1, sum = term;
    for (int k = 1; k < 500; k++) {
        term *= q / (double(k) * (k + order));
        sum += term;
        if (term < 1e-17 * sum) break;
    }
    return sum;
}

// Asymptotic expansion of e^-x I_order(x).
double bessel_large(double x, int order) {
    double mu = 4.0 * order * order, term = 1, sum = 1;
    for (int k = 1; k < 60; k++) {
        double odd = 2 * k - 1, next = -term * (mu - odd * odd) / (k * 8 * x);
        if (std::fabs(next) > std::fabs(term)) break;
        term = next;
        sum += term;
        if (std::fabs(term) < 1e-17 * std::fabs(sum)) break;
    }
    return sum / std::sqrt(2 * kPi * x);
}

double bessel_scaled(double x, int order) {
    double a = std::fabs(x);
    double v = a < 30 ? bessel_series(a, order) * std::exp(-a) : bessel_large(a, order);
    return order && x < 0 ? -v : v;
}

double bessel(double x, int order) {
    double a = std::fabs(x);
    double v = a < 30    ? bessel_series(a, order)
               : a > 720 ? kInf
                         : bessel_large(a, order) * std::exp(a / 2) * std::exp(a / 2);
    return order && x < 0 ? -v : v;
}

}  // namespace

double i0(double x) { return x != x || std::isinf(x) ? kNan : bessel(x, 0); }  // PyTorch has NaN at infinity
double i0e(double x) { return x != x ? x : std::isinf(x) ? 0 : bessel_scaled(x, 0); }
double i1(double x) { return x != x ? x : bessel(x, 1); }
double i1e(double x) { return x != x ? x : std::isinf(x) ? 0 : bessel_scaled(x, 1); }

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
