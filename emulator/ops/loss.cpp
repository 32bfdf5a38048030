// Softmax and losses, with their gradients.
#include "reduction.h"

#include <algorithm>

using namespace emu;

namespace {

// Along the last dimension of views: f(row of a, row of b, row of result, length).
template <class F>
Plan rowwise(const View& a, const View* b, const View& out, i64 dim, F f) {
    same_shape(out, shape_of(a), "the output");
    if (b) same_shape(*b, shape_of(a), "the second input");
    View x = last_dim(a, dim), y = b ? last_dim(*b, dim) : View(), to = last_dim(out, dim);
    bool two = b;
    if (!is_float(a.dtype)) reject("a softmax of ", dtype_name(a.dtype));
    return {[=] {
                with_float(kind_of(a.dtype), [&](auto c) {
                    using C = decltype(c);
                    auto first = load<C>(x);
                    auto second = two ? load<C>(y) : std::vector<C>();
                    std::vector<C> result(first.size());
                    int64_t n = length_of(x);
                    for (int64_t i = 0; n && i < static_cast<int64_t>(first.size()); i += n)
                        f(first.data() + i, two ? second.data() + i : nullptr, result.data() + i, n);
                    store(to, result);
                });
            },
            256};
}
Plan Softmax(T self, i64 dim, O out) {
    return rowwise(need(self, "self"), nullptr, need(out, "out"), dim, [](auto* x, auto*, auto* y, int64_t n) {
        auto top = *std::max_element(x, x + n);
        for (int64_t i = 0; i < n; i++) y[i] = std::exp(x[i] - top);
        auto sum = sum_of(y, n);
        for (int64_t i = 0; i < n; i++) y[i] /= sum;
    });
}
Plan LogSoftmax(T self, i64 dim, O out) {
    return rowwise(need(self, "self"), nullptr, need(out, "out"), dim, [](auto* x, auto*, auto* y, int64_t n) {
        auto top = *std::max_element(x, x + n);
        for (int64_t i = 0; i < n; i++) y[i] = std::exp(x[i] - top);
        auto log_sum = std::log(sum_of(y, n));
        for (int64_t i = 0; i < n; i++) y[i] = x[i] - top - log_sum;
    });
}
Plan SoftmaxBackward(T grad, T output, i64 dim, O out) {
    return rowwise(need(grad, "gradOutput"), &need(output, "output"), need(out, "out"), dim,
                   [](auto* g, auto* s, auto* y, int64_t n) {
                       for (int64_t i = 0; i < n; i++) y[i] = g[i] * s[i];
                       auto sum = sum_of(y, n);
                       for (int64_t i = 0; i < n; i++) y[i] -= s[i] * sum;
                   });
}
Plan LogSoftmaxBackward(T grad, T output, i64 dim, O out) {
    return rowwise(need(grad, "gradOutput"), &need(output, "output"), need(out, "out"), dim,
                   [](auto* g, auto* l, auto* y, int64_t n) {
                       auto sum = sum_of(g, n);
                       for (int64_t i = 0; i < n; i++) y[i] = g[i] - std::exp(l[i]) * sum;
                   });
}

// Class scores as [samples, classes, places].
struct Classes {
    View scores, target, weight;
    int64_t samples, classes, places, ignore;
    Shape result;
};
Classes classes_of(T self, T target, T weight, i64 reduction, i64 ignore) {
    Classes c;
    c.scores = need(self, "self");
    c.target = need(target, "target");
    c.weight = need(weight, "weight");
    if (reduction < 0 || reduction > 2) reject("reduction is ", reduction);
    int rank = c.scores.rank;
    if (rank < 1) reject("scores without dimensions");
    c.samples = rank == 1 ? 1 : c.scores.sizes[0];
    c.classes = rank == 1 ? c.scores.sizes[0] : c.scores.sizes[1];
    c.places = 1;
    Shape expected;
    if (rank > 1) expected.push_back(c.samples);
    for (int d = 2; d < rank; d++) {
        expected.push_back(c.scores.sizes[d]);
        c.places *= c.scores.sizes[d];
    }
    same_shape(c.target, expected, "target");
    same_shape(c.weight, {c.classes}, "weight");
    c.ignore = ignore;
    if (reduction == 0) c.result = expected;
    return c;
}
template <class F>
void each_target(const Classes& c, F f) {
    auto target = load<int64_t>(c.target);
    for (int64_t s = 0; s < c.samples; s++)
        for (int64_t p = 0; p < c.places; p++) {
            int64_t i = s * c.places + p, t = target[static_cast<size_t>(i)];
            if (t == c.ignore) continue;
            if (t < 0 || t >= c.classes) throw text("target ", t, " is out of bounds for ", c.classes, " classes");
            f(static_cast<size_t>(i), static_cast<size_t>((s * c.classes + t) * c.places + p), static_cast<size_t>(t));
        }
}
Plan NLLLoss(T self, T target, T weight, i64 reduction, i64 ignore, O out, O total) {
    Classes c = classes_of(self, target, weight, reduction, ignore);
    View o = need(out, "out"), w = need(total, "totalWeightOut");
    same_shape(o, c.result, "the output");
    return {[=] {
        with_float(kind_of(c.scores.dtype), [&](auto k) {
            using C = decltype(k);
            auto x = load<C>(c.scores);
            auto weights = load<C>(c.weight);
            std::vector<C> each(static_cast<size_t>(c.samples * c.places)), counted(each.size());
            each_target(c, [&](size_t i, size_t at, size_t t) {
                each[i] = -x[at] * weights[t];
                counted[i] = weights[t];
            });
            C sum = sum_of(counted);
            if (reduction == 0)
                store(o, each);
            else
                store(o, std::vector<C>{reduction == 1 ? sum_of(each) / sum : sum_of(each)});
            store(w, std::vector<C>(static_cast<size_t>(w.numel()), sum));
        });
    }};
}
Plan NLLLossBackward(T grad, T self, T target, T weight, i64 reduction, i64 ignore, T total, O out) {
    Classes c = classes_of(self, target, weight, reduction, ignore);
    View g = need(grad, "gradOutput"), w = need(total, "totalWeight"), o = need(out, "out");
    same_shape(o, shape_of(c.scores), "the output");
    same_shape(g, c.result, "gradOutput");
    return {[=] {
        with_float(kind_of(c.scores.dtype), [&](auto k) {
            using C = decltype(k);
            auto weights = load<C>(c.weight), upstream = load<C>(g);
            C sum = load<C>(w)[0];
            std::vector<C> x(static_cast<size_t>(c.samples * c.classes * c.places));
            each_target(c, [&](size_t i, size_t at, size_t t) {
                x[at] = -weights[t] * (reduction == 0 ? upstream[i] : upstream[0]);
                if (reduction == 1) x[at] /= sum;
            });
            store(o, x);
        });
    }};
}

// Element-wise losses: f(input, target, index), reduced.
template <class F>
Plan elementwise_loss(T self, T target, i64 reduction, O out, F f) {
    View a = need(self, "self"), b = need(target, "target"), o = need(out, "out");
    Shape shape = broadcast({&a, &b});
    same_shape(o, reduction == 0 ? shape : Shape(), "the output");
    return {[=] {
        with_float(kind_of(a.dtype), [&](auto c) {
            using C = decltype(c);
            auto x = load<C>(a, shape), y = load<C>(b, shape);
            f.begin(c, shape);
            for (size_t i = 0; i < x.size(); i++) x[i] = static_cast<C>(f(x[i], y[i], i));
            if (reduction == 0) return store(o, x);
            C sum = sum_of(x);
            store(o, std::vector<C>{reduction == 1 ? sum / static_cast<C>(x.size()) : sum});
        });
    }};
}
template <class F>
Plan elementwise_gradient(T grad, T self, T target, i64 reduction, O out, F f) {
    View g = need(grad, "gradOutput"), a = need(self, "self"), b = need(target, "target"), o = need(out, "out");
    Shape shape = broadcast({&a, &b});
    same_shape(o, shape, "the output");
    if (broadcast({&g, &o}) != shape) reject("gradOutput of shape ", shown(shape_of(g)), " for ", shown(shape));
    return {[=] {
        with_float(kind_of(a.dtype), [&](auto c) {
            using C = decltype(c);
            auto x = load<C>(a, shape), y = load<C>(b, shape), up = load<C>(g, shape);
            C scale = reduction == 1 ? C(1) / static_cast<C>(x.size()) : C(1);
            f.begin(c, shape);
            for (size_t i = 0; i < x.size(); i++) x[i] = static_cast<C>(f(x[i], y[i], i) * up[i] * scale);
            store(o, x);
        });
    }};
}
// A function without further inputs.
template <class F>
struct Simple {
    F f;
    template <class C>
    void begin(C, const Shape&) const {}
    template <class C>
    C operator()(C a, C b, size_t) const {
        return f(a, b);
    }
};
template <class F>
Simple(F) -> Simple<F>;
// With optional weights of elements.
template <class F>
struct Weighted {
    F f;
    bool has_weight, has_positive;
    View weight, positive;
    std::shared_ptr<std::vector<double>> w = std::make_shared<std::vector<double>>(),
                                         p = std::make_shared<std::vector<double>>();
    template <class C>
    void begin(C, const Shape& shape) const {
        if (has_weight) *w = load<double>(weight, shape);
        if (has_positive) *p = load<double>(positive, shape);
    }
    template <class C>
    C operator()(C a, C b, size_t i) const {
        C value = f(a, b, static_cast<C>(has_positive ? (*p)[i] : 1.0));
        return has_weight ? value * static_cast<C>((*w)[i]) : value;
    }
};
template <class F>
Weighted<F> weighted(F f, T weight, T positive) {
    return {f, given(weight), given(positive), weight ? weight->view : View(), positive ? positive->view : View()};
}

Plan MseLoss(T self, T target, i64 reduction, O out) {
    return elementwise_loss(self, target, reduction, out, Simple{[](auto a, auto b) { return (a - b) * (a - b); }});
}
Plan MseLossBackward(T grad, T self, T target, i64 reduction, O out) {
    return elementwise_gradient(grad, self, target, reduction, out, Simple{[](auto a, auto b) { return 2 * (a - b); }});
}
Plan SmoothL1Loss(T self, T target, i64 reduction, f32 beta, O out) {
    return elementwise_loss(self, target, reduction, out, Simple{[beta](auto a, auto b) {
                                using C = decltype(a);
                                C d = std::fabs(a - b);
                                return d < C(beta) ? C(0.5) * d * d / C(beta) : d - C(0.5) * C(beta);
                            }});
}
Plan SmoothL1LossBackward(T grad, T self, T target, i64 reduction, f32 beta, O out) {
    return elementwise_gradient(grad, self, target, reduction, out, Simple{[beta](auto a, auto b) {
                                    using C = decltype(a);
                                    C d = a - b;
                                    return std::fabs(d) < C(beta) ? d / C(beta) : C((d > 0) - (d < 0));
                                }});
}
Plan BinaryCrossEntropy(T self, T target, T weight, i64 reduction, O out) {
    return elementwise_loss(
        self, target, reduction, out,
        weighted(
            [](auto a, auto b, auto) {
                using C = decltype(a);
                return -(b * std::max(std::log(a), C(-100)) + (C(1) - b) * std::max(std::log1p(-a), C(-100)));
            },
            weight, nullptr));
}
Plan BinaryCrossEntropyBackward(T grad, T self, T target, T weight, i64 reduction, O out) {
    return elementwise_gradient(grad, self, target, reduction, out,
                                weighted(
                                    [](auto a, auto b, auto) {
                                        using C = decltype(a);
                                        return (a - b) / std::max(a * (C(1) - a), C(1e-12));
                                    },
                                    weight, nullptr));
}
Plan BinaryCrossEntropyWithLogits(T self, T target, T weight, T positive, i64 reduction, O out) {
    return elementwise_loss(self, target, reduction, out,
                            weighted(
                                [](auto x, auto t, auto p) {
                                    using C = decltype(x);
                                    C log_weight = C(1) + (p - C(1)) * t;
                                    return (C(1) - t) * x +
                                           log_weight * (std::log1p(std::exp(-std::fabs(x))) + std::max(-x, C(0)));
                                },
                                weight, positive));
}
Plan BinaryCrossEntropyWithLogitsBackward(T grad, T self, T target, T weight, T positive, i64 reduction, O out) {
    return elementwise_gradient(grad, self, target, reduction, out,
                                weighted(
                                    [](auto x, auto t, auto p) {
                                        using C = decltype(x);
                                        C s = C(1) / (C(1) + std::exp(-x)), q = p * t;
                                        return (q + C(1) - t) * s - q;
                                    },
                                    weight, positive));
}
}  // namespace

ACLNN(Softmax, T, i64, O)
ACLNN(LogSoftmax, T, i64, O)
ACLNN(SoftmaxBackward, T, T, i64, O)
ACLNN(LogSoftmaxBackward, T, T, i64, O)
ACLNN(NLLLoss, T, T, T, i64, i64, O, O)
ACLNN(NLLLossBackward, T, T, T, T, i64, i64, T, O)
ACLNN_AS(NLLLoss2d, NLLLoss, T, T, T, i64, i64, O, O)
ACLNN(MseLoss, T, T, i64, O)
ACLNN(MseLossBackward, T, T, T, i64, O)
ACLNN(SmoothL1Loss, T, T, i64, f32, O)
ACLNN(SmoothL1LossBackward, T, T, T, i64, f32, O)
ACLNN(BinaryCrossEntropy, T, T, T, i64, O)
ACLNN(BinaryCrossEntropyBackward, T, T, T, T, i64, O)
ACLNN(BinaryCrossEntropyWithLogits, T, T, T, T, i64, O)
ACLNN(BinaryCrossEntropyWithLogitsBackward, T, T, T, T, T, i64, O)
