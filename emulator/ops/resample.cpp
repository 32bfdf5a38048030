// Planes at another size: nearest places, and linear and cubic interpolation, of one dimension or two.
#include "op.h"

#include <array>

using namespace emu;

namespace {

size_t at(int64_t i) { return static_cast<size_t>(i); }

enum class Way { kNearest, kNearestExact, kLinear, kCubic };

// What one place of the output takes from an axis of the input.
struct Tap {
    std::array<int64_t, 4> index;
    std::array<double, 4> weight;
    size_t count;
};

int64_t inside(int64_t i, int64_t n) { return std::clamp<int64_t>(i, 0, n - 1); }

// Places between others are computed in the type of the elements (C), but in float32 for those of 16 bits; the nearest
// place always in float32. A scale of 0 or below is none: the sizes decide.
template <class C>
std::vector<Tap> taps_of(Way way, int64_t in, int64_t out, bool corners, double scale) {
    C step = scale > 0 ? static_cast<C>(1 / scale) : static_cast<C>(in) / static_cast<C>(out);
    if (corners) step = out > 1 ? static_cast<C>(in - 1) / static_cast<C>(out - 1) : C(0);
    std::vector<Tap> taps;
    for (int64_t o = 0; o < out; o++) {
        auto place = static_cast<C>(o);
        if (way == Way::kNearest || way == Way::kNearestExact) {
            float from = static_cast<float>(way == Way::kNearest ? place : place + C(0.5)) * static_cast<float>(step);
            taps.push_back({{inside(static_cast<int64_t>(std::floor(from)), in)}, {1}, 1});
            continue;
        }
        C from = corners ? place * step : (place + C(0.5)) * step - C(0.5);
        if (way == Way::kLinear) {
            from = std::max(from, C(0));
            auto first = inside(static_cast<int64_t>(from), in);
            double part = static_cast<double>(from - static_cast<C>(first));
            taps.push_back({{first, inside(first + 1, in)}, {1 - part, part}, 2});
            continue;
        }
        C floor = std::floor(from);
        auto first = static_cast<int64_t>(floor);
        double t = static_cast<double>(from - floor);
        auto near = [](double x) { return (1.25 * x - 2.25) * x * x + 1; };
        auto far = [](double x) { return ((-0.75 * x + 3.75) * x - 6) * x + 3; };
        taps.push_back({{inside(first - 1, in), inside(first, in), inside(first + 1, in), inside(first + 2, in)},
                        {far(t + 1), near(t), near(1 - t), far(2 - t)},
                        4});
    }
    return taps;
}

struct Resampling {
    Way way;
    int axes;
    bool corners;
    double scales[2];  // of height and width; of one axis the second
};

// f(element of the small or large input, element of the output, weight) for everything that the forward way reads.
template <class C, class F>
void each_tap(const Resampling& r, const Shape& from, const Shape& to, F f) {
    int64_t in[2] = {1, from.back()}, out[2] = {1, to.back()};
    if (r.axes == 2) {
        in[0] = from[from.size() - 2];
        out[0] = to[to.size() - 2];
    }
    auto rows = taps_of<C>(r.axes == 2 ? r.way : Way::kNearest, in[0], out[0], r.corners && r.axes == 2, r.scales[0]);
    auto columns = taps_of<C>(r.way, in[1], out[1], r.corners, r.scales[1]);
    int64_t planes = product(to) / std::max<int64_t>(1, out[0] * out[1]);
    for (int64_t p = 0; p < planes; p++)
        for (int64_t y = 0; y < out[0]; y++)
            for (int64_t x = 0; x < out[1]; x++)
                for (size_t i = 0; i < rows[at(y)].count; i++)
                    for (size_t j = 0; j < columns[at(x)].count; j++)
                        f(at((p * in[0] + rows[at(y)].index[i]) * in[1] + columns[at(x)].index[j]),
                          at((p * out[0] + y) * out[1] + x), rows[at(y)].weight[i] * columns[at(x)].weight[j]);
}

void check_sizes(const View& v, IA sizes, int axes, const char* what) {
    if (!sizes) throw Invalid{kParamNull, text(what, " is null")};
    if (v.rank != axes + 2) reject("a tensor of rank ", v.rank, ", ", axes + 2, " is needed");
    size_t given = sizes->values.size(), first = given - at(axes);
    if (given != at(axes) && given != at(axes + 2)) reject(what, " has ", given, " numbers");
    for (int i = 0; i < axes; i++)
        if (v.sizes[2 + i] != sizes->values[first + at(i)] || v.sizes[2 + i] <= 0)
            reject(what, " says ", sizes->values[first + at(i)], ", the tensor has ", v.sizes[2 + i]);
}
Plan forward(Resampling r, T self, IA sizes, O out) {
    View x = need(self, "self"), y = need(out, "out");
    check_sizes(y, sizes, r.axes, "outputSize");
    if (x.rank != y.rank || x.sizes[0] != y.sizes[0] || x.sizes[1] != y.sizes[1])
        reject("an input of shape ", shown(shape_of(x)), " and an output of ", shown(shape_of(y)));
    return {[=] {
        with_float(kind_of(x.dtype), [&](auto c) {
            using C = decltype(c);
            auto from = load<C>(x);
            std::vector<C> to(at(y.numel()));
            each_tap<C>(r, shape_of(x), shape_of(y),
                        [&](size_t i, size_t o, double weight) { to[o] += from[i] * static_cast<C>(weight); });
            store(y, to);
        });
    }};
}
Plan backward(Resampling r, T grad, IA sizes, IA input_sizes, O out) {
    View g = need(grad, "gradOut"), x = need(out, "gradInput");
    check_sizes(g, sizes, r.axes, "outputSize");
    check_sizes(x, input_sizes, r.axes, "inputSize");
    return {[=] {
        with_float(kind_of(x.dtype), [&](auto c) {
            using C = decltype(c);
            auto up = load<C>(g);
            std::vector<C> to(at(x.numel()));
            each_tap<C>(r, shape_of(x), shape_of(g),
                        [&](size_t i, size_t o, double weight) { to[i] += up[o] * static_cast<C>(weight); });
            store(x, to);
        });
    }};
}

Plan UpsampleNearest1d(T self, IA sizes, O out) { return forward({Way::kNearest, 1, false, {0, 0}}, self, sizes, out); }
Plan UpsampleNearest2d(T self, IA sizes, O out) { return forward({Way::kNearest, 2, false, {0, 0}}, self, sizes, out); }
Plan UpsampleNearest1dV2(T self, IA sizes, f32 scale, O out) {
    return forward({Way::kNearest, 1, false, {0, scale}}, self, sizes, out);
}
Plan UpsampleNearest2dV2(T self, IA sizes, f32 h, f32 w, O out) {
    return forward({Way::kNearest, 2, false, {h, w}}, self, sizes, out);
}
template <Way way>
Plan nearest1d(T self, IA sizes, f64 scale, O out) {
    return forward({way, 1, false, {0, scale}}, self, sizes, out);
}
template <Way way>
Plan nearest2d(T self, IA sizes, f64 h, f64 w, O out) {
    return forward({way, 2, false, {h, w}}, self, sizes, out);
}
template <Way way>
Plan nearest1d_backward(T grad, IA sizes, IA input, f64 scale, O out) {
    return backward({way, 1, false, {0, scale}}, grad, sizes, input, out);
}
template <Way way>
Plan nearest2d_backward(T grad, IA sizes, IA input, f64 h, f64 w, O out) {
    return backward({way, 2, false, {h, w}}, grad, sizes, input, out);
}
Plan UpsampleLinear1d(T self, IA sizes, bool corners, f64 scale, O out) {
    return forward({Way::kLinear, 1, corners, {0, scale}}, self, sizes, out);
}
Plan UpsampleLinear1dBackward(T grad, IA sizes, IA input, bool corners, f64 scale, O out) {
    return backward({Way::kLinear, 1, corners, {0, scale}}, grad, sizes, input, out);
}
template <Way way>
Plan smooth2d(T self, IA sizes, bool corners, f64 h, f64 w, O out) {
    return forward({way, 2, corners, {h, w}}, self, sizes, out);
}
template <Way way>
Plan smooth2d_backward(T grad, IA sizes, IA input, bool corners, f64 h, f64 w, O out) {
    return backward({way, 2, corners, {h, w}}, grad, sizes, input, out);
}

// ---- borders that repeat what is inside ----

struct Border {
    int axes;
    bool mirrored;
    std::vector<int64_t> pad;  // before and after, from the last axis on
};
Border border_of(const View& small, const View& large, IA padding, int axes, bool mirrored) {
    if (!padding) throw Invalid{kParamNull, "padding is null"};
    if (padding->values.size() != at(2 * axes)) reject("padding has ", padding->values.size(), " numbers");
    if (small.rank != axes + 1 && small.rank != axes + 2) reject("an input of rank ", small.rank);
    if (large.rank != small.rank) reject("an output of rank ", large.rank);
    for (int i = 0; i < axes; i++) {
        int d = small.rank - 1 - i;
        int64_t before = padding->values[at(2 * i)], after = padding->values[at(2 * i + 1)];
        if (mirrored && (before >= small.sizes[d] || after >= small.sizes[d]))
            reject("a padding of ", before, " and ", after, " for a dimension of ", small.sizes[d]);
        if (large.sizes[d] != small.sizes[d] + before + after)
            reject("the output has ", large.sizes[d], " places in a dimension, expected ",
                   small.sizes[d] + before + after);
    }
    return {axes, mirrored, padding->values};
}
// The element of the small tensor that each element of the large one shows.
std::vector<size_t> shown_by(const Border& b, const Shape& small, const Shape& large) {
    std::vector<size_t> r(at(product(large)));
    for (size_t i = 0; i < r.size(); i++) {
        int64_t rest = static_cast<int64_t>(i), position = 0, step = 1;
        for (size_t d = small.size(); d-- > 0;) {
            int64_t k = rest % large[d], n = small[d];
            rest /= large[d];
            size_t axis = small.size() - 1 - d;
            if (axis < at(b.axes)) {
                k -= b.pad[2 * axis];
                if (b.mirrored)
                    k = k < 0 ? -k : k >= n ? 2 * (n - 1) - k : k;
                else
                    k = inside(k, n);
            }
            position += k * step;
            step *= n;
        }
        r[i] = at(position);
    }
    return r;
}
template <int axes, bool mirrored>
Plan padded(T self, IA padding, O out) {
    View x = need(self, "self"), y = need(out, "out");
    Border b = border_of(x, y, padding, axes, mirrored);
    return {[=] {
        with_kind(kind_of(x.dtype), [&](auto c) {
            auto from = load<decltype(c)>(x);
            std::vector<decltype(c)> to;
            for (size_t i : shown_by(b, shape_of(x), shape_of(y))) to.push_back(from[i]);
            store(y, to);
        });
    }};
}
template <int axes, bool mirrored>
Plan padded_backward(T grad, T self, IA padding, O out) {
    View g = need(grad, "gradOutput"), x = need(self, "self"), y = need(out, "gradInput");
    same_shape(y, shape_of(x), "gradInput");
    Border b = border_of(x, g, padding, axes, mirrored);
    return {[=] {
        with_float(kind_of(x.dtype), [&](auto c) {
            auto up = load<decltype(c)>(g);
            std::vector<decltype(c)> to(at(x.numel()));
            auto from = shown_by(b, shape_of(x), shape_of(g));
            for (size_t i = 0; i < up.size(); i++) to[from[i]] += up[i];
            store(y, to);
        });
    }};
}
}  // namespace

