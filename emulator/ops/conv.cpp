// Convolution and pooling of one, two or three dimensions of places, by their definitions.
#include "op.h"

using namespace emu;

namespace {

size_t at(int64_t i) { return static_cast<size_t>(i); }

std::vector<int64_t> listed(IA a, int n, int64_t otherwise, const char* what) {
    if (!a) throw Invalid{kParamNull, text(what, " is null")};
    if (a->values.empty()) return std::vector<int64_t>(at(n), otherwise);
    if (a->values.size() == 1) return std::vector<int64_t>(at(n), a->values[0]);
    if (static_cast<int>(a->values.size()) != n)
        reject(what, " has ", a->values.size(), " numbers, ", n, " are needed");
    return a->values;
}

// Everything as three dimensions of places; missing ones have size 1.
struct Window {
    int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1}, pad[3] = {0, 0, 0},
            dilation[3] = {1, 1, 1};
    int64_t in_places() const { return in[0] * in[1] * in[2]; }
    int64_t out_places() const { return out[0] * out[1] * out[2]; }
    int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
    // f(input place, tap) for each tap of an output place that falls inside the input.
    template <class F>
    void each_tap(int64_t place, F f) const {
        int64_t o[3] = {place / (out[1] * out[2]), place / out[2] % out[1], place % out[2]};
        for (int64_t a = 0; a < kernel[0]; a++) {
            int64_t z = o[0] * stride[0] - pad[0] + a * dilation[0];
            if (z < 0 || z >= in[0]) continue;
            for (int64_t b = 0; b < kernel[1]; b++) {
                int64_t y = o[1] * stride[1] - pad[1] + b * dilation[1];
                if (y < 0 || y >= in[1]) continue;
                for (int64_t c = 0; c < kernel[2]; c++) {
                    int64_t x = o[2] * stride[2] - pad[2] + c * dilation[2];
                    if (x < 0 || x >= in[2]) continue;
                    f((z * in[1] + y) * in[2] + x, (a * kernel[1] + b) * kernel[2] + c);
                }
            }
        }
    }
};

struct Conv {
    Window w;  // of the convolution that goes from `big` to `small` channels' places; transposed ones run it backwards
    int64_t samples, from, to, groups;  // channels of the input and the output
    bool transposed;
};
Conv conv_of(const View& input, const View& weight, const View& output, IA stride, IA padding, IA dilation,
             bool transposed, int64_t groups) {
    int n = input.rank - 2;
    if (n < 1 || n > 3 || weight.rank != input.rank || output.rank != input.rank)
        reject("an input of rank ", input.rank, " and a weight of rank ", weight.rank);
    if (groups < 1) reject("groups is ", groups);
    Conv c;
    c.samples = input.sizes[0];
    c.from = input.sizes[1];
    c.to = output.sizes[1];
    c.groups = groups;
    c.transposed = transposed;
    auto s = listed(stride, n, 1, "stride"), p = listed(padding, n, 0, "padding"),
         d = listed(dilation, n, 1, "dilation");
    const View &big = transposed ? output : input, &small = transposed ? input : output;
    for (int i = 0; i < n; i++) {
        int k = 3 - n + i;
        c.w.in[k] = big.sizes[2 + i];
        c.w.out[k] = small.sizes[2 + i];
        c.w.kernel[k] = weight.sizes[2 + i];
        c.w.stride[k] = s[at(i)];
        c.w.pad[k] = p[at(i)];
        c.w.dilation[k] = d[at(i)];
        int64_t fits = (c.w.in[k] + 2 * c.w.pad[k] - c.w.dilation[k] * (c.w.kernel[k] - 1) - 1) / c.w.stride[k] + 1;
        if (!transposed && fits != c.w.out[k]) reject("the output has ", c.w.out[k], " places, expected ", fits);
    }
    int64_t rows = transposed ? c.from : c.to, columns = transposed ? c.to : c.from;
    if (weight.sizes[0] != rows || weight.sizes[1] * groups != columns)
        reject("a weight of shape ", shown(shape_of(weight)), " for ", c.from, " channels to ", c.to, " in ", groups,
               " groups");
    return c;
}

