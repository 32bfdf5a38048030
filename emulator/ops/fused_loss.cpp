// Cross entropy with what its gradient needs, in double precision, rounded once.
#include "fused.h"

using namespace emu;

namespace {

// What loss and gradient share: the weights of classes, which rows count, and how rows are brought together.
struct Reading {
    View input, target;
    Maybe weight;
    int64_t rows, classes, ignored;
    double smoothing;
    bool apart, mean;

    Reading(const View& x, T targets, T weights, str reduction, i64 ignore, f64 smooth)
        : input(x), target(need(targets, "target")), weight(weights), ignored(ignore), smoothing(smooth) {
        allow_rank(x, "input", 2, 2);
        rows = x.sizes[0], classes = x.sizes[1];
        allow(target, "target", {ACL_INT32, ACL_INT64});
        same_shape(target, {rows}, "target");
        if (weight.given) {
            allow(weight.view, "weightOptional", {ACL_FLOAT});
            same_shape(weight.view, {classes}, "weightOptional");
        }
        std::string how = text_or(reduction, "mean");
        if (how != "mean" && how != "sum" && how != "none")
            reject("reductionOptional is '", how, "', allowed: mean, sum, none");
        if (!(smooth >= 0 && smooth <= 1)) reject("labelSmoothing is ", smooth, ", allowed: 0 to 1");
        apart = how == "none", mean = how == "mean";
    }
    // The shares of the classes in a row's loss, which is -sum(share * log p).
    std::vector<double> shares(int64_t of, const std::vector<double>& w) const {
        std::vector<double> found(at(classes));
        if (of == ignored) return found;
        if (of < 0 || of >= classes) throw text("target ", of, " is out of bounds for ", classes, " classes");
        for (size_t c = 0; c < found.size(); c++) found[c] = smoothing / static_cast<double>(classes) * w[c];
        found[at(of)] += (1 - smoothing) * w[at(of)];
        return found;
    }
};
void no_zloss(f64 scale) {
    if (scale != 0) reject("lseSquareScaleForZloss is ", scale, ", allowed: 0");
}

Plan CrossEntropyLoss(T input, T target, T weight, str reduction, i64 ignore, f64 smoothing, f64 scale, bool zloss,
                      O loss, O log_prob, O, O) {
    View x = need(input, "input"), l = need(loss, "lossOut"), p = need(log_prob, "logProbOut");
    allow_float(x, "input");
    Reading r(x, target, weight, reduction, ignore, smoothing);
    no_zloss(scale);
    if (zloss) reject("returnZloss is true, allowed: false");
    same_shape(l, {r.apart ? r.rows : 1}, "lossOut");
    same_shape(p, shape_of(x), "logProbOut");
    allow_like(p, "logProbOut", x, "input");
    return {[=] {
        auto v = load<double>(x), w = r.weight.values(r.classes, 1);
        auto t = load<int64_t>(r.target);
        std::vector<double> losses(at(r.rows));
        double sum = 0, parts = 0;
        for (int64_t i = 0; i < r.rows; i++) {
            double* row = v.data() + i * r.classes;
            double top = *std::max_element(row, row + r.classes), all = 0;
            for (int64_t c = 0; c < r.classes; c++) all += std::exp(row[c] - top);
            for (int64_t c = 0; c < r.classes; c++) row[c] -= top + std::log(all);
            auto share = r.shares(t[at(i)], w);
            for (int64_t c = 0; c < r.classes; c++) losses[at(i)] -= share[at(c)] * row[c];
            sum += losses[at(i)];
            if (t[at(i)] != r.ignored) parts += w[at(t[at(i)])];
        }
        store(p, v);
        store(l, r.apart ? losses : std::vector<double>{r.mean ? sum / parts : sum});
    }};
}
Plan CrossEntropyLossGrad(T grad, T log_prob, T target, T weight, T grad_zloss, T lse, str reduction, i64 ignore,
                          f64 smoothing, f64 scale, O out) {
    View g = need(grad, "gradLoss"), p = need(log_prob, "logProb"), to = need(out, "out");
    allow_float(p, "logProb");
    Reading r(p, target, weight, reduction, ignore, smoothing);
    no_zloss(scale);
    refuse_given(given(grad_zloss), "gradZlossOptional");
    refuse_given(given(lse), "lseForZlossOptional");
    allow_count(g, "gradLoss", r.apart ? r.rows : 1);
    same_shape(to, shape_of(p), "out");
    return {[=] {
        auto v = load<double>(p), w = r.weight.values(r.classes, 1), up = load<double>(g);
        auto t = load<int64_t>(r.target);
        double parts = 1;
        if (r.mean) {
            parts = 0;
            for (int64_t of : t)
                if (of != r.ignored) parts += w[at(of)];
        }
        for (int64_t i = 0; i < r.rows; i++) {
            auto share = r.shares(t[at(i)], w);
            double all = 0, factor = (r.apart ? up[at(i)] : up[0]) / parts;
            for (double each : share) all += each;
            for (int64_t c = 0; c < r.classes; c++) {
                double& x = v[at(i * r.classes + c)];
                x = factor * (std::exp(x) * all - share[at(c)]);
            }
        }
        store(to, v);
    }};
}

}  // namespace

ACLNN(CrossEntropyLoss, T, T, T, str, i64, f64, f64, bool, O, O, O, O)
ACLNN(CrossEntropyLossGrad, T, T, T, T, T, T, str, i64, f64, f64, O)
