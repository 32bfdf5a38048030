// Distances between rows of two lists of each batch, or (PAIRS) between those of one, i < j. The words: ELEMENT, PAIRS, ORDER
// (0, 1 and 2 are themselves, 3 is any other, 4 infinity).
#pragma once

typedef math_of<ELEMENT>::type T;
struct Args {
    int64_t batches, rows, columns, n;
    const ELEMENT *x, *y, *grad, *dist;
    ELEMENT* out;
    double p;
};

// Where the distance of rows i and j of a batch stands.
DEVICE int64_t place_of(const Args& a, int64_t batch, int64_t i, int64_t j) {
    if (!PAIRS) return (batch * a.rows + i) * a.columns + j;
    const int64_t low = i < j ? i : j, high = i < j ? j : i;
    return low * a.rows - low * (low + 1) / 2 + high - low - 1;
}

KERNEL(distance, Args) {
    const int64_t t = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (t >= a.batches * a.rows * a.columns) return;
    const int64_t j = t % a.columns, i = t / a.columns % a.rows, batch = t / a.columns / a.rows;
    if (PAIRS && j <= i) return;
    const ELEMENT *x = a.x + (batch * a.rows + i) * a.n, *y = a.y + (batch * a.columns + j) * a.n;
    double sum = 0;
    for (int64_t k = 0; k < a.n; k++) {
        const double d = fabs(to<T>(x[k]) - to<T>(y[k]));
        if (ORDER == 0) sum += d == 0 ? 0 : 1;
        if (ORDER == 1) sum += d;
        if (ORDER == 2) sum += d * d;
        if (ORDER == 3) sum += pow(d, a.p);
        if (ORDER == 4) sum = d > sum || d != d ? d : sum;
    }
    a.out[place_of(a, batch, i, j)] = to<ELEMENT>(ORDER == 2 ? sqrt(sum) : ORDER == 3 ? pow(sum, 1 / a.p) : sum);
}

// The slope of a distance by one number of the first row, which is `d` more than the second's.
DEVICE T slope(T d, T grad, T dist, double p) {
    if (ORDER == 0) return T(0);
    const T sign = T(d > 0) - T(d < 0);
    if (ORDER == 1) return d != d ? d : grad * sign;
    if (dist == T(0)) return T(0);
    if (ORDER == 2) return grad / dist * d;
    if (grad == T(0)) return T(0);
    if (ORDER == 4) return fabs(d) == dist ? grad * sign : T(0);
    return d == T(0) ? T(0) : static_cast<T>(grad * sign * (pow(fabs(double(d)), p - 1) / pow(double(dist), p - 1)));
}

// A number of a row of x to a thread, which sums over the other rows in their order.
KERNEL(distance_gradient, Args) {
    const int64_t t = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (t >= a.batches * a.rows * a.n) return;
    const int64_t k = t % a.n, i = t / a.n % a.rows, batch = t / a.n / a.rows;
    const T own = to<T>(a.x[t]);
    double sum = 0;
    for (int64_t j = 0; j < a.columns; j++) {
        if (PAIRS && i == j) continue;
        const int64_t at = place_of(a, batch, i, j);
        sum += slope(own - to<T>(a.y[(batch * a.columns + j) * a.n + k]), to<T>(a.grad[at]), to<T>(a.dist[at]), a.p);
    }
    a.out[t] = to<ELEMENT>(sum);
}
