// Images read at given positions. The words: ELEMENT, TAPS (numbers along an axis that a position reads: 1, 2 or 4), OUTSIDE (0 zeros,
// 1 border, 2 reflection), CORNERS (whether -1 and 1 are the middles of the outer pixels).
#pragma once

typedef math_of<ELEMENT>::type T;
struct Args {
    int64_t batch, channels, height, width, positions;
    const ELEMENT *image, *grid, *grad;
    ELEMENT* out;
    int64_t* place;  // of each tap in its plane, and what it is multiplied with: [batch, TAPS * TAPS, positions]
    T* weight;
};

// Brings a position into the image; `slope` is multiplied by the derivative.
DEVICE T brought_in(T x, int64_t size, T& slope) {
    if (OUTSIDE == 0) return x;
    if (OUTSIDE == 2) {
        const T low = CORNERS ? T(0) : T(-0.5), span = static_cast<T>(CORNERS ? size - 1 : size);
        if (span == 0) {
            slope = 0;
            return 0;
        }
        T from = x - low;
        if (from < 0) {
            from = -from;
            slope = -slope;
        }
        const T turns = floor(from / span), rest = from - turns * span;
        if (fmod(turns, T(2)) == 0) {
            x = rest + low;
        } else {
            x = span - rest + low;
            slope = -slope;
        }
    }
    if (!(x > 0)) {
        slope = 0;
        return 0;
    }
    const T last = static_cast<T>(size - 1);
    if (x < last) return x;
    slope = 0;
    return last;
}
// NaN and what no integer can hold lie outside.
DEVICE int64_t whole(T x) { return x > T(-1e15) && x < T(1e15) ? static_cast<int64_t>(x) : -1; }

// Along one axis: which pixels, their weights, and the derivatives of these by the coordinate.
struct Axis {
    int64_t index[TAPS];
    T w[TAPS], dw[TAPS];
    DEVICE Axis(T coordinate, int64_t size) {
        T slope = static_cast<T>(CORNERS ? size - 1 : size) / 2;
        T x = CORNERS ? (coordinate + 1) / 2 * static_cast<T>(size - 1) : ((coordinate + 1) * static_cast<T>(size) - 1) / 2;
        if (TAPS == 4) {
            const T base = floor(x), t = x - base;
            for (int k = 0; k < TAPS; k++) {
                T ignored = 1;
                index[k] = whole(brought_in(base + static_cast<T>(k - 1), size, ignored));
                const T a = T(-0.75), v = k == 0 ? t + 1 : k == 1 ? t : k == 2 ? 1 - t : 2 - t;
                const bool near = k == 1 || k == 2;
                w[k] = near ? ((a + 2) * v - (a + 3)) * v * v + 1 : ((a * v - 5 * a) * v + 8 * a) * v - 4 * a;
                dw[k] = (near ? (3 * (a + 2) * v - 2 * (a + 3)) * v : (3 * a * v - 10 * a) * v + 8 * a) * (k < 2 ? slope : -slope);
            }
        } else {
            x = brought_in(x, size, slope);
            const T base = TAPS == 1 ? rint(x) : floor(x);
            for (int k = 0; k < TAPS; k++) {
                index[k] = whole(base) + (whole(base) == -1 && base != -1 ? 0 : k);
                w[k] = TAPS == 1 ? T(1) : k ? x - base : 1 - (x - base);
                dw[k] = TAPS == 1 ? T(0) : k ? slope : -slope;
            }
        }
        for (int k = 0; k < TAPS; k++)
            if (index[k] < 0 || index[k] >= size) index[k] = -1;
    }
};

DEVICE Axis across(const Args& a, int64_t at) { return Axis(to<T>(a.grid[2 * at]), a.width); }
DEVICE Axis down(const Args& a, int64_t at) { return Axis(to<T>(a.grid[2 * at + 1]), a.height); }

// A result to a thread.
KERNEL(grid_sample, Args) {
    const int64_t t = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (t >= a.batch * a.channels * a.positions) return;
    const int64_t position = t % a.positions, plane = t / a.positions, at = plane / a.channels * a.positions + position;
    const Axis x = across(a, at), y = down(a, at);
    const ELEMENT* from = a.image + plane * a.height * a.width;
    T sum = 0;
    for (int p = 0; p < TAPS; p++)
        for (int q = 0; q < TAPS; q++)
            if (y.index[p] >= 0 && x.index[q] >= 0) sum += y.w[p] * x.w[q] * to<T>(from[y.index[p] * a.width + x.index[q]]);
    a.out[t] = to<ELEMENT>(sum);
}

// The gradient of a position to a thread, and where each of its taps lies.
KERNEL(grid_slopes, Args) {
    const int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (at >= a.batch * a.positions) return;
    const int64_t b = at / a.positions, position = at % a.positions, size = a.height * a.width;
    const Axis x = across(a, at), y = down(a, at);
    for (int k = 0; a.place && k < TAPS * TAPS; k++) {
        const int p = k / TAPS, q = k % TAPS;
        const bool inside = y.index[p] >= 0 && x.index[q] >= 0;
        const int64_t to_tap = (b * TAPS * TAPS + k) * a.positions + position;
        a.place[to_tap] = inside ? y.index[p] * a.width + x.index[q] : 0;
        a.weight[to_tap] = inside ? y.w[p] * x.w[q] : T(0);
    }
    if (!a.out) return;
    T dx = 0, dy = 0;
    for (int64_t c = 0; c < a.channels; c++) {
        const T g = to<T>(a.grad[(b * a.channels + c) * a.positions + position]);
        const ELEMENT* from = a.image + (b * a.channels + c) * size;
        for (int p = 0; p < TAPS; p++)
            for (int q = 0; q < TAPS; q++) {
                if (y.index[p] < 0 || x.index[q] < 0) continue;
                const T v = g * to<T>(from[y.index[p] * a.width + x.index[q]]);
                dx += v * y.w[p] * x.dw[q];
                dy += v * y.dw[p] * x.w[q];
            }
    }
    a.out[2 * at] = to<ELEMENT>(dx);
    a.out[2 * at + 1] = to<ELEMENT>(dy);
}
