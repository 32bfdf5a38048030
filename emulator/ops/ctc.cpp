// Connectionist temporal classification: the likelihood of a label sequence over all its alignments.
#include "op.h"

using namespace emu;

namespace {

size_t at(int64_t i) { return static_cast<size_t>(i); }
const double kNever = -std::numeric_limits<double>::infinity();

double log_sum(std::initializer_list<double> terms) {
    double top = std::max(terms), sum = 0;
    if (top == kNever) return kNever;
    for (double t : terms) sum += std::exp(t - top);
    return top + std::log(sum);
}

struct Batch {
    View scores;  // [time, samples, classes]
    View targets;
    std::vector<int64_t> times, lengths;
    int64_t blank;
    int64_t steps, samples, classes;

    // The labels of a sample with blanks between them, around them, and at both ends.
    std::vector<int64_t> labels(const std::vector<int64_t>& all, int64_t sample) const {
        int64_t first = 0;
        for (int64_t i = 0; targets.rank == 1 && i < sample; i++) first += lengths[at(i)];
        if (targets.rank == 2) first = sample * targets.sizes[1];
        std::vector<int64_t> r{blank};
        for (int64_t i = 0; i < lengths[at(sample)]; i++) {
            int64_t label = all[at(first + i)];
            if (label < 0 || label >= classes) throw text("a target of ", label, " for ", classes, " classes");
            r.push_back(label);
            r.push_back(blank);
        }
        return r;
    }
    double score(const std::vector<double>& x, int64_t t, int64_t sample, int64_t label) const {
        return x[at((t * samples + sample) * classes + label)];
    }
};
Batch batch_of(T scores, T targets, IA times, IA lengths, i64 blank) {
    View s = need(scores, "logProbs"), t = need(targets, "targets");
    if (s.rank != 3) reject("logProbs of rank ", s.rank);
    if (t.rank != 1 && t.rank != 2) reject("targets of rank ", t.rank);
    if (!times || !lengths) throw Invalid{kParamNull, "inputLengths or targetLengths is null"};
    Batch b{s, t, times->values, lengths->values, blank, s.sizes[0], s.sizes[1], s.sizes[2]};
    if (b.times.size() != at(b.samples) || b.lengths.size() != at(b.samples))
        reject(b.times.size(), " input lengths and ", b.lengths.size(), " target lengths for ", b.samples, " samples");
    if (blank < 0 || blank >= b.classes) reject("blank is ", blank, " of ", b.classes, " classes");
    for (int64_t n : b.times)
        if (n < 0 || n > b.steps) reject("an input length of ", n, " of ", b.steps, " steps");
    return b;
}

// alpha[t][s]: the logarithm of the probability of all beginnings that are at label s at time t.
std::vector<double> forward_of(const Batch& b, const std::vector<double>& x, const std::vector<int64_t>& l, int64_t n) {
    int64_t width = static_cast<int64_t>(l.size()), steps = b.times[at(n)];
    std::vector<double> a(at(steps * width), kNever);
    for (int64_t t = 0; t < steps; t++)
        for (int64_t s = 0; s < width; s++) {
            const double* before = t ? &a[at((t - 1) * width)] : nullptr;
            double reach = t ? before[s] : s < 2 ? 0 : kNever;
            if (t && s > 0) {
                bool skips = s > 1 && l[at(s)] != l[at(s - 2)];  // two blanks are the same
                reach = log_sum({reach, before[s - 1], skips ? before[s - 2] : kNever});
            }
            a[at(t * width + s)] = reach + b.score(x, t, n, l[at(s)]);
        }
    return a;
}
double likelihood(const std::vector<double>& a, int64_t width, int64_t steps) {
    if (!steps) return width == 1 ? 0 : kNever;
    const double* last = &a[at((steps - 1) * width)];
    return log_sum({last[width - 1], width > 1 ? last[width - 2] : kNever});
}

Plan CtcLoss(T scores, T targets, IA times, IA lengths, i64 blank, bool zero_infinity, O losses, O alphas) {
    Batch b = batch_of(scores, targets, times, lengths, blank);
    View o = need(losses, "negLogLikelihoodOut"), k = need(alphas, "logAlphaOut");
    same_shape(o, {b.samples}, "negLogLikelihoodOut");
    int64_t longest = 0;
    for (int64_t n : b.lengths) longest = std::max(longest, n);
    same_shape(k, {b.samples, b.steps, 2 * longest + 1}, "logAlphaOut");
    return {[=] {
        auto x = load<double>(b.scores);
        auto all = load<int64_t>(b.targets);
        std::vector<double> y, kept(at(k.numel()), kNever);
        for (int64_t n = 0; n < b.samples; n++) {
            auto l = b.labels(all, n);
            auto a = forward_of(b, x, l, n);
            int64_t width = static_cast<int64_t>(l.size());
            for (size_t i = 0; i < a.size(); i++)
                kept[at((n * b.steps + static_cast<int64_t>(i) / width) * (2 * longest + 1)) + i % at(width)] = a[i];
            double loss = -likelihood(a, width, b.times[at(n)]);
            y.push_back(zero_infinity && std::isinf(loss) ? 0 : loss);
        }
        store(o, y);
        store(k, kept);
    }};
}
Plan CtcLossBackward(T grad, T scores, T targets, IA times, IA lengths, T losses, T, i64 blank, bool zero_infinity,
                     O out) {
    Batch b = batch_of(scores, targets, times, lengths, blank);
    View g = need(grad, "gradOut"), o = need(out, "out"), of = need(losses, "negLogLikelihood");
    same_shape(g, {b.samples}, "gradOut");
    same_shape(of, {b.samples}, "negLogLikelihood");
    same_shape(o, shape_of(b.scores), "out");
    return {[=] {
        auto x = load<double>(b.scores), up = load<double>(g);
        auto all = load<int64_t>(b.targets);
        std::vector<double> y(x.size());
        for (int64_t n = 0; n < b.samples; n++) {
            auto l = b.labels(all, n);
            int64_t width = static_cast<int64_t>(l.size()), steps = b.times[at(n)];
            auto a = forward_of(b, x, l, n);
            double total = likelihood(a, width, steps);
            if (zero_infinity && std::isinf(total)) continue;
            // The same from the end: what follows label s after time t.
            std::vector<double> after(at(width)), next;
            for (int64_t t = steps - 1; t >= 0; t--) {
                next = after;
                std::vector<double> share(at(b.classes), kNever);
                for (int64_t s = 0; s < width; s++) {
                    if (t == steps - 1) {
                        after[at(s)] = s >= width - 2 ? 0 : kNever;
                    } else {
                        auto follow = [&](int64_t k) {
                            return k < width ? next[at(k)] + b.score(x, t + 1, n, l[at(k)]) : kNever;
                        };
                        bool skips = s + 2 < width && l[at(s + 2)] != l[at(s)];
                        after[at(s)] = log_sum({follow(s), follow(s + 1), skips ? follow(s + 2) : kNever});
                    }
                    double& of_label = share[at(l[at(s)])];
                    of_label = log_sum({of_label, a[at(t * width + s)] + after[at(s)]});
                }
                for (int64_t c = 0; c < b.classes; c++) {
                    double score = b.score(x, t, n, c);
                    y[at((t * b.samples + n) * b.classes + c)] =
                        (std::exp(score) - std::exp(share[at(c)] - total)) * up[at(n)];
                }
            }
        }
        store(o, y);
    }};
}
}  // namespace

ACLNN(CtcLoss, T, T, IA, IA, i64, bool, O, O)
ACLNN(CtcLossBackward, T, T, T, IA, IA, T, T, i64, bool, O)
