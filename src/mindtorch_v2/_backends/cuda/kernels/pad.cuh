// Padding of the last three dimensions by reflection (REFLECT) or with the edge, and its gradient. The words: ELEMENT, REFLECT.
#pragma once

struct Args {
    int64_t planes;
    ELEMENT *inner, *outer;
    int64_t size[3], wide[3], before[3];  // sizes without and with the padding
};

// The place in `inner` that the place `at` of `outer` shows.
DEVICE int64_t shown(int64_t at, int64_t size, int64_t before) {
    const int64_t i = at - before;
    if (REFLECT) return i < 0 ? -i : i >= size ? 2 * (size - 1) - i : i;
    return i < 0 ? 0 : i >= size ? size - 1 : i;
}

KERNEL(pad, Args) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= a.planes * a.wide[0] * a.wide[1] * a.wide[2]) return;
    int64_t rest = i, at = 0, step = 1;
#pragma unroll
    for (int d = 2; d >= 0; d--) {
        at += shown(rest % a.wide[d], a.size[d], a.before[d]) * step;
        rest /= a.wide[d];
        step *= a.size[d];
    }
    a.outer[i] = a.inner[rest * step + at];
}

// Of one dimension, the places of `outer` that show one of `inner`: three, or a run of them.
struct Shows {
    int64_t first, step, count, mirrored[2];
    int mirrors;
};

DEVICE Shows shows(int64_t at, int64_t size, int64_t wide, int64_t before) {
    Shows s;
    s.mirrors = 0;
    s.first = at + before, s.count = 1;
    if (REFLECT) {
        const bool inside = s.first >= 0 && s.first < wide;
        s.count = inside;
        const int64_t low = before - at, high = 2 * (size - 1) - at + before;
        if (at > 0 && low >= 0 && low < wide) s.mirrored[s.mirrors++] = low;
        if (at < size - 1 && high >= 0 && high < wide) s.mirrored[s.mirrors++] = high;
        return s;
    }
    int64_t last = s.first;
    if (at == 0) s.first = 0;
    if (at == size - 1) last = wide - 1;
    if (s.first < 0) s.first = 0;
    if (last > wide - 1) last = wide - 1;
    s.count = last - s.first + 1 > 0 ? last - s.first + 1 : 0;
    return s;
}
DEVICE int64_t nth(const Shows& s, int64_t k) { return k < s.count ? s.first + k : s.mirrored[k - s.count]; }

KERNEL(pad_gradient, Args) {
    typedef math_of<ELEMENT>::type T;
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= a.planes * a.size[0] * a.size[1] * a.size[2]) return;
    int64_t rest = i;
    Shows s[3];
#pragma unroll
    for (int d = 2; d >= 0; d--) {
        s[d] = shows(rest % a.size[d], a.size[d], a.wide[d], a.before[d]);
        rest /= a.size[d];
    }
    T sum = T(0);
    for (int64_t x = 0; x < s[0].count + s[0].mirrors; x++)
        for (int64_t y = 0; y < s[1].count + s[1].mirrors; y++)
            for (int64_t z = 0; z < s[2].count + s[2].mirrors; z++)
                sum = static_cast<T>(sum + to<T>(a.outer[((rest * a.wide[0] + nth(s[0], x)) * a.wide[1] + nth(s[1], y)) * a.wide[2] +
                                                         nth(s[2], z)]));
    a.inner[i] = to<ELEMENT>(sum);
}
