// Normalisations and their gradients. Statistics are kept in float.
#include "reduction.h"

using namespace emu;

namespace {

int64_t trailing(const View& v, IA shape) {
    if (!shape) throw Invalid{kParamNull, "normalizedShape is null"};
    size_t n = shape->values.size();
    Shape own = shape_of(v);
    if (n > own.size() || Shape(own.end() - static_cast<std::ptrdiff_t>(n), own.end()) != shape->values)
        reject("normalizedShape is ", shown(shape->values), " for an input of shape ", shown(own));
    return product(shape->values);
}
struct Optional {
    bool is_given;
    View view;
    explicit Optional(T t) : is_given(t), view(t ? t->view : View()) {}
    std::vector<double> values(int64_t n, double otherwise) const {
        return is_given ? load<double>(view) : std::vector<double>(static_cast<size_t>(n), otherwise);
    }
    template <class X>
    void put(const X& x) const {
        if (is_given) store(view, x);
    }
};
size_t at(int64_t i) { return static_cast<size_t>(i); }

Plan LayerNorm(T input, IA shape, T weight, T bias, f64 eps, O out, O mean, O rstd) {
    View x = need(input, "input"), y = need(out, "out");
    same_shape(y, shape_of(x), "the output");
    int64_t n = trailing(x, shape), rows = n ? x.numel() / n : 0;
    Optional w(weight), b(bias), m(mean), r(rstd);
    return {[=] {
        auto v = load<double>(x);
        auto gain = w.values(n, 1), shift = b.values(n, 0);
        std::vector<double> means(at(rows)), rstds(at(rows));
        for (int64_t i = 0; i < rows; i++) {
            double* row = v.data() + i * n;
            double mu = sum_of(row, n) / static_cast<double>(n), squares = 0;
            for (int64_t k = 0; k < n; k++) squares += (row[k] - mu) * (row[k] - mu);
            double inverse = 1 / std::sqrt(squares / static_cast<double>(n) + eps);
            for (int64_t k = 0; k < n; k++) row[k] = (row[k] - mu) * inverse * gain[at(k)] + shift[at(k)];
            means[at(i)] = mu;
            rstds[at(i)] = inverse;
        }
        store(y, v);
        m.put(means);
        r.put(rstds);
    }};
}
Plan LayerNormBackward(T grad, T input, IA shape, T mean, T rstd, T weight, T bias, BA mask, O grad_input,
                       O grad_weight, O grad_bias) {
    View g = need(grad, "gradOut"), x = need(input, "input"), m = need(mean, "mean"), r = need(rstd, "rstd");
    if (!mask || mask->values.size() != 3) reject("outputMask must have three flags");
    int64_t n = trailing(x, shape), rows = n ? x.numel() / n : 0;
    Optional w(weight), gi(mask->values[0] ? grad_input : nullptr), gw(mask->values[1] ? grad_weight : nullptr),
        gb(mask->values[2] ? grad_bias : nullptr);
    return {[=] {
        auto up = load<double>(g), v = load<double>(x), means = load<double>(m), rstds = load<double>(r);
        auto gain = w.values(n, 1);
        std::vector<double> dw(at(n)), db(at(n));
        for (int64_t i = 0; i < rows; i++) {
            double *u = up.data() + i * n, *row = v.data() + i * n, a = 0, b = 0;
            for (int64_t k = 0; k < n; k++) {
                row[k] = (row[k] - means[at(i)]) * rstds[at(i)];
                dw[at(k)] += u[k] * row[k];
                db[at(k)] += u[k];
                u[k] *= gain[at(k)];
                a += u[k];
                b += u[k] * row[k];
            }
            for (int64_t k = 0; k < n; k++)
                u[k] = rstds[at(i)] * (u[k] - a / static_cast<double>(n) - row[k] * b / static_cast<double>(n));
        }
        gi.put(up);
        gw.put(dw);
        gb.put(db);
    }};
}
// An input as [samples, channels, places].
struct Channels {
    View x;
    int64_t samples, channels, places;
    explicit Channels(const View& v)
        : x(v), samples(v.rank > 0 ? v.sizes[0] : 0), channels(v.rank > 1 ? v.sizes[1] : 0), places(1) {
        if (v.rank < 2) reject("an input of rank ", v.rank, ", at least 2 is needed");
        for (int d = 2; d < v.rank; d++) places *= v.sizes[d];
    }
    template <class F>
    void each(int64_t c, F f) const {
        for (int64_t s = 0; s < samples; s++)
            for (int64_t p = 0; p < places; p++) f(at((s * channels + c) * places + p));
    }
};
Plan BatchNorm(T input, T weight, T bias, O running_mean, O running_var, bool training, f64 momentum, f64 eps, O out,
               O save_mean, O save_invstd) {
    Channels c(need(input, "input"));
    View y = need(out, "output");
    same_shape(y, shape_of(c.x), "the output");
    if (!training && (!running_mean || !running_var)) reject("without training the running statistics are needed");
    Optional w(weight), b(bias), rm(running_mean), rv(running_var), sm(save_mean), si(save_invstd);
    return {[=] {
        auto v = load<double>(c.x);
        auto gain = w.values(c.channels, 1), shift = b.values(c.channels, 0), mean = rm.values(c.channels, 0),
             var = rv.values(c.channels, 1);
        std::vector<double> means(at(c.channels)), inverses(at(c.channels));
        double n = static_cast<double>(c.samples * c.places);
        for (int64_t k = 0; k < c.channels; k++) {
            double mu = mean[at(k)], variance = var[at(k)];
            if (training) {
                double sum = 0, squares = 0;
                c.each(k, [&](size_t i) { sum += v[i]; });
                mu = sum / n;
                c.each(k, [&](size_t i) { squares += (v[i] - mu) * (v[i] - mu); });
                variance = squares / n;
                mean[at(k)] = (1 - momentum) * mean[at(k)] + momentum * mu;
                var[at(k)] = (1 - momentum) * var[at(k)] + momentum * squares / (n - 1);
            }
            double inverse = 1 / std::sqrt(variance + eps);
            c.each(k, [&](size_t i) { v[i] = (v[i] - mu) * inverse * gain[at(k)] + shift[at(k)]; });
            means[at(k)] = mu;
            inverses[at(k)] = inverse;
        }
        store(y, v);
        if (!training) return;
        rm.put(mean);
        rv.put(var);
        sm.put(means);
        si.put(inverses);
    }};
}
Plan BatchNormBackward(T grad, T input, T weight, T running_mean, T running_var, T save_mean, T save_invstd,
                       bool training, f64 eps, BA mask, O grad_input, O grad_weight, O grad_bias) {
    Channels c(need(input, "input"));
    View g = need(grad, "gradOut");
    same_shape(g, shape_of(c.x), "gradOut");
    if (!mask || mask->values.size() != 3) reject("outputMask must have three flags");
    Optional w(weight), rm(running_mean), rv(running_var), sm(save_mean), si(save_invstd),
        gi(mask->values[0] ? grad_input : nullptr), gw(mask->values[1] ? grad_weight : nullptr),
        gb(mask->values[2] ? grad_bias : nullptr);
    return {[=] {
        auto v = load<double>(c.x), up = load<double>(g);
        auto gain = w.values(c.channels, 1);
        auto mean = training ? sm.values(c.channels, 0) : rm.values(c.channels, 0);
        auto inverse = training ? si.values(c.channels, 1) : rv.values(c.channels, 1);
        if (!training)
            for (auto& e : inverse) e = 1 / std::sqrt(e + eps);
        std::vector<double> dw(at(c.channels)), db(at(c.channels));
        double n = static_cast<double>(c.samples * c.places);
        for (int64_t k = 0; k < c.channels; k++) {
            double a = 0, b = 0;
            c.each(k, [&](size_t i) {
                a += up[i];
                b += up[i] * (v[i] - mean[at(k)]) * inverse[at(k)];
            });
            db[at(k)] = a;
            dw[at(k)] = b;
            c.each(k, [&](size_t i) {
                double xhat = (v[i] - mean[at(k)]) * inverse[at(k)];
                up[i] = gain[at(k)] * inverse[at(k)] * (training ? up[i] - a / n - xhat * b / n : up[i]);
            });
        }
        gi.put(up);
        gw.put(dw);
        gb.put(db);
    }};
}
Plan GroupNorm(T input, T gamma, T beta, i64 samples, i64 channels, i64 places, i64 group, f64 eps, O out, O mean,
               O rstd) {
    View x = need(input, "self"), y = need(out, "out");
    same_shape(y, shape_of(x), "the output");
    if (group <= 0 || channels % group || samples * channels * places != x.numel())
        reject("N, C, HxW and group do not fit the input");
    Optional w(gamma), b(beta), m(mean), r(rstd);
    int64_t each = channels / group * places, rows = samples * group;
    return {[=] {
        auto v = load<double>(x);
        auto gain = w.values(channels, 1), shift = b.values(channels, 0);
        std::vector<double> means(at(rows)), inverses(at(rows));
        for (int64_t i = 0; i < rows; i++) {
            double* row = v.data() + i * each;
            double mu = sum_of(row, each) / static_cast<double>(each), squares = 0;
            for (int64_t k = 0; k < each; k++) squares += (row[k] - mu) * (row[k] - mu);
            double inverse = 1 / std::sqrt(squares / static_cast<double>(each) + eps);
            for (int64_t k = 0; k < each; k++) {
                size_t c = at(i % group * (channels / group) + k / places);
                row[k] = (row[k] - mu) * inverse * gain[c] + shift[c];
            }
            means[at(i)] = mu;
            inverses[at(i)] = inverse;
        }
        store(y, v);
        m.put(means);
        r.put(inverses);
    }};
}
Plan GroupNormBackward(T grad, T input, T mean, T rstd, T gamma, i64 samples, i64 channels, i64 places, i64 group,
                       BA mask, O grad_input, O grad_gamma, O grad_beta) {
    View g = need(grad, "gradOut"), x = need(input, "input"), m = need(mean, "mean"), r = need(rstd, "rstd");
    if (!mask || mask->values.size() != 3) reject("outputMask must have three flags");
    if (group <= 0 || channels % group || samples * channels * places != x.numel())
        reject("N, C, HxW and group do not fit the input");
    Optional w(gamma), gi(mask->values[0] ? grad_input : nullptr), gw(mask->values[1] ? grad_gamma : nullptr),
        gb(mask->values[2] ? grad_beta : nullptr);
    int64_t each = channels / group * places, rows = samples * group;
    return {[=] {
        auto up = load<double>(g), v = load<double>(x), means = load<double>(m), inverses = load<double>(r);
        auto gain = w.values(channels, 1);
        std::vector<double> dw(at(channels)), db(at(channels));
        for (int64_t i = 0; i < rows; i++) {
            double *u = up.data() + i * each, *row = v.data() + i * each, a = 0, b = 0;
            for (int64_t k = 0; k < each; k++) {
                size_t c = at(i % group * (channels / group) + k / places);
                row[k] = (row[k] - means[at(i)]) * inverses[at(i)];
                dw[c] += u[k] * row[k];
                db[c] += u[k];
                u[k] *= gain[c];
                a += u[k];
                b += u[k] * row[k];
            }
            double n = static_cast<double>(each);
            for (int64_t k = 0; k < each; k++) u[k] = inverses[at(i)] * (u[k] - a / n - row[k] * b / n);
        }
        gi.put(up);
        gw.put(dw);
        gb.put(db);
    }};
}
}  // namespace

ACLNN(LayerNorm, T, IA, T, T, f64, O, O, O)
ACLNN(LayerNormBackward, T, T, IA, T, T, T, T, BA, O, O, O)
ACLNN(BatchNorm, T, T, T, O, O, bool, f64, f64, O, O, O)
ACLNN(BatchNormBackward, T, T, T, T, T, T, T, bool, f64, BA, O, O, O)
ACLNN(GroupNorm, T, T, T, i64, i64, i64, i64, f64, O, O, O)
ACLNN(GroupNormBackward, T, T, T, T, T, i64, i64, i64, i64, BA, O, O, O)
