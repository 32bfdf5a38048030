// Modified Bessel functions of the second kind and Airy's function, in double precision.
#pragma once

// exp(x) K(x) for an order, x > 0: the integral of exp(-x (cosh t - 1)) cosh(order t), which sums at even steps give to the last
// digits.
DEVICE double scaled_k(double order, double x) {
    const double step = x > 30 ? 0.7 / sqrt(x) : 0.125;
    double sum = 0.5;
    for (int i = 1; i < 400; i++) {
        const double half = sinh(step * i / 2), fall = x * 2 * half * half;
        if (fall > 745) break;
        sum += exp(-fall) * cosh(order * step * i);
    }
    return sum * step;
}
DEVICE double modified_k(double order, double x, bool scaled) {
    if (x == 0) return INFINITY;
    if (!(x > 0)) return NAN;
    return x == INFINITY ? 0 : scaled_k(order, x) * (scaled ? 1 : exp(-x));
}

// Below zero by Taylor's series at whole numbers, and where they end by the series of sines and cosines.
DEVICE double airy_ai(double x) {
    const double values[11][2] = {  // Ai and Ai' at 0, -1, ..., -10
        {0.35502805388781723926, -0.25881940379280679841}, {0.5355608832923521188, -0.010160567116645209395},
        {0.22740742820168557599, 0.61825902074169104141}, {-0.37881429367765807435, 0.31458376921659881365},
        {-0.070265532949289515099, -0.7906285753685813803}, {0.35076100902411431979, 0.32719281855444313679},
        {-0.32914517362982310523, 0.34593548728134289493}, {0.18428083525050563728, -0.77100816841012654773},
        {-0.052705050356386202622, 0.93556093819830655103}, {-0.022133721547341403674, -0.97566398092633159471},
        {0.040241238486443190689, 0.9962650441327900559}};
    const double pi = 3.14159265358979323846;
    if (!is_finite(x)) return NAN;
    if (x > 103.892) return 0;
    if (x > 0.5) {
        const double z = 2.0 / 3 * x * sqrt(x);
        return sqrt(x / 3) / pi * scaled_k(1.0 / 3, z) * exp(-z);
    }
    if (x > -10.5) {
        const int at = static_cast<int>(0.5 - x);
        const double d = x + at;
        double before = 0, a = values[at][0], b = values[at][1], sum = a + b * d, power = d;
        for (int n = 0; n < 40; n++) {
            const double next = (-at * a + before) / ((n + 1) * (n + 2));
            before = a, a = b, b = next;
            power *= d;
            sum += next * power;
        }
        return sum;
    }
    const double z = 2.0 / 3 * -x * sqrt(-x), phase = z - pi / 4;
    double even = 1, odd = 0, term = 1;
    for (int k = 1; k < 12; k++) {
        term *= (6 * k - 5) * (6 * k - 1) / (72.0 * k * z);
        (k % 2 ? odd : even) += k % 4 < 2 ? term : -term;
    }
    return (cos(phase) * even + sin(phase) * odd) / (sqrt(pi) * sqrt(sqrt(-x)));
}