// f(index in the small side, index in the big side, index in the weight) for each product of a convolution.
template <class F>
void each_product(const Conv& c, F f) {
    int64_t small_channels = c.transposed ? c.from : c.to, big_channels = c.transposed ? c.to : c.from;
    int64_t small_group = small_channels / c.groups, big_group = big_channels / c.groups, taps = c.w.taps();
    int64_t small_places = c.w.out_places(), big_places = c.w.in_places();
    for (int64_t s = 0; s < c.samples; s++)
        for (int64_t row = 0; row < small_channels; row++) {
            int64_t group = row / small_group;
            for (int64_t place = 0; place < small_places; place++) {
                int64_t small_at = (s * small_channels + row) * small_places + place;
                c.w.each_tap(place, [&](int64_t there, int64_t tap) {
                    for (int64_t k = 0; k < big_group; k++)
                        f(small_at, (s * big_channels + group * big_group + k) * big_places + there,
                          (row * big_group + k) * taps + tap);
                });
            }
        }
}

Plan Convolution(T input, T weight, T bias, IA stride, IA padding, IA dilation, bool transposed, IA, i64 groups, O out,
                 i8) {
    View x = need(input, "input"), k = need(weight, "weight"), y = need(out, "output");
    Conv c = conv_of(x, k, y, stride, padding, dilation, transposed, groups);
    if (y.sizes[0] != c.samples) reject("an output of ", y.sizes[0], " samples for ", c.samples);
    bool has_bias = bias;
    View b = bias ? bias->view : View();
    if (bias) same_shape(b, {c.to}, "bias");
    return {[=] {
                with_float(kind_of(x.dtype), [&](auto kind) {
                    using C = decltype(kind);
                    auto from = load<C>(x), w = load<C>(k);
                    std::vector<C> to(at(y.numel()));
                    if (has_bias) {
                        auto add = load<C>(b);
                        int64_t places = y.numel() / std::max<int64_t>(1, c.samples * c.to);
                        for (size_t i = 0; i < to.size(); i++) to[i] = add[i / at(places) % at(c.to)];
                    }
                    if (transposed)
                        each_product(c, [&](int64_t small, int64_t big, int64_t t) {
                            to[at(big)] += from[at(small)] * w[at(t)];
                        });
                    else
                        each_product(c, [&](int64_t small, int64_t big, int64_t t) {
                            to[at(small)] += from[at(big)] * w[at(t)];
                        });
                    store(y, to);
                });
            },
            4096};
}
Plan ConvolutionBackward(T grad, T input, T weight, IA, IA stride, IA padding, IA dilation, bool transposed, IA,
                         i32 groups, BA mask, i8, O grad_input, O grad_weight, O grad_bias) {
    View g = need(grad, "gradOutput"), x = need(input, "input"), k = need(weight, "weight");
    if (!mask || mask->values.size() != 3) reject("outputMask must have three flags");
    Conv c = conv_of(x, k, g, stride, padding, dilation, transposed, groups);
    T wanted[] = {mask->values[0] ? grad_input : nullptr, mask->values[1] ? grad_weight : nullptr,
                  mask->values[2] ? grad_bias : nullptr};
    bool has[3];
    View to[3];
    for (int i = 0; i < 3; i++) {
        has[i] = wanted[i];
        if (has[i]) to[i] = wanted[i]->view;
    }
    if (has[0]) same_shape(to[0], shape_of(x), "gradInput");
    if (has[1]) same_shape(to[1], shape_of(k), "gradWeight");
    if (has[2]) same_shape(to[2], {c.to}, "gradBias");
    View gi = to[0], gw = to[1], gb = to[2];
    bool hi = has[0], hw = has[1], hb = has[2];
    return {[=] {
                with_float(kind_of(x.dtype), [&](auto kind) {
                    using C = decltype(kind);
                    auto up = load<C>(g), from = load<C>(x), w = load<C>(k);
                    std::vector<C> dx(hi ? from.size() : 0), dw(hw ? w.size() : 0);
                    // small and big swap their parts where the convolution is transposed
                    each_product(c, [&](int64_t small, int64_t big, int64_t t) {
                        int64_t in = transposed ? small : big, out = transposed ? big : small;
                        if (hi) dx[at(in)] += up[at(out)] * w[at(t)];
                        if (hw) dw[at(t)] += up[at(out)] * from[at(in)];
                    });
                    if (hi) store(gi, dx);
                    if (hw) store(gw, dw);
                    if (!hb) return;
                    std::vector<C> db(at(c.to));
                    int64_t places = g.numel() / std::max<int64_t>(1, c.samples * c.to);
                    for (size_t i = 0; i < up.size(); i++) db[i / at(places) % at(c.to)] += up[i];
                    store(gb, db);
                });
            },
            4096};
}

// ---- pooling: planes of height and width ----

