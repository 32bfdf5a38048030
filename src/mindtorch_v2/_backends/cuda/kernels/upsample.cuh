// Images at another size, of three dimensions, and the gradient. Each result is a thread's, which adds up what it is made of in one
// order. The words: ELEMENT, A (the type that places are computed in), MODE (a name of those below).
#pragma once

#define NEAREST 0
#define NEAREST_EXACT 1
#define LINEAR 2
#define CUBIC 3
#define LINEAR_ANTIALIAS 4
#define CUBIC_ANTIALIAS 5

struct Axis {
    int64_t in, out;
    double scale;
    int64_t corners, keep;  // keep: every item stays where it is
};
struct Args {
    int64_t planes;
    ELEMENT *input, *output;
    Axis axis[3];
};

DEVICE A cubic_near(A x, A a) { return ((a + 2) * x - (a + 3)) * x * x + 1; }
DEVICE A cubic_far(A x, A a) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; }

// The items that one place of the result is made of along an axis, and their weights.
struct Taps {
    int64_t first, count;
    A at, squeeze, total;
    bool keep;

    DEVICE A filter(int64_t k) const {  // of antialiasing
        const A x = fabs((static_cast<A>(k + first) - at + A(0.5)) * squeeze);
        if (MODE == LINEAR_ANTIALIAS) return x < 1 ? 1 - x : A(0);
        return x < 1 ? cubic_near(x, A(-0.5)) : x < 2 ? cubic_far(x, A(-0.5)) : A(0);
    }
    DEVICE A weight(int64_t k) const {
        if (keep || MODE <= NEAREST_EXACT) return A(1);
        if (MODE == LINEAR) {
            const A right = smaller(larger(at - static_cast<A>(first), A(0)), A(1));
            return k ? right : A(1) - right;
        }
        if (MODE == CUBIC) {
            const A t = at - static_cast<A>(first + 1), a = A(-0.75);
            return k == 0 ? cubic_far(t + 1, a) : k == 1 ? cubic_near(t, a) : k == 2 ? cubic_near(1 - t, a) : cubic_far(2 - t, a);
        }
        return total != 0 ? filter(k) / total : filter(k);
    }
    DEVICE int64_t index(int64_t k, int64_t in) const { return first + k < 0 ? 0 : first + k >= in ? in - 1 : first + k; }
};

// `weigh`: what the weights need too, and not the places alone.
DEVICE Taps taps(const Axis& x, int64_t i, bool weigh) {
    Taps t;
    t.first = i, t.count = 1, t.at = 0, t.squeeze = 1, t.total = 0, t.keep = x.keep != 0;
    if (t.keep) return t;
    const A scale = static_cast<A>(x.scale), middle = scale * (static_cast<A>(i) + A(0.5));
    if (MODE <= NEAREST_EXACT) {
        const float step = static_cast<float>(x.scale), place = static_cast<float>(i) + (MODE == NEAREST ? 0.0f : 0.5f);
        t.first = static_cast<int64_t>(floor(place * step));
        if (t.first >= x.in) t.first = x.in - 1;
    } else if (MODE <= CUBIC) {
        t.at = x.corners ? scale * static_cast<A>(i) : middle - A(0.5);
        if (MODE == LINEAR && t.at < 0) t.at = 0;
        t.first = static_cast<int64_t>(floor(t.at));
        if (MODE == LINEAR && t.first >= x.in) t.first = x.in - 1;
        t.count = MODE == LINEAR ? 2 : 4;
        if (MODE == CUBIC) t.first--;
    } else {
        const A reach = MODE == CUBIC_ANTIALIAS ? A(2) : A(1), support = scale >= 1 ? reach * scale : reach;
        t.squeeze = scale >= 1 ? 1 / scale : A(1);
        t.at = middle;
        t.first = static_cast<int64_t>(middle - support + A(0.5));
        if (t.first < 0) t.first = 0;
        const int64_t end = static_cast<int64_t>(middle + support + A(0.5));
        t.count = (end < x.in ? end : x.in) - t.first;
        if (weigh)
            for (int64_t k = 0; k < t.count; k++) t.total += t.filter(k);
    }
    return t;
}

KERNEL(upsample, Args) {
    const int64_t n = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (n >= a.planes * a.axis[0].out * a.axis[1].out * a.axis[2].out) return;
    int64_t rest = n;
    Taps t[3];
#pragma unroll
    for (int d = 2; d >= 0; d--) {
        t[d] = taps(a.axis[d], rest % a.axis[d].out, true);
        rest /= a.axis[d].out;
    }
    A sum = 0;
    for (int64_t x = 0; x < t[0].count; x++) {
        const A w0 = t[0].weight(x);
        const int64_t at0 = (rest * a.axis[0].in + t[0].index(x, a.axis[0].in)) * a.axis[1].in;
        for (int64_t y = 0; y < t[1].count; y++) {
            const A w1 = w0 * t[1].weight(y);
            const int64_t at1 = (at0 + t[1].index(y, a.axis[1].in)) * a.axis[2].in;
            for (int64_t z = 0; z < t[2].count; z++)
                sum += w1 * t[2].weight(z) * to<A>(a.input[at1 + t[2].index(z, a.axis[2].in)]);
        }
    }
    a.output[n] = to<ELEMENT>(sum);
}

// The first place of the result whose last item (LAST), or whose first one, is not below `item`: places rise with items.
template <bool LAST>
DEVICE int64_t place_of(const Axis& x, int64_t item) {
    int64_t low = 0, high = x.out;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const Taps t = taps(x, middle, false);
        if (t.index(LAST ? t.count - 1 : 0, x.in) >= item)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

// How much of item `item` is in place i.
DEVICE A share(const Axis& x, int64_t i, int64_t item) {
    const Taps t = taps(x, i, true);
    if (MODE >= LINEAR_ANTIALIAS) return t.weight(item - t.first);
    A sum = 0;
    for (int64_t k = 0; k < t.count; k++)
        if (t.index(k, x.in) == item) sum += t.weight(k);
    return sum;
}

KERNEL(upsample_gradient, Args) {
    const int64_t n = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (n >= a.planes * a.axis[0].in * a.axis[1].in * a.axis[2].in) return;
    int64_t rest = n, item[3], first[3], end[3];
#pragma unroll
    for (int d = 2; d >= 0; d--) {
        item[d] = rest % a.axis[d].in;
        rest /= a.axis[d].in;
        first[d] = place_of<true>(a.axis[d], item[d]);
        end[d] = place_of<false>(a.axis[d], item[d] + 1);
    }
    A sum = 0;
    for (int64_t x = first[0]; x < end[0]; x++) {
        const A w0 = share(a.axis[0], x, item[0]);
        for (int64_t y = first[1]; y < end[1]; y++) {
            const A w1 = w0 * share(a.axis[1], y, item[1]);
            const int64_t at = ((rest * a.axis[0].out + x) * a.axis[1].out + y) * a.axis[2].out;
            for (int64_t z = first[2]; z < end[2]; z++) sum += w1 * share(a.axis[2], z, item[2]) * to<A>(a.output[at + z]);
        }
    }
    a.input[n] = to<ELEMENT>(sum);
}
