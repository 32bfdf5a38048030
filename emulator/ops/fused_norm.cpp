// Normalisations fused with what programs put before and after them, in double precision, rounded once.
#include "fused.h"

using namespace emu;

namespace {

// The elements of the last dimensions that a gain of these sizes covers.
int64_t covered(const View& x, const View& gamma, const char* what) {
    Shape own = shape_of(x), of = shape_of(gamma);
    if (of.empty() || of.size() > own.size() ||
        Shape(own.end() - static_cast<std::ptrdiff_t>(of.size()), own.end()) != of)
        reject(what, " has the shape ", shown(of), ", allowed: the last sizes of the input, ", shown(own));
    int64_t n = product(of);
    if (!n) reject(what, " has no elements");
    return n;
}
Shape statistic_of(const View& x, const View& gamma) {
    Shape s = shape_of(x);
    for (size_t d = s.size() - static_cast<size_t>(gamma.rank); d < s.size(); d++) s[d] = 1;
    return s;
}
// v becomes v / rms(v) * (gain + shift), row by row; returns the reciprocal roots.
std::vector<double> scale_rows(std::vector<double>& v, const std::vector<double>& gain, double eps, double shift) {
    int64_t n = static_cast<int64_t>(gain.size()), rows = static_cast<int64_t>(v.size()) / n;
    std::vector<double> inverse(at(rows));
    for (int64_t i = 0; i < rows; i++) {
        double *row = v.data() + i * n, squares = 0;
        for (int64_t k = 0; k < n; k++) squares += row[k] * row[k];
        inverse[at(i)] = 1 / std::sqrt(squares / static_cast<double>(n) + eps);
        for (int64_t k = 0; k < n; k++) row[k] *= inverse[at(i)] * (gain[at(k)] + shift);
    }
    return inverse;
}
std::vector<double> sum_of_both(const View& a, const View& b) {
    auto x = load<double>(a), y = load<double>(b);
    for (size_t i = 0; i < x.size(); i++) x[i] += y[i];
    return x;
}
// The checks of all operators that normalise x1 + x2.
int64_t check_added(const View& a, const View& b, const View& gamma) {
    allow_float(a, "x1");
    allow_like(b, "x2", a, "x1");
    same_shape(b, shape_of(a), "x2");
    return covered(a, gamma, "gamma");
}

// x / rms(x) * (gamma + shift), and the reciprocal roots where they are wanted.
Plan rms_norm(const View& x, const View& g, f64 eps, double shift, const View& y, const Maybe& root) {
    covered(x, g, "gamma");
    same_shape(y, shape_of(x), "yOut");
    if (root.given) same_shape(root.view, statistic_of(x, g), "rstdOut");
    return {[=] {
        auto v = load<double>(x);
        auto inverse = scale_rows(v, load<double>(g), eps, shift);
        store(y, v);
        root.put(inverse);
    }};
}
Plan RmsNorm(T input, T gain, f64 eps, O out, O root) {
    return rms_norm(need(input, "x"), need(gain, "gamma"), eps, 0, need(out, "yOut"), Maybe(root));
}
Plan GemmaRmsNorm(T input, T gain, f64 eps, O out, O root) {
    allow_float(need(input, "x"), "x");
    need(root, "rstdOut");
    return rms_norm(input->view, need(gain, "gamma"), eps, 1, need(out, "yOut"), Maybe(root));
}
Plan RmsNormGrad(T grad, T input, T rstd, T gamma, O grad_input, O grad_gamma) {
    View g = need(grad, "dy"), x = need(input, "x"), r = need(rstd, "rstd"), w = need(gamma, "gamma"),
         gi = need(grad_input, "dxOut"), gw = need(grad_gamma, "dgammaOut");
    same_shape(gi, shape_of(x), "dxOut");
    same_shape(gw, shape_of(w), "dgammaOut");
    int64_t n = w.numel(), rows = n ? x.numel() / n : 0;
    return {[=] {
        auto up = load<double>(g), v = load<double>(x), inverse = load<double>(r), gain = load<double>(w);
        std::vector<double> dw(at(n));
        for (int64_t i = 0; i < rows; i++) {
            double *u = up.data() + i * n, *row = v.data() + i * n, b = 0;
            for (int64_t k = 0; k < n; k++) {
                row[k] *= inverse[at(i)];
                dw[at(k)] += u[k] * row[k];
                u[k] *= gain[at(k)];
                b += u[k] * row[k];
            }
            for (int64_t k = 0; k < n; k++) u[k] = inverse[at(i)] * (u[k] - row[k] * b / static_cast<double>(n));
        }
        store(gi, up);
        store(gw, dw);
    }};
}
Plan AddRmsNorm(T x1, T x2, T gain, f64 eps, O out, O root, O sum) {
    View a = need(x1, "x1"), b = need(x2, "x2"), g = need(gain, "gamma"), y = need(out, "yOut"),
         r = need(root, "rstdOut"), s = need(sum, "xOut");
    check_added(a, b, g);
    same_shape(y, shape_of(a), "yOut");
    same_shape(s, shape_of(a), "xOut");
    same_shape(r, statistic_of(a, g), "rstdOut");
    allow(r, "rstdOut", {ACL_FLOAT});
    return {[=] {
        auto v = sum_of_both(a, b);
        store(s, v);
        auto inverse = scale_rows(v, load<double>(g), eps, 0);
        store(y, v);
        store(r, inverse);
    }};
}

// round(x / scale + zero), or times scale, in the range of int8.
void put_int8(const View& out, const std::vector<double>& x, const View& scales, const Maybe& zeros, bool divide) {
    auto scale = load<double>(scales);
    auto zero = zeros.values(static_cast<int64_t>(scale.size()), 0);
    std::vector<double> y(x.size());
    for (size_t i = 0; i < x.size(); i++) {
        double s = scale[i % scale.size()];
        y[i] = whole((divide ? x[i] / s : x[i] * s) + zero[i % zero.size()], -128, 127);
    }
    store(out, y);
}
Plan AddRmsNormQuantV2(T x1, T x2, T gain, T scales1, T scales2, T zeros1, T zeros2, T beta, i64 axis, f64 eps,
                       bool divide, O out1, O out2, O sum, O norm) {
    View a = need(x1, "x1"), b = need(x2, "x2"), g = need(gain, "gamma"), s1 = need(scales1, "scales1"),
         y1 = need(out1, "y1Out"), s = need(sum, "xOut");
    int64_t n = check_added(a, b, g);
    allow(a, "x1", {ACL_FLOAT16, ACL_BF16});
    allow_count(s1, "scales1", n);
    allow_number(axis, "axis", -1, -1);
    allow(y1, "y1Out", {ACL_INT8});
    same_shape(y1, shape_of(a), "y1Out");
    Maybe s2(scales2), z1(zeros1), z2(zeros2), shift(beta), y2(out2), whole_norm(norm);
    return {[=] {
        auto v = sum_of_both(a, b);
        store(s, v);
        scale_rows(v, load<double>(g), eps, 0);
        auto add = shift.values(n, 0);
        for (size_t i = 0; i < v.size(); i++) v[i] += add[i % add.size()];
        whole_norm.put(v);
        put_int8(y1, v, s1, z1, divide);
        if (s2.given)
            put_int8(y2.view, v, s2.view, z2, divide);
        else
            y2.put(std::vector<double>(v.size()));
    }};
}
Plan AddRmsNormQuant(T x1, T x2, T gain, T scales1, T scales2, T zeros1, T zeros2, i64 axis, f64 eps, bool divide,
                     O out1, O out2, O sum) {
    return AddRmsNormQuantV2(x1, x2, gain, scales1, scales2, zeros1, zeros2, nullptr, axis, eps, divide, out1, out2,
                             sum, nullptr);
}
// Each row by the scale that brings its largest element to 127.
void put_by_row(const Maybe& out, const Maybe& scales, std::vector<double> x, const Maybe& smooth, int64_t n) {
    auto factor = smooth.values(n, 1);
    std::vector<double> scale(x.size() / at(n));
    for (size_t i = 0; i < scale.size(); i++) {
        double largest = 0, *row = x.data() + i * at(n);
        for (int64_t k = 0; k < n; k++) {
            row[k] *= factor[at(k)];
            largest = std::max(largest, std::fabs(row[k]));
        }
        scale[i] = largest / 127;
        for (int64_t k = 0; k < n; k++) row[k] = largest == 0 ? 0 : whole(row[k] / scale[i], -128, 127);
    }
    out.put(x);
    scales.put(scale);
}
Plan AddRmsNormDynamicQuantV2(T x1, T x2, T gain, T smooth1, T smooth2, T beta, f64 eps, BA mask, O out1, O out2, O sum,
                              O scale1, O scale2) {
    View a = need(x1, "x1"), b = need(x2, "x2"), g = need(gain, "gamma"), s = need(sum, "xOut");
    int64_t n = check_added(a, b, g);
    allow(a, "x1", {ACL_FLOAT16, ACL_BF16});
    if (n != a.sizes[a.rank - 1]) reject("gamma has ", g.rank, " dimensions, allowed: 1");
    if (mask && mask->values.size() != 2) reject("outputMask has ", mask->values.size(), " flags, allowed: 2");
    Maybe f1(smooth1), f2(smooth2), shift(beta), y1(out1), y2(out2), q1(scale1), q2(scale2);
    if (f1.given) allow_count(f1.view, "smoothScale1", n);
    if (f2.given) allow_count(f2.view, "smoothScale2", n);
    bool first = mask ? mask->values[0] : true, second = mask ? mask->values[1] : f2.given;
    return {[=] {
        auto v = sum_of_both(a, b);
        store(s, v);
        scale_rows(v, load<double>(g), eps, 0);
        auto add = shift.values(n, 0);
        for (size_t i = 0; i < v.size(); i++) v[i] += add[i % add.size()];
        if (first) put_by_row(y1, q1, v, f1, n);
        if (second) put_by_row(y2, q2, v, f2, n);
    }};
}
Plan AddRmsNormDynamicQuant(T x1, T x2, T gain, T smooth1, T smooth2, f64 eps, O out1, O out2, O sum, O scale1,
                            O scale2) {
    return AddRmsNormDynamicQuantV2(x1, x2, gain, smooth1, smooth2, nullptr, eps, nullptr, out1, out2, sum, scale1,
                                    scale2);
}

// v becomes its layer norm, row by row; means and reciprocal deviations beside.
void layer_norm(std::vector<double>& v, const std::vector<double>& gain, const std::vector<double>& shift, double eps,
                std::vector<double>& means, std::vector<double>& inverses) {
    int64_t n = static_cast<int64_t>(gain.size()), rows = static_cast<int64_t>(v.size()) / n;
    means.resize(at(rows));
    inverses.resize(at(rows));
    for (int64_t i = 0; i < rows; i++) {
        double* row = v.data() + i * n;
        double mu = sum_of(row, n) / static_cast<double>(n), squares = 0;
        for (int64_t k = 0; k < n; k++) squares += (row[k] - mu) * (row[k] - mu);
        double inverse = 1 / std::sqrt(squares / static_cast<double>(n) + eps);
        for (int64_t k = 0; k < n; k++) row[k] = (row[k] - mu) * inverse * gain[at(k)] + shift[at(k)];
        means[at(i)] = mu;
        inverses[at(i)] = inverse;
    }
}
Plan AddLayerNorm(T x1, T x2, T gain, T beta, T bias, f64 eps, bool additional, O out, O mean, O root, O sum) {
    View a = need(x1, "x1"), b = need(x2, "x2"), g = need(gain, "gamma"), shift = need(beta, "beta"),
         y = need(out, "yOut"), m = need(mean, "meanOut"), r = need(root, "rstdOut");
    // One of the two may be of float beside a shorter one of the other.
    if ((a.dtype == ACL_FLOAT) != (b.dtype == ACL_FLOAT)) {
        allow_float(a, "x1");
        allow_float(b, "x2");
        allow(y, "yOut", {ACL_FLOAT});
        same_shape(b, shape_of(a), "x2");
    } else {
        check_added(a, b, g);
    }
    int64_t n = covered(a, g, "gamma");
    allow_count(shift, "beta", n);
    same_shape(y, shape_of(a), "yOut");
    Maybe add(bias), s(sum);
    if (additional && !s.given && a.numel()) reject("xOut is left out, and additionalOutput asks for it");
    return {[=] {
        auto v = sum_of_both(a, b);
        auto more = add.values(n, 0);
        for (size_t i = 0; i < v.size(); i++) v[i] += more[i % more.size()];
        if (additional) s.put(v);
        std::vector<double> means, inverses;
        layer_norm(v, load<double>(g), load<double>(shift), eps, means, inverses);
        store(y, v);
        store(m, means);
        store(r, inverses);
    }};
}
Plan DeepNorm(T input, T gx, T beta, T gain, f64 alpha, f64 eps, O mean, O root, O out) {
    View x = need(input, "x"), added = need(gx, "gx"), g = need(gain, "gamma"), shift = need(beta, "beta"),
         y = need(out, "yOut"), m = need(mean, "meanOut"), r = need(root, "rstdOut");
    allow_float(x, "x");
    allow_like(added, "gx", x, "x");
    same_shape(added, shape_of(x), "gx");
    int64_t n = covered(x, g, "gamma");
    allow_count(shift, "beta", n);
    same_shape(y, shape_of(x), "yOut");
    return {[=] {
        auto v = load<double>(x), w = load<double>(added);
        for (size_t i = 0; i < v.size(); i++) v[i] = v[i] * alpha + w[i];
        std::vector<double> means, inverses;
        layer_norm(v, load<double>(g), load<double>(shift), eps, means, inverses);
        store(y, v);
        store(m, means);
        store(r, inverses);
    }};
}
Plan GroupNormSilu(T input, T gain, T beta, i64 group, f64 eps, O out, O mean, O root) {
    View x = need(input, "self"), y = need(out, "out"), m = need(mean, "meanOut"), r = need(root, "rstdOut");
    allow_float(x, "self");
    if (x.rank < 2) reject("self has ", x.rank, " dimensions, allowed: 2 to 8");
    int64_t samples = x.sizes[0], channels = x.sizes[1];
    if (group <= 0 || channels % group) reject("group is ", group, ", allowed: a divisor of the channels, ", channels);
    same_shape(y, shape_of(x), "out");
    same_shape(m, {samples, group}, "meanOut");
    same_shape(r, {samples, group}, "rstdOut");
    Maybe w(gain), b(beta);
    if (w.given) allow_count(w.view, "gamma", channels);
    if (b.given) allow_count(b.view, "beta", channels);
    int64_t rows = samples * group, each = rows ? x.numel() / rows : 0, places = group ? each / (channels / group) : 0;
    return {[=] {
        auto v = load<double>(x), factor = w.values(channels, 1), shift = b.values(channels, 0);
        std::vector<double> ones(at(each), 1), none(at(each), 0), means(at(rows)), inverses(at(rows));
        if (each) layer_norm(v, ones, none, eps, means, inverses);
        for (int64_t i = 0; i < static_cast<int64_t>(v.size()); i++) {
            size_t c = at(i / places % channels);
            double e = v[at(i)] * factor[c] + shift[c];
            v[at(i)] = e * sigmoid(e);
        }
        store(y, v);
        store(m, means);
        store(r, inverses);
    }};
}

}  // namespace

ACLNN(RmsNorm, T, T, f64, O, O)
ACLNN(RmsNormGrad, T, T, T, T, O, O)
ACLNN(GemmaRmsNorm, T, T, f64, O, O)
ACLNN(AddRmsNorm, T, T, T, f64, O, O, O)
ACLNN(AddRmsNormQuant, T, T, T, T, T, T, T, i64, f64, bool, O, O, O)
ACLNN(AddRmsNormQuantV2, T, T, T, T, T, T, T, T, i64, f64, bool, O, O, O, O)
ACLNN(AddRmsNormDynamicQuant, T, T, T, T, T, f64, O, O, O, O, O)
ACLNN(AddRmsNormDynamicQuantV2, T, T, T, T, T, T, f64, BA, O, O, O, O, O)
ACLNN(AddLayerNorm, T, T, T, T, T, f64, bool, O, O, O, O)
ACLNN(DeepNorm, T, T, T, T, f64, f64, O, O, O)
ACLNN(GroupNormSilu, T, T, T, i64, f64, O, O, O)