struct Pool {
    Window w;
    int64_t planes;
};
Pool pool_of(const View& input, const View& output, IA kernel, IA stride, IA padding, IA dilation) {
    if (input.rank != 3 && input.rank != 4) reject("an input of rank ", input.rank);
    Pool p;
    p.planes = 1;
    for (int d = 0; d < input.rank - 2; d++) p.planes *= input.sizes[d];
    auto k = listed(kernel, 2, 1, "kernelSize"), pad = listed(padding, 2, 0, "padding");
    auto s = stride && !stride->values.empty() ? listed(stride, 2, 1, "stride") : k;
    auto d = dilation ? listed(dilation, 2, 1, "dilation") : std::vector<int64_t>{1, 1};
    if (output.rank != input.rank) reject("an output of rank ", output.rank);
    for (int i = 0; i < 2; i++) {
        p.w.in[i + 1] = input.sizes[input.rank - 2 + i];
        p.w.out[i + 1] = output.sizes[input.rank - 2 + i];
        p.w.kernel[i + 1] = k[at(i)];
        p.w.stride[i + 1] = s[at(i)];
        p.w.pad[i + 1] = pad[at(i)];
        p.w.dilation[i + 1] = d[at(i)];
    }
    return p;
}
Plan MaxPool2dWithIndices(T self, IA kernel, IA stride, IA padding, IA dilation, bool, O out, O indices) {
    View x = need(self, "self"), y = need(out, "out"), i = need(indices, "indices");
    same_shape(i, shape_of(y), "indices");
    if (!is_recent_soc()) reject("not supported on ", settings().soc);
    Pool p = pool_of(x, y, kernel, stride, padding, dilation);
    return {[=] {
        with_float(kind_of(x.dtype), [&](auto kind) {
            using C = decltype(kind);
            auto from = load<C>(x);
            std::vector<C> to(at(y.numel()));
            std::vector<int64_t> where(to.size());
            int64_t out_places = p.w.out_places(), in_places = p.w.in_places();
            for (int64_t n = 0; n < p.planes; n++)
                for (int64_t o = 0; o < out_places; o++) {
                    C best = -std::numeric_limits<C>::infinity();
                    int64_t place = -1;
                    p.w.each_tap(o, [&](int64_t there, int64_t) {
                        C v = from[at(n * in_places + there)];
                        if (place < 0 || v > best || v != v) {
                            best = v;
                            place = there;
                        }
                    });
                    to[at(n * out_places + o)] = best;
                    where[at(n * out_places + o)] = place;
                }
            store(y, to);
            store(i, where);
        });
    }};
}
Plan to_places(T grad, T self, T indices, O out) {
    View g = need(grad, "gradOutput"), x = need(self, "self"), i = need(indices, "indices"), y = need(out, "gradInput");
    same_shape(y, shape_of(x), "gradInput");
    same_shape(i, shape_of(g), "indices");
    int64_t in_places = x.sizes[x.rank - 2] * x.sizes[x.rank - 1],
            out_places = g.sizes[g.rank - 2] * g.sizes[g.rank - 1];
    return {[=] {
        with_float(kind_of(x.dtype), [&](auto kind) {
            using C = decltype(kind);
            auto up = load<C>(g);
            auto where = load<int64_t>(i);
            std::vector<C> to(at(x.numel()));
            for (size_t k = 0; k < up.size(); k++) to[k / at(out_places) * at(in_places) + at(where[k])] += up[k];
            store(y, to);
        });
    }};
}
Plan MaxPool2dWithIndicesBackward(T grad, T self, T indices, IA, IA, IA, IA, bool, O out) {
    if (!is_recent_soc()) reject("not supported on ", settings().soc);
    return to_places(grad, self, indices, out);
}

