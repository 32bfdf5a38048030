// Pooling over three dimensions, of which the first may be of size 1. The words: IN (element type), ADAPTIVE (windows share the
// input out), MAXIMUM (else the average).
#pragma once

typedef math_of<IN>::type T;

struct Args {
    int64_t total, in_plane, out_plane;
    const IN* in;  // or the gradient of the results
    IN* out;
    int64_t* indices;
    int64_t size[3], out_size[3], window[3], stride[3], padding[3], dilation[3];
    int64_t count_padding, divisor;
};

struct Range {
    int32_t first, last, counted;  // `counted`: how many an average divides by
};

// The inputs of a result along a dimension.
DEVICE Range inputs_of(const Args& a, int d, int32_t o) {
    const int32_t n = static_cast<int32_t>(a.size[d]);
    if (ADAPTIVE) {
        const int64_t m = a.out_size[d];
        const int32_t first = static_cast<int32_t>(o * int64_t(n) / m), last = static_cast<int32_t>(((o + 1) * int64_t(n) + m - 1) / m);
        return Range{first, last, last - first};
    }
    const int32_t pad = static_cast<int32_t>(a.padding[d]), step = static_cast<int32_t>(a.dilation[d]);
    int32_t first = o * static_cast<int32_t>(a.stride[d]) - pad;
    int32_t last = first + (static_cast<int32_t>(a.window[d]) - 1) * step + 1;
    if (last > n + pad) last = n + pad;
    const int32_t counted = last - first;
    if (first < 0) first += (-first + step - 1) / step * step;
    if (last > n) last = n;
    return Range{first, last, a.count_padding ? counted : last - first};
}

// The results that have an input along a dimension.
DEVICE Range results_of(const Args& a, int d, int32_t i) {
    const int64_t n = a.size[d], m = a.out_size[d];
    if (ADAPTIVE) return Range{static_cast<int32_t>(i * m / n), static_cast<int32_t>(((i + 1) * m + n - 1) / n), 0};
    const int32_t reach = static_cast<int32_t>((a.window[d] - 1) * a.dilation[d]), at = i + static_cast<int32_t>(a.padding[d]);
    const int32_t stride = static_cast<int32_t>(a.stride[d]);
    const int32_t first = at <= reach ? 0 : (at - reach - 1) / stride + 1, last = at / stride + 1;
    return Range{first, last < m ? last : static_cast<int32_t>(m), 0};
}

DEVICE void places(int64_t i, const int64_t* size, int32_t* at) {
    for (int d = 2; d > 0; d--) {
        at[d] = static_cast<int32_t>(i % size[d]);
        i /= size[d];
    }
    at[0] = static_cast<int32_t>(i);
}

DEVICE T divisor_of(const Args& a, const Range* r) {
    return T(a.divisor ? a.divisor : static_cast<int64_t>(r[0].counted) * r[1].counted * r[2].counted);
}

KERNEL(pool, Args) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= a.total) return;
    int32_t at[3];
    places(i % a.out_plane, a.out_size, at);
    const Range r[3] = {inputs_of(a, 0, at[0]), inputs_of(a, 1, at[1]), inputs_of(a, 2, at[2])};
    const IN* in = a.in + i / a.out_plane * a.in_plane;
    const int32_t step[3] = {MAXIMUM && !ADAPTIVE ? static_cast<int32_t>(a.dilation[0]) : 1,
                             MAXIMUM && !ADAPTIVE ? static_cast<int32_t>(a.dilation[1]) : 1,
                             MAXIMUM && !ADAPTIVE ? static_cast<int32_t>(a.dilation[2]) : 1};
    T value = MAXIMUM ? lowest<T>() : T(0);
    int64_t best = (r[0].first * a.size[1] + r[1].first) * a.size[2] + r[2].first;
    for (int32_t z = r[0].first; z < r[0].last; z += step[0])
        for (int32_t y = r[1].first; y < r[1].last; y += step[1])
            for (int32_t x = r[2].first; x < r[2].last; x += step[2]) {
                const int64_t from = (z * a.size[1] + y) * a.size[2] + x;
                const T v = to<T>(in[from]);
                if (!MAXIMUM) {
                    value += v;
                } else if (v > value || is_nan(v)) {
                    value = v;
                    best = from;
                }
            }
    a.out[i] = to<IN>(MAXIMUM ? value : value / divisor_of(a, r));
    if (MAXIMUM) a.indices[i] = best;
}

// Each input gathers what its results hand back: the order of the sum is always the same.
KERNEL(pool_backward, Args) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= a.total) return;
    int32_t at[3];
    const int64_t own = i % a.in_plane;
    places(own, a.size, at);
    const Range r[3] = {results_of(a, 0, at[0]), results_of(a, 1, at[1]), results_of(a, 2, at[2])};
    const int64_t first = i / a.in_plane * a.out_plane;
    T sum = 0;
    for (int32_t z = r[0].first; z < r[0].last; z++)
        for (int32_t y = r[1].first; y < r[1].last; y++)
            for (int32_t x = r[2].first; x < r[2].last; x++) {
                const int64_t from = first + (z * a.out_size[1] + y) * a.out_size[2] + x;
                if (MAXIMUM) {
                    if (a.indices[from] == own) sum += to<T>(a.in[from]);
                } else {
                    const Range w[3] = {inputs_of(a, 0, z), inputs_of(a, 1, y), inputs_of(a, 2, x)};
                    sum += to<T>(a.in[from]) / divisor_of(a, w);
                }
            }
    a.out[i] = to<IN>(sum);
}
