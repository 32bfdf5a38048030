// Steps of an optimizer, samples of the likeliest, rows written by their places.
#include "fused.h"

#include <numeric>

using namespace emu;

namespace {

double number_of(T t, const char* what) {
    const View& v = need(t, what);
    if (v.numel() != 1) reject(what, " has ", v.numel(), " elements, allowed: 1");
    allow_float(v, what);
    return 0;
}
Plan ApplyAdamW(O var, O m, O v, T power1, T power2, T rate, T decay, T beta1, T beta2, T epsilon, T grad, T largest,
                bool amsgrad, bool maximize) {
    View x = need(var, "varRef"), a = need(m, "mRef"), b = need(v, "vRef"), g = need(grad, "grad");
    allow_float(x, "varRef");
    for (auto& [view, what] : {std::pair{a, "mRef"}, {b, "vRef"}, {g, "grad"}}) {
        allow_like(view, what, x, "varRef");
        same_shape(view, shape_of(x), what);
    }
    for (auto& [t, what] : {std::pair{power1, "beta1Power"},
                            {power2, "beta2Power"},
                            {rate, "lr"},
                            {decay, "weightDecay"},
                            {beta1, "beta1"},
                            {beta2, "beta2"},
                            {epsilon, "eps"}})
        number_of(t, what);
    if (amsgrad) reject("amsgrad is true, allowed: false");
    refuse_given(given(largest), "maxGradNorm");
    View numbers[7] = {power1->view, power2->view, rate->view, decay->view, beta1->view, beta2->view, epsilon->view};
    return {[=, p1 = numbers[0], p2 = numbers[1], lr = numbers[2], wd = numbers[3], b1 = numbers[4], b2 = numbers[5],
             eps = numbers[6]] {
        auto one = [](const View& n) { return load<double>(n)[0]; };
        double first = one(b1), second = one(b2), step = one(lr);
        double down1 = 1 - one(p1) * first, down2 = 1 - one(p2) * second, keep = 1 - step * one(wd), tiny = one(eps);
        auto to = load<double>(x), mean = load<double>(a), square = load<double>(b), up = load<double>(g);
        for (size_t i = 0; i < to.size(); i++) {
            double e = maximize ? -up[i] : up[i];
            mean[i] = mean[i] * first + e * (1 - first);
            square[i] = square[i] * second + e * e * (1 - second);
            to[i] = to[i] * keep - step * mean[i] / down1 / (std::sqrt(square[i] / down2) + tiny);
        }
        store(x, to);
        store(a, mean);
        store(b, square);
    }};
}
// One step of AdamW whose numbers are numbers; `step` counts the steps before it, on the device.
Plan ApplyAdamWV2(O var, O m, O v, O largest, T grad, T step, float rate, float beta1, float beta2, float decay,
                  float epsilon, bool amsgrad, bool maximize) {
    View x = need(var, "varRef"), a = need(m, "mRef"), b = need(v, "vRef"), g = need(grad, "grad");
    View count = need(step, "step");
    allow_float(x, "varRef");
    allow_float(g, "grad");
    allow(count, "step", {ACL_INT64, ACL_FLOAT});
    if (count.numel() != 1) reject("step has ", count.numel(), " elements, allowed: 1");
    for (auto& [view, what] : {std::pair{a, "mRef"}, {b, "vRef"}}) {
        allow_like(view, what, x, "varRef");
        same_shape(view, shape_of(x), what);
    }
    same_shape(g, shape_of(x), "grad");
    if (amsgrad && !given(largest)) reject("amsgrad is true and maxGradNormOptionalRef is not given");
    View most = amsgrad ? largest->view : x;
    if (amsgrad) {
        allow_float(most, "maxGradNormOptionalRef");
        same_shape(most, shape_of(x), "maxGradNormOptionalRef");
    }
    double lr = rate, first = beta1, second = beta2, tiny = epsilon, wd = decay;
    return {[=] {
        double steps = load<double>(count)[0] + 1;
        double down1 = 1 - std::pow(first, steps), down2 = 1 - std::pow(second, steps);
        auto to = load<double>(x), mean = load<double>(a), square = load<double>(b), up = load<double>(g);
        std::vector<double> bound = amsgrad ? load<double>(most) : std::vector<double>();
        for (size_t i = 0; i < to.size(); i++) {
            double e = maximize ? -up[i] : up[i];
            mean[i] = mean[i] * first + e * (1 - first);
            square[i] = square[i] * second + e * e * (1 - second);
            if (amsgrad) bound[i] = std::max(bound[i], square[i]);
            double spread = amsgrad ? bound[i] : square[i];
            to[i] = to[i] * (1 - lr * wd) - lr * mean[i] / down1 / (std::sqrt(spread / down2) + tiny);
        }
        store(x, to);
        store(a, mean);
        store(b, square);
        if (amsgrad) store(most, bound);
    }};
}
Plan ApplyTopKTopP(T logits, T p, T k, O out) {
    View x = need(logits, "logits"), o = need(out, "out");
    allow_float(x, "logits");
    allow_rank(x, "logits", 2, 2);
    allow_like(o, "out", x, "logits");
    same_shape(o, shape_of(x), "out");
    Maybe share(p), count(k);
    int64_t rows = x.sizes[0], n = x.sizes[1];
    if (share.given) {
        allow_like(share.view, "p", x, "logits");
        allow_count(share.view, "p", rows);
    }
    if (count.given) {
        allow(count.view, "k", {ACL_INT32});
        allow_count(count.view, "k", rows);
    }
    return {[=] {
        auto v = load<double>(x);
        auto shares = share.values(rows, 1), counts = count.values(rows, static_cast<double>(n));
        for (int64_t i = 0; i < rows; i++) {
            double* row = v.data() + i * n;
            std::vector<int64_t> order(at(n));
            std::iota(order.begin(), order.end(), 0);
            std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return row[a] < row[b]; });
            int64_t kept = std::min(std::max<int64_t>(static_cast<int64_t>(counts[at(i)]), 1), n);
            double bound = row[order[at(n - kept)]], top = row[order[at(n - 1)]], sum = 0, below = 0;
            for (int64_t j = 0; j < n; j++)
                if (row[j] < bound) row[j] = -HUGE_VAL;
            for (int64_t j = 0; j < n; j++) sum += std::exp(row[j] - top);
            for (int64_t j = 0; share.given && j + 1 < n; j++) {
                double& e = row[order[at(j)]];
                below += std::exp(e - top) / sum;
                if (below <= 1 - shares[at(i)]) e = -HUGE_VAL;
            }
        }
        store(o, v);
    }};
}
Plan ScatterNdUpdate(O var, T indices, T updates) {
    View x = need(var, "varRef"), at_rows = need(indices, "indices"), u = need(updates, "updates");
    allow(at_rows, "indices", {ACL_INT32, ACL_INT64});
    allow_like(u, "updates", x, "varRef");
    if (at_rows.rank < 1) reject("indices has no dimensions");
    int64_t depth = at_rows.sizes[at_rows.rank - 1];
    allow_number(depth, "the last size of indices", 1, x.rank);
    Shape expected(at_rows.sizes, at_rows.sizes + at_rows.rank - 1);
    expected.insert(expected.end(), x.sizes + depth, x.sizes + x.rank);
    same_shape(u, expected, "updates");
    return {[=] {
        auto places = load<int64_t>(at_rows);
        int64_t count = static_cast<int64_t>(places.size()) / depth;
        View row = x, from = u;
        row.rank = from.rank = x.rank - static_cast<int>(depth);
        for (int d = 0; d < row.rank; d++) {
            row.sizes[d] = from.sizes[d] = x.sizes[d + depth];
            row.strides[d] = x.strides[d + depth];
            from.strides[d] = u.strides[u.rank - row.rank + d];
        }
        for (int64_t i = 0; i < count; i++) {
            row.offset = x.offset;
            for (int64_t d = 0; d < depth; d++) {
                int64_t place = places[at(i * depth + d)], n = x.sizes[d];
                if (place < 0 || place >= n) throw text("aclnnScatterNdUpdate: index ", place, " of a size of ", n);
                row.offset += place * x.strides[d];
            }
            from.offset = u.offset;
            int64_t rest = i;
            for (int d = at_rows.rank - 2; d >= 0; d--) {
                from.offset += rest % at_rows.sizes[d] * u.strides[d];
                rest /= at_rows.sizes[d];
            }
            if (kind_of(x.dtype) == Kind::I64)
                store(row, load<int64_t>(from));
            else
                store(row, load<double>(from));
        }
    }};
}

}  // namespace

ACLNN(ApplyAdamW, O, O, O, T, T, T, T, T, T, T, T, T, bool, bool)
ACLNN(ApplyAdamWV2, O, O, O, O, T, T, float, float, float, float, float, bool, bool)
ACLNN(ApplyTopKTopP, T, T, T, O)
ACLNN(ScatterNdUpdate, O, T, T)