// How many places an average counts: those inside, or those inside the padded input too.
int64_t divisor_of(const Window& w, int64_t o, bool count_padding, int64_t forced, int64_t inside) {
    if (forced) return forced;
    if (!count_padding) return inside;
    int64_t n = 1;
    int64_t place[3] = {0, o / w.out[2] % w.out[1], o % w.out[2]};
    for (int i = 1; i < 3; i++) {
        int64_t begin = place[i] * w.stride[i] - w.pad[i];
        n *= std::min(begin + w.kernel[i], w.in[i] + w.pad[i]) - begin;
    }
    return n;
}
template <class F>
void each_average(const Pool& p, bool count_padding, int64_t forced, F f) {
    for (int64_t o = 0; o < p.w.out_places(); o++) {
        int64_t inside = 0;
        p.w.each_tap(o, [&](int64_t, int64_t) { inside++; });
        double share = inside ? 1.0 / static_cast<double>(divisor_of(p.w, o, count_padding, forced, inside)) : 0;
        for (int64_t n = 0; n < p.planes; n++)
            p.w.each_tap(o, [&](int64_t there, int64_t) {
                f(at(n * p.w.out_places() + o), at(n * p.w.in_places() + there), share);
            });
    }
}
Plan AvgPool2d(T self, IA kernel, IA stride, IA padding, bool, bool count_padding, i64 forced, i8, O out) {
    View x = need(self, "self"), y = need(out, "out");
    Pool p = pool_of(x, y, kernel, stride, padding, nullptr);
    return {[=] {
        auto from = load<double>(x);
        std::vector<double> to(at(y.numel()));
        each_average(p, count_padding, forced, [&](size_t o, size_t i, double share) { to[o] += from[i] * share; });
        store(y, to);
    }};
}
Plan AvgPool2dBackward(T grad, T self, IA kernel, IA stride, IA padding, bool, bool count_padding, i64 forced, i8,
                       O out) {
    View g = need(grad, "gradOutput"), x = need(self, "self"), y = need(out, "gradInput");
    same_shape(y, shape_of(x), "gradInput");
    Pool p = pool_of(x, g, kernel, stride, padding, nullptr);
    return {[=] {
        auto up = load<double>(g);
        std::vector<double> to(at(x.numel()));
        each_average(p, count_padding, forced, [&](size_t o, size_t i, double share) { to[i] += up[o] * share; });
        store(y, to);
    }};
}
// f(output element, input element, share) of an adaptive average.
template <class F>
void each_adaptive(const View& x, const View& y, F f) {
    int64_t h = x.sizes[x.rank - 2], w = x.sizes[x.rank - 1], oh = y.sizes[y.rank - 2], ow = y.sizes[y.rank - 1];
    int64_t planes = h * w != 0 ? x.numel() / (h * w) : 0;
    for (int64_t n = 0; n < planes; n++)
        for (int64_t a = 0; a < oh; a++)
            for (int64_t b = 0; b < ow; b++) {
                int64_t y0 = a * h / oh, y1 = ((a + 1) * h + oh - 1) / oh, x0 = b * w / ow,
                        x1 = ((b + 1) * w + ow - 1) / ow;
                double share = 1.0 / static_cast<double>((y1 - y0) * (x1 - x0));
                for (int64_t i = y0; i < y1; i++)
                    for (int64_t j = x0; j < x1; j++) f(at((n * oh + a) * ow + b), at((n * h + i) * w + j), share);
            }
}
Plan AdaptiveAvgPool2d(T self, IA, O out) {
    View x = need(self, "self"), y = need(out, "out");
    if (x.rank < 3 || y.rank != x.rank) reject("an input of rank ", x.rank, " and an output of rank ", y.rank);
    return {[=] {
        auto from = load<double>(x);
        std::vector<double> to(at(y.numel()));
        each_adaptive(x, y, [&](size_t o, size_t i, double share) { to[o] += from[i] * share; });
        store(y, to);
    }};
}
Plan AdaptiveAvgPool2dBackward(T grad, T self, O out) {
    View g = need(grad, "gradOutput"), x = need(self, "self"), y = need(out, "out");
    same_shape(y, shape_of(x), "out");
    return {[=] {
        auto up = load<double>(g);
        std::vector<double> to(at(x.numel()));
        each_adaptive(x, g, [&](size_t o, size_t i, double share) { to[i] += up[o] * share; });
        store(y, to);
    }};
}

Plan AdaptiveMaxPool2d(T self, IA, O out, O indices) {
    View x = need(self, "self"), y = need(out, "outputOut"), i = need(indices, "indicesOut");
    if (x.rank < 3 || y.rank != x.rank) reject("an input of rank ", x.rank, " and an output of rank ", y.rank);
    same_shape(i, shape_of(y), "indicesOut");
    return {[=] {
        with_float(kind_of(x.dtype), [&](auto kind) {
            using C = decltype(kind);
            auto from = load<C>(x);
            std::vector<C> to(at(y.numel()));
            std::vector<int64_t> where(to.size(), -1);
            int64_t places = x.sizes[x.rank - 2] * x.sizes[x.rank - 1];
            each_adaptive(x, y, [&](size_t o, size_t k, double) {
                if (where[o] >= 0 && !(from[k] > to[o] || from[k] != from[k])) return;
                to[o] = from[k];
                where[o] = static_cast<int64_t>(k) % places;
            });
            store(y, to);
            store(i, where);
        });
    }};
}
Plan AdaptiveMaxPool2dBackward(T grad, T self, T indices, O out) { return to_places(grad, self, indices, out); }

