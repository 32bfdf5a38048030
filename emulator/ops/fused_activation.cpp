// Activations that gate one half of a tensor by the other, and softmax with its scale and mask.
#include "fused.h"

using namespace emu;

namespace {

// A tensor seen as [outer, size of the halved dimension, inner].
struct Halves {
    int64_t outer = 1, half, inner = 1;
    Shape result;
    Halves(const View& x, int64_t dim) {
        int64_t d = wrap(dim, x.rank), size = x.rank ? x.sizes[d] : 1;
        if (size % 2) reject("the size of dimension ", dim, " is ", size, ", allowed: even sizes");
        half = size / 2;
        for (int64_t i = 0; i < x.rank; i++) (i < d ? outer : inner) *= i == d ? 1 : x.sizes[i];
        result = shape_of(x);
        if (x.rank) result[at(d)] = half;
    }
    // Calls f(place in the result, place of the left element, place of the right one).
    template <class F>
    void each(F f) const {
        for (int64_t o = 0; o < outer; o++)
            for (int64_t k = 0; k < half; k++)
                for (int64_t i = 0; i < inner; i++) {
                    size_t left = at((o * 2 * half + k) * inner + i);
                    f(at((o * half + k) * inner + i), left, left + at(half * inner));
                }
    }
};

Plan SwiGlu(T input, i64 dim, O out) {
    View x = need(input, "x"), y = need(out, "out");
    allow_float(x, "x");
    allow_like(y, "out", x, "x");
    Halves h(x, dim);
    same_shape(y, h.result, "out");
    return {[=] {
        auto v = load<double>(x);
        std::vector<double> made(v.size() / 2);
        h.each([&](size_t to, size_t a, size_t b) { made[to] = v[a] * sigmoid(v[a]) * v[b]; });
        store(y, made);
    }};
}
Plan SwiGluGrad(T grad, T input, i64 dim, O out) {
    View g = need(grad, "yGrad"), x = need(input, "x"), y = need(out, "out");
    allow_float(x, "x");
    allow_like(g, "yGrad", x, "x");
    Halves h(x, dim);
    same_shape(g, h.result, "yGrad");
    same_shape(y, shape_of(x), "out");
    return {[=] {
        auto v = load<double>(x), up = load<double>(g);
        std::vector<double> made(v.size());
        h.each([&](size_t from, size_t a, size_t b) {
            double s = sigmoid(v[a]);
            made[a] = up[from] * v[b] * s * (1 + v[a] * (1 - s));
            made[b] = up[from] * v[a] * s;
        });
        store(y, made);
    }};
}
Plan ClippedSwiglu(T input, T groups, i64 dim, f64 alpha, f64 limit, f64 bias, bool interleaved, O out) {
    View x = need(input, "x"), y = need(out, "out");
    allow_float(x, "x");
    Halves h(x, dim);
    same_shape(y, h.result, "out");
    Maybe group(groups);
    if (group.given) allow(group.view, "groupIndex", {ACL_INT64});
    return {[=] {
        auto v = load<double>(x);
        std::vector<double> made(v.size() / 2);
        int64_t rows = y.rank ? y.sizes[0] : 1, row = rows ? y.numel() / rows : 0, kept = rows;
        if (group.given) {
            kept = 0;
            for (int64_t n : load<int64_t>(group.view)) kept += n;
        }
        h.each([&](size_t to, size_t a, size_t b) {
            if (interleaved) {  // neighbours along the dimension, not halves
                int64_t i = static_cast<int64_t>(to) % h.inner, k = static_cast<int64_t>(to) / h.inner % h.half,
                        o = static_cast<int64_t>(to) / h.inner / h.half;
                a = at((o * 2 * h.half + 2 * k) * h.inner + i);
                b = a + at(h.inner);
            }
            double left = std::min(v[a], limit), right = std::min(std::max(v[b], -limit), limit);
            made[to] = row && static_cast<int64_t>(to) / row < kept ? left * sigmoid(alpha * left) * (right + bias) : 0;
        });
        store(y, made);
    }};
}

double gelu(double x, int64_t approximate) {
    if (approximate) return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    return 0.5 * x * (1 + std::erf(x * 0.7071067811865476));
}
Plan GeGluV3(T input, i64 dim, i64 approximate, bool left, O out, O active) {
    View x = need(input, "self"), y = need(out, "out"), g = need(active, "outGelu");
    allow_float(x, "self");
    allow_number(approximate, "approximate", 0, 1);
    Halves h(x, dim);
    same_shape(y, h.result, "out");
    same_shape(g, h.result, "outGelu");
    return {[=] {
        auto v = load<double>(x);
        std::vector<double> made(v.size() / 2), gates(v.size() / 2);
        h.each([&](size_t to, size_t a, size_t b) {
            gates[to] = gelu(v[left ? a : b], approximate);
            made[to] = gates[to] * v[left ? b : a];
        });
        store(y, made);
        store(g, gates);
    }};
}
Plan GeluMul(T input, str approximate, O out) {
    View x = need(input, "input"), y = need(out, "out");
    allow_float(x, "input");
    std::string mode = text_or(approximate, "none");
    if (mode != "none" && mode != "tanh") reject("approximate is '", mode, "', allowed: none, tanh");
    Halves h(x, -1);
    same_shape(y, h.result, "out");
    return {[=] {
        auto v = load<double>(x);
        std::vector<double> made(v.size() / 2);
        h.each([&](size_t to, size_t a, size_t b) { made[to] = gelu(v[a], mode == "tanh") * v[b]; });
        store(y, made);
    }};
}
Plan FastGelu(T input, O out) {
    View x = need(input, "self"), y = need(out, "out");
    allow_float(x, "self");
    same_shape(y, shape_of(x), "out");
    return {[=] {
        auto v = load<double>(x);
        for (auto& e : v) e *= sigmoid(1.702 * e);
        store(y, v);
    }};
}

// Scores and their mask, of which the second dimension may be one.
void check_masked(const View& x, const View& mask, const char* what) {
    allow_float(x, what);
    if (x.rank != 4) reject(what, " has ", x.rank, " dimensions, allowed: 4 (B, N, S, T)");
    for (int d = 2; d < 4; d++)
        if (x.sizes[d] % 32 || x.sizes[d] < 32 || x.sizes[d] > 4096)
            reject(what, " has the shape ", shown(shape_of(x)),
                   ", allowed: last two sizes that are multiples of 32 from 32 to 4096");
    allow(mask, "mask", {ACL_BOOL});
    broadcast({&x, &mask});
}
bool hidden_by_rule(int64_t i, const View& x) { return i % x.sizes[3] > i / x.sizes[3] % x.sizes[2]; }
Plan ScaledMaskedSoftmax(T input, T given, f64 scale, bool triangle, O out) {
    View x = need(input, "x"), m = need(given, "mask"), y = need(out, "y");
    check_masked(x, m, "x");
    same_shape(y, shape_of(x), "y");
    return {[=] {
        auto v = load<double>(x);
        auto hidden = load<int64_t>(m, shape_of(x));
        int64_t n = x.sizes[3];
        for (int64_t i = 0; i < static_cast<int64_t>(v.size()); i++)
            v[at(i)] = (triangle ? hidden_by_rule(i, x) : hidden[at(i)] != 0) ? -10000.0 : v[at(i)] * scale;
        for (size_t row = 0; row < v.size(); row += at(n)) {
            double top = *std::max_element(v.begin() + static_cast<std::ptrdiff_t>(row),
                                           v.begin() + static_cast<std::ptrdiff_t>(row + at(n))),
                   sum = 0;
            for (int64_t k = 0; k < n; k++) sum += v[row + at(k)] = std::exp(v[row + at(k)] - top);
            for (int64_t k = 0; k < n; k++) v[row + at(k)] /= sum;
        }
        store(y, v);
    }};
}
Plan ScaledMaskedSoftmaxBackward(T grad, T result, T given, f64 scale, bool triangle, O out) {
    View g = need(grad, "gradOutput"), p = need(result, "y"), m = need(given, "mask"), to = need(out, "out");
    check_masked(p, m, "y");
    same_shape(g, shape_of(p), "gradOutput");
    same_shape(to, shape_of(p), "out");
    return {[=] {
        auto up = load<double>(g), v = load<double>(p);
        auto hidden = load<int64_t>(m, shape_of(p));
        int64_t n = p.sizes[3];
        for (size_t row = 0; row < v.size(); row += at(n)) {
            double inner = 0;
            for (int64_t k = 0; k < n; k++) inner += up[row + at(k)] * v[row + at(k)];
            for (size_t i = row; i < row + at(n); i++) {
                bool none = triangle ? hidden_by_rule(static_cast<int64_t>(i), p) : hidden[i] != 0;
                up[i] = none ? 0 : (up[i] - inner) * v[i] * scale;
            }
        }
        store(to, up);
    }};
}

}  // namespace

ACLNN(SwiGlu, T, i64, O)
ACLNN(SwiGluGrad, T, T, i64, O)
ACLNN(ClippedSwiglu, T, T, i64, f64, f64, f64, bool, O)
ACLNN(GeGluV3, T, i64, i64, bool, O, O)
ACLNN(GeluMul, T, str, O)
ACLNN(FastGelu, T, O)
ACLNN(ScaledMaskedSoftmax, T, T, f64, bool, O)
ACLNN(ScaledMaskedSoftmaxBackward, T, T, T, f64, bool, O)
