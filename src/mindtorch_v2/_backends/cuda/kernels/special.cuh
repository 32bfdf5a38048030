// Special functions of the gamma family, in double precision.
#pragma once

// Hurwitz's: the first terms, then Euler and Maclaurin's formula.
DEVICE double hurwitz_zeta(double s, double q) {
    if (s == 1) return INFINITY;
    if (s < 1) return NAN;
    if (q <= 0) {
        if (q == floor(q)) return INFINITY;
        if (s != floor(s)) return NAN;
    }
    double sum = pow(q, -s), a = q, term = 0;
    for (int i = 0; i < 9 || a <= 9; i++) {
        a += 1;
        term = pow(a, -s);
        sum += term;
        if (fabs(term) < 1e-17 * fabs(sum)) return sum;
    }
    sum += term * a / (s - 1) - 0.5 * term;
    const double bernoulli[9] = {  // B_2k / (2k)!
        1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000.0, 1.0 / 74724249600.0,
        -3617.0 / 10670622842880000.0, 43867.0 / 5109094217170944000.0};
    double rising = s, power = term / a;
    for (int k = 0; k < 9; k++) {
        const double t = bernoulli[k] * rising * power;
        sum += t;
        if (fabs(t) < 1e-17 * fabs(sum)) break;
        rising *= (s + 2 * k + 1) * (s + 2 * k + 2);
        power /= a * a;
    }
    return sum;
}

// `single`: the sine is that of single precision, which at a pole decides what is left.
DEVICE double trigamma(double x, bool single) {
    double reflected = 0, sign = 1;
    if (x < 0.5) {
        const double s = single ? double(sin(3.14159265358979323846f * static_cast<float>(x))) : sin(3.14159265358979323846 * x);
        reflected = 3.14159265358979323846 * 3.14159265358979323846 / (s * s);
        sign = -1;
        x = 1 - x;
    }
    double sum = 0;
    for (; x < 10; x += 1) sum += 1 / (x * x);
    const double z = 1 / (x * x);
    const double series =
        1.0 / 6 - z * (1.0 / 30 - z * (1.0 / 42 - z * (1.0 / 30 - z * (5.0 / 66 - z * (691.0 / 2730 - z * 7 / 6)))));
    return reflected + sign * (sum + 1 / x + z / 2 + z / x * series);
}
DEVICE double polygamma_of(int64_t n, double x, bool single) {
    if (n == 0) return digamma_of(x);
    if (n == 1) return trigamma(x, single);
    const double order = static_cast<double>(n) + 1;
    return (n % 2 ? 1 : -1) * exp(lgamma(order)) * hurwitz_zeta(order, x);
}

// The regularised incomplete gamma function, the lower or the upper one: a power series for small x, and Lentz's evaluation
// of the upper one's continued fraction for large x.
template <bool UPPER>
DEVICE double incomplete_gamma(double a, double x) {
    if (a != a || x != x || a < 0 || x < 0) return NAN;
    if (a == 0) return x > 0 ? (UPPER ? 0 : 1) : static_cast<double>(NAN);
    if (x == 0) return UPPER ? 1 : 0;
    if (is_inf(a)) return is_inf(x) ? static_cast<double>(NAN) : UPPER ? 1 : 0;
    if (is_inf(x)) return UPPER ? 0 : 1;
    const double front = exp(a * log(x) - x - lgamma(a));
    if (x < a + 1) {
        double term = 1 / a, sum = term;
        for (int k = 1; k < 10000; k++) {
            term *= x / (a + k);
            sum += term;
            if (term < 1e-17 * sum) break;
        }
        return UPPER ? 1 - sum * front : sum * front;
    }
    const double tiny = 1e-300;
    double b = x + 1 - a, c = 1 / tiny, d = 1 / b, h = d;
    for (int i = 1; i < 10000; i++) {
        const double an = -i * (i - a);
        b += 2;
        d = an * d + b;
        if (fabs(d) < tiny) d = tiny;
        c = b + an / c;
        if (fabs(c) < tiny) c = tiny;
        d = 1 / d;
        const double step = d * c;
        h *= step;
        if (fabs(step - 1) < 1e-16) break;
    }
    return UPPER ? front * h : 1 - front * h;
}