// ---- windows as columns: [samples, channels * taps, output places] ----

struct Columns {
    Window w;
    int64_t planes;
};
Columns columns_of(const View& image, const View& columns, IA kernel, IA dilation, IA padding, IA stride) {
    if (image.rank != 3 && image.rank != 4) reject("an image of rank ", image.rank);
    auto k = listed(kernel, 2, 1, "kernelSize"), d = listed(dilation, 2, 1, "dilation"),
         p = listed(padding, 2, 0, "padding"), s = listed(stride, 2, 1, "stride");
    Columns c;
    c.planes = 1;
    for (int i = 0; i < image.rank - 2; i++) c.planes *= image.sizes[i];
    for (int i = 0; i < 2; i++) {
        int64_t in = image.sizes[image.rank - 2 + i];
        c.w.in[i + 1] = in;
        c.w.kernel[i + 1] = k[at(i)];
        c.w.stride[i + 1] = s[at(i)];
        c.w.pad[i + 1] = p[at(i)];
        c.w.dilation[i + 1] = d[at(i)];
        c.w.out[i + 1] = (in + 2 * p[at(i)] - d[at(i)] * (k[at(i)] - 1) - 1) / s[at(i)] + 1;
    }
    Shape expected{image.sizes[image.rank - 3] * c.w.taps(), c.w.out_places()};
    if (image.rank == 4) expected.insert(expected.begin(), image.sizes[0]);
    same_shape(columns, expected, "the columns");
    return c;
}
// f(element of the columns, element of the image) for all that lie inside the image.
template <class F>
void each_column(const Columns& c, F f) {
    int64_t places = c.w.out_places(), taps = c.w.taps(), inside = c.w.in_places();
    for (int64_t plane = 0; plane < c.planes; plane++)
        for (int64_t o = 0; o < places; o++)
            c.w.each_tap(o, [&](int64_t there, int64_t tap) {
                f(at((plane * taps + tap) * places + o), at(plane * inside + there));
            });
}
Plan Im2col(T self, IA kernel, IA dilation, IA padding, IA stride, O out) {
    View x = need(self, "self"), y = need(out, "out");
    Columns c = columns_of(x, y, kernel, dilation, padding, stride);
    return {[=] {
        with_float(kind_of(x.dtype), [&](auto kind) {
            auto from = load<decltype(kind)>(x);
            std::vector<decltype(kind)> to(at(y.numel()));
            each_column(c, [&](size_t column, size_t image) { to[column] = from[image]; });
            store(y, to);
        });
    }};
}
Plan Im2colBackward(T grad, IA, IA kernel, IA dilation, IA padding, IA stride, O out) {
    View g = need(grad, "gradOutput"), x = need(out, "out");
    Columns c = columns_of(x, g, kernel, dilation, padding, stride);
    return {[=] {
        with_float(kind_of(x.dtype), [&](auto kind) {
            auto up = load<decltype(kind)>(g);
            std::vector<decltype(kind)> to(at(x.numel()));
            each_column(c, [&](size_t column, size_t image) { to[image] += up[column]; });
            store(x, to);
        });
    }};
}
}  // namespace

ACLNN(Convolution, T, T, T, IA, IA, IA, bool, IA, i64, O, i8)
ACLNN(ConvolutionBackward, T, T, T, IA, IA, IA, IA, bool, IA, i32, BA, i8, O, O, O)
ACLNN(MaxPool2dWithIndices, T, IA, IA, IA, IA, bool, O, O)
ACLNN(MaxPool2dWithIndicesBackward, T, T, T, IA, IA, IA, IA, bool, O)
ACLNN(AvgPool2d, T, IA, IA, IA, bool, bool, i64, i8, O)
ACLNN(AvgPool2dBackward, T, T, IA, IA, IA, bool, bool, i64, i8, O)
ACLNN(AdaptiveAvgPool2d, T, IA, O)
ACLNN(AdaptiveAvgPool2dBackward, T, T, O)
ACLNN(AdaptiveMaxPool2d, T, IA, O, O)
ACLNN(AdaptiveMaxPool2dBackward, T, T, T, O)
ACLNN(Im2col, T, IA, IA, IA, IA, O)
ACLNN(Im2colBackward, T, IA, IA, IA, IA, IA, O)