ACLNN(UpsampleNearest1d, T, IA, O)
ACLNN(UpsampleNearest2d, T, IA, O)
ACLNN(UpsampleNearest1dV2, T, IA, f32, O)
ACLNN(UpsampleNearest2dV2, T, IA, f32, f32, O)
ACLNN_AS(UpsampleNearest1dBackward, nearest1d_backward<Way::kNearest>, T, IA, IA, f64, O)
ACLNN_AS(UpsampleNearest2dBackward, nearest2d_backward<Way::kNearest>, T, IA, IA, f64, f64, O)
ACLNN_AS(UpsampleNearestExact1d, nearest1d<Way::kNearestExact>, T, IA, f64, O)
ACLNN_AS(UpsampleNearestExact2d, nearest2d<Way::kNearestExact>, T, IA, f64, f64, O)
ACLNN_AS(UpsampleNearestExact1dBackward, nearest1d_backward<Way::kNearestExact>, T, IA, IA, f64, O)
ACLNN_AS(UpsampleNearestExact2dBackward, nearest2d_backward<Way::kNearestExact>, T, IA, IA, f64, f64, O)
ACLNN(UpsampleLinear1d, T, IA, bool, f64, O)
ACLNN(UpsampleLinear1dBackward, T, IA, IA, bool, f64, O)
ACLNN_AS(UpsampleBilinear2d, smooth2d<Way::kLinear>, T, IA, bool, f64, f64, O)
ACLNN_AS(UpsampleBilinear2dBackward, smooth2d_backward<Way::kLinear>, T, IA, IA, bool, f64, f64, O)
ACLNN_AS(UpsampleBicubic2d, smooth2d<Way::kCubic>, T, IA, bool, f64, f64, O)
ACLNN_AS(UpsampleBicubic2dBackward, smooth2d_backward<Way::kCubic>, T, IA, IA, bool, f64, f64, O)
#define BORDERS(axes)                                                                    \
    ACLNN_AS(ReflectionPad##axes##d, (padded<axes, true>), T, IA, O)                     \
    ACLNN_AS(ReflectionPad##axes##dBackward, (padded_backward<axes, true>), T, T, IA, O) \
    ACLNN_AS(ReplicationPad##axes##d, (padded<axes, false>), T, IA, O)                   \
    ACLNN_AS(ReplicationPad##axes##dBackward, (padded_backward<axes, false>), T, T, IA, O)
BORDERS(1)
BORDERS(2)
BORDERS(3)
