// How drawn numbers move with the parameters of their distribution, in double precision.
#pragma once

DEVICE double digamma_of_positive(double v) {
    double shift = 0;
    for (; v < 10; v += 1) shift -= 1 / v;
    const double f = 1 / (v * v);
    return shift + log(v) - 0.5 / v - f * (1.0 / 12 - f * (1.0 / 120 - f * (1.0 / 252 - f * (1.0 / 240 - f / 132))));
}

// Of a gamma number of rate one by its shape, where the probability stays: by the power series of the distribution and the slopes
// of its terms, and where that is too long by Wilson and Hilferty's cube root.
DEVICE double gamma_slope(double alpha, double x) {
    if (x <= 0) return 0;
    if (x < alpha + 30 && x < 700) {
        double psi = digamma_of_positive(alpha + 1), sum = 0, largest = 0, term = x / alpha;
        const double log_x = log(x);
        for (int n = 0; n < 20000; n++) {
            const double part = term * (log_x - psi);
            sum += part;
            largest = larger(largest, fabs(part));
            if (n > x && fabs(part) < 1e-17 * largest) break;
            psi += 1 / (alpha + n + 1);
            term *= x / (alpha + n + 1);
        }
        return -sum;
    }
    const double root = cbrt(x / alpha), z = (root - 1 + 1 / (9 * alpha)) * 3 * sqrt(alpha);
    return root * root * root + 3 * alpha * root * root * (1 / (9 * alpha * alpha) - z / (6 * alpha * sqrt(alpha)));
}

// Of the regularised incomplete beta function at x by its first parameter, or by the second one, over the density.
DEVICE double beta_slope(double x, double a, double b) {
    bool by_first = true;
    double sign = 1;
    if (x > (a + 1) / (a + b + 2)) {
        const double kept = a;
        x = 1 - x, a = b, b = kept;
        by_first = false;
        sign = -1;
    }
    const double both = digamma_of_positive(a + b);
    double slope = by_first ? log(x) - 1 / a - digamma_of_positive(a) + both : log1p(-x) - digamma_of_positive(b) + both;
    double term = x * (1 - x) / a, sum = 0, largest = 0;
    for (int n = 0; n < 100000; n++) {
        const double part = term * slope;
        sum += part;
        largest = larger(largest, fabs(part));
        if (fabs(part) < 1e-17 * largest && term < 1e-17) break;
        term *= x * (a + b + n) / (a + 1 + n);
        slope += 1 / (a + b + n) - (by_first ? 1 / (a + 1 + n) : 0);
    }
    return sign * sum;
}

// Of a coordinate of a Dirichlet point by its concentration.
DEVICE double dirichlet_slope(double x, double a, double b) {
    return x > 0 && x < 1 && a > 0 && b > 0 ? -beta_slope(x, a, b) / (1 - x) : 0;
}
