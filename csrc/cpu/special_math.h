// Special functions of one and two doubles, written from their series, recurrences and asymptotic expansions
// (Abramowitz & Stegun; DLMF). Scalar code: a few tens of nanoseconds each.
#pragma once

#include <cmath>
#include <limits>

namespace mt::special {

constexpr double kPi = 3.141592653589793238;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double zeta(double s, double q);        // Hurwitz
double polygamma(int64_t n, double x);  // of at least order 2
double erfinv(double y);
double ndtri(double p);             // inverse of the normal distribution function
double igamma(double a, double x);  // regularised lower incomplete gamma function
double igammac(double a, double x);
inline double ndtr(double x) { return 0.5 * std::erfc(-x * 0.70710678118654752440); }
inline double sinc(double x) { return x == 0 ? 1 : std::sin(kPi * x) / (kPi * x); }
inline double entr(double x) { return x != x ? x : x > 0 ? -x * std::log(x) : x == 0 ? 0 : -kInf; }

}  // namespace mt::special
