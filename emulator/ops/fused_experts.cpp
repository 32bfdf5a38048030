// Mixtures of experts: who takes a token, tokens in the order of their experts, and back.
#include "fused.h"

#include <numeric>

using namespace emu;

namespace {

void allow_index(const View& v, const char* what) { allow(v, what, {ACL_INT32, ACL_INT64}); }

// The places of the k largest, ties by the lower place.
std::vector<int64_t> largest(const double* x, int64_t n, int64_t k) {
    std::vector<int64_t> order(at(n));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return x[a] > x[b]; });
    order.resize(at(k));
    return order;
}
void softmax(double* x, int64_t n) {
    double top = *std::max_element(x, x + n), sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] = std::exp(x[i] - top);
    for (int64_t i = 0; i < n; i++) x[i] /= sum;
}

Plan MoeGatingTopKSoftmax(T input, T finished, i64 k, O out, O experts, O rows) {
    View x = need(input, "x"), y = need(out, "yOut"), e = need(experts, "expertIdxOut"), r = need(rows, "rowIdxOut");
    allow_float(x, "x");
    allow_rank(x, "x", 2, 3);
    int64_t n = x.sizes[x.rank - 1];
    allow_number(k, "k", 1, std::min<int64_t>(n, 1024));
    Shape expected = shape_of(x);
    expected.back() = k;
    same_shape(y, expected, "yOut");
    same_shape(e, expected, "expertIdxOut");
    same_shape(r, expected, "rowIdxOut");
    Maybe done(finished);
    int64_t count = x.numel() / n;
    if (done.given) {
        allow(done.view, "finished", {ACL_BOOL});
        allow_count(done.view, "finished", count);
    }
    return {[=] {
        auto v = load<double>(x);
        auto over = done.given ? load<int64_t>(done.view) : std::vector<int64_t>(at(count));
        std::vector<double> made;
        std::vector<int64_t> chosen, places;
        for (int64_t i = 0; i < count; i++) {
            double* row = v.data() + i * n;
            softmax(row, n);
            auto best = largest(row, n, k);
            for (int64_t j = 0; j < k; j++) {
                made.push_back(row[best[at(j)]]);
                chosen.push_back(over[at(i)] ? n : best[at(j)]);
                places.push_back(j * count + i);
            }
        }
        store(y, made);
        store(e, chosen);
        store(r, places);
    }};
}
Plan MoeGatingTopK(T input, T bias, i64 k, i64 k_group, i64 groups, i64 select, i64 renorm, i64 norm, bool everything,
                   f64 factor, f64 eps, O out, O experts, O all) {
    View x = need(input, "x"), y = need(out, "yOut"), e = need(experts, "expertIdxOut");
    allow_float(x, "x");
    allow_rank(x, "x", 2, 2);
    int64_t rows = x.sizes[0], n = x.sizes[1];
    allow_number(groups, "groupCount", 1, n);
    if (n % groups) reject("groupCount is ", groups, ", allowed: divisors of the experts, ", n);
    allow_number(k_group, "kGroup", 1, groups);
    allow_number(k, "k", 1, n / groups * k_group);
    allow_number(select, "groupSelectMode", 0, 1);
    allow_number(renorm, "renorm", 0, 0);
    allow_number(norm, "normType", 0, 1);
    same_shape(y, {rows, k}, "yOut");
    same_shape(e, {rows, k}, "expertIdxOut");
    Maybe shift(bias), p(all);
    if (shift.given) allow_count(shift.view, "bias", n);
    return {[=] {
        auto v = load<double>(x);
        auto add = shift.values(n, 0);
        int64_t each = n / groups;
        std::vector<double> made;
        std::vector<int64_t> chosen;
        for (int64_t i = 0; i < rows; i++) {
            double* row = v.data() + i * n;
            if (norm == 0)
                softmax(row, n);
            else
                for (int64_t j = 0; j < n; j++) row[j] = sigmoid(row[j]);
            std::vector<double> score(row, row + n), of_group(at(groups));
            for (int64_t j = 0; j < n; j++) score[at(j)] += add[at(j)];
            for (int64_t g = 0; g < groups; g++) {
                auto best = largest(score.data() + g * each, each, std::min<int64_t>(select ? 2 : 1, each));
                for (int64_t j : best) of_group[at(g)] += score[at(g * each + j)];
            }
            std::vector<bool> kept(at(groups));
            for (int64_t g : largest(of_group.data(), groups, k_group)) kept[at(g)] = true;
            for (int64_t j = 0; j < n; j++)
                if (!kept[at(j / each)]) score[at(j)] = -HUGE_VAL;
            double sum = 0;
            auto best = largest(score.data(), n, k);
            for (int64_t j : best) sum += row[j];
            for (int64_t j : best) {
                made.push_back((norm == 1 ? row[j] / (sum + eps) : row[j]) * factor);
                chosen.push_back(j);
            }
        }
        store(y, made);
        store(e, chosen);
        if (everything) p.put(v);
    }};
}

std::vector<int64_t> stable_order(const std::vector<int64_t>& keys) {
    std::vector<int64_t> order(keys.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return keys[at(a)] < keys[at(b)]; });
    return order;
}
// Rows of a matrix, elements as they are.
struct Matrix {
    std::vector<double> v;
    int64_t width;
    Matrix(const View& x) : v(load<double>(x)), width(x.rank ? x.sizes[x.rank - 1] : 1) {}
    const double* row(int64_t i) const { return v.data() + i * width; }
    int64_t rows() const { return width ? static_cast<int64_t>(v.size()) / width : 0; }
};
void append(std::vector<double>& to, const double* row, int64_t n) { to.insert(to.end(), row, row + n); }

Plan MoeInitRouting(T input, T rows, T experts, i64 active, O out, O places, O sorted) {
    View x = need(input, "x"), r = need(rows, "rowIdx"), e = need(experts, "expertIdx"), y = need(out, "expandedXOut"),
         p = need(places, "expandedRowIdxOut"), s = need(sorted, "expandedExpertIdxOut");
    allow_float(x, "x");
    allow_rank(x, "x", 2, 2);
    allow_rank(e, "expertIdx", 2, 2);
    allow(r, "rowIdx", {ACL_INT32});
    allow(e, "expertIdx", {ACL_INT32});
    same_shape(r, shape_of(e), "rowIdx");
    if (e.sizes[0] != x.sizes[0]) reject("expertIdx has ", e.sizes[0], " rows, allowed: those of x, ", x.sizes[0]);
    if (active < 0) reject("activeNum is ", active, ", allowed: 0 and more");
    int64_t count = std::min(active, x.sizes[0]) * e.sizes[1];
    same_shape(y, {count, x.sizes[1]}, "expandedXOut");
    return {[=] {
        Matrix m(x);
        auto from = load<int64_t>(r), by = load<int64_t>(e);
        auto order = stable_order(by);
        std::vector<double> made;
        std::vector<int64_t> where(order.size()), experts_in_order;
        for (size_t i = 0; i < order.size(); i++) {
            int64_t source = from[at(order[i])];
            if (static_cast<int64_t>(i) < count) append(made, m.row(source % x.sizes[0]), m.width);
            where[at(source)] = static_cast<int64_t>(i);
            experts_in_order.push_back(by[at(order[i])]);
        }
        store(y, made);
        store(p, where);
        store(s, experts_in_order);
    }};
}
Plan MoeInitRoutingV3(T input, T experts, T scale, T offset, i64 active, i64, i64 number, i64 drop, i64 kind, bool,
                      i64 quant, IA range, i64 index_kind, O out, O places, O counts, O scales) {
    View x = need(input, "x"), e = need(experts, "expertIdx"), y = need(out, "expandedXOut"),
         p = need(places, "expandedRowIdxOut"), c = need(counts, "expertTokensCountOrCumsumOut");
    Maybe by(scale), of_rows(scales);
    allow_rank(x, "x", 2, 2);
    allow_rank(e, "expertIdx", 2, 2);
    allow(e, "expertIdx", {ACL_INT32});
    if (e.sizes[0] != x.sizes[0]) reject("expertIdx has ", e.sizes[0], " rows, allowed: those of x, ", x.sizes[0]);
    if (drop != 0 || quant != -1 || offset)
        reject("dropPadMode, quantMode and offset are only emulated as 0, -1 and none");
    if (kind != 0 && kind != 1) reject("expertTokensNumType is ", kind, ", emulated: 0 (ends) and 1 (counts)");
    if (index_kind != 0 && index_kind != 1) reject("rowIdxType is ", index_kind, ", allowed: 0 and 1");
    int64_t first = 0, last = number;
    if (range && !range->values.empty()) {
        if (range->values.size() != 2) reject("activeExpertRange has ", range->values.size(), " numbers, allowed: 2");
        first = range->values[0], last = range->values[1];
    }
    if (first < 0 || last > number || first >= last)
        reject("activeExpertRange is ", first, " to ", last, ", allowed: within 0 to expertNum, ", number);
    const int64_t n = e.numel(), k = e.sizes[1], room = active > 0 ? std::min(active, n) : n;
    same_shape(y, {room, x.sizes[1]}, "expandedXOut");
    same_shape(p, {n}, "expandedRowIdxOut");
    same_shape(c, {last - first}, "expertTokensCountOrCumsumOut");
    if (by.given) same_shape(by.view, {x.sizes[0]}, "scale"), same_shape(of_rows.view, {room}, "expandedScaleOut");
    return {[=] {
        Matrix m(x);
        auto v = load<int64_t>(e), order = std::vector<int64_t>(at(n));
        std::iota(order.begin(), order.end(), 0);
        auto here = [&](int64_t i) { return v[at(i)] >= first && v[at(i)] < last; };
        auto key = [&](int64_t i) { return v[at(i)] < first ? std::numeric_limits<int64_t>::max() : v[at(i)]; };
        std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return key(a) < key(b); });
        std::vector<double> made = load<double>(y), factors = by.values(x.sizes[0], 1), chosen(at(room));
        if (by.given) chosen = load<double>(of_rows.view);
        std::vector<int64_t> where(at(n), -1), held(at(last - first));
        for (int64_t i = 0; i < n && here(order[at(i)]); i++) {
            const int64_t place = order[at(i)];
            where[at(place)] = i;
            held[at(v[at(place)] - first)]++;
            if (i >= room) continue;
            std::copy_n(m.row(place / k), m.width, made.begin() + i * m.width);
            chosen[at(i)] = factors[at(place / k)];
        }
        if (kind == 0) std::partial_sum(held.begin(), held.end(), held.begin());
        store(y, made);
        store(p, index_kind == 0 ? where : order);
        store(c, held);
        if (by.given) of_rows.put(chosen);
    }};
}
Plan MoeComputeExpertTokens(T sorted, i64 experts, O out) {
    View s = need(sorted, "sortedExperts"), y = need(out, "out");
    allow(s, "sortedExperts", {ACL_INT32});
    if (experts <= 0) reject("numExperts is ", experts, ", allowed: 1 and more");
    same_shape(y, {experts}, "out");
    return {[=] {
        auto v = load<int64_t>(s);
        std::vector<int64_t> made;
        for (int64_t e = 0; e < experts; e++) made.push_back(std::upper_bound(v.begin(), v.end(), e) - v.begin());
        store(y, made);
    }};
}
Plan MoeTokenPermute(T tokens, T indices, i64 kept, bool padded, O out, O places) {
    View x = need(tokens, "tokens"), e = need(indices, "indices"), y = need(out, "permuteTokensOut"),
         p = need(places, "sortedIndicesOut");
    allow_rank(x, "tokens", 2, 2);
    allow_rank(e, "indices", 1, 2);
    allow_index(e, "indices");
    if (padded) reject("paddedMode is true, allowed: false");
    if (e.sizes[0] != x.sizes[0]) reject("indices has ", e.sizes[0], " rows, allowed: those of tokens, ", x.sizes[0]);
    int64_t k = e.rank == 2 ? e.sizes[1] : 1, count = kept > 0 ? std::min(kept, e.numel()) : e.numel() + kept;
    same_shape(y, {count, x.sizes[1]}, "permuteTokensOut");
    same_shape(p, {e.numel()}, "sortedIndicesOut");
    allow(p, "sortedIndicesOut", {ACL_INT32});
    return {[=] {
        Matrix m(x);
        auto order = stable_order(load<int64_t>(e));
        std::vector<double> made;
        std::vector<int64_t> where(order.size());
        for (size_t i = 0; i < order.size(); i++) {
            if (static_cast<int64_t>(i) < count) append(made, m.row(order[i] / k), m.width);
            where[at(order[i])] = static_cast<int64_t>(i);
        }
        store(y, made);
        store(p, where);
    }};
}
Plan MoeTokenPermuteGrad(T grad, T places, i64 k, bool padded, O out) {
    View g = need(grad, "permutedOutputGrad"), p = need(places, "sortedIndices"), y = need(out, "out");
    allow_index(p, "sortedIndices");
    if (padded) reject("paddedMode is true, allowed: false");
    if (k <= 0 || p.numel() % k) reject("numTopk is ", k, ", allowed: divisors of ", p.numel());
    same_shape(y, {p.numel() / k, g.sizes[1]}, "out");
    return {[=] {
        Matrix m(g);
        auto where = load<int64_t>(p);
        std::vector<double> made(at(y.numel()));
        for (size_t i = 0; i < where.size(); i++) {
            if (where[i] >= m.rows()) continue;
            double* to = made.data() + static_cast<int64_t>(i) / k * m.width;
            for (int64_t j = 0; j < m.width; j++) to[j] += m.row(where[i])[j];
        }
        store(y, made);
    }};
}
Plan MoeTokenUnpermute(T tokens, T places, T probs, bool padded, IA restore, O out) {
    View x = need(tokens, "permutedTokens"), p = need(places, "sortedIndices"), y = need(out, "out");
    allow_rank(x, "permutedTokens", 2, 2);
    allow(p, "sortedIndices", {ACL_INT32});
    if (padded) reject("paddedMode is true, allowed: false");
    Maybe w(probs);
    int64_t k = w.given ? w.view.sizes[1] : 1;
    if (w.given) allow_count(w.view, "probs", p.numel());
    same_shape(y, {p.numel() / k, x.sizes[1]}, "out");
    return {[=] {
        Matrix m(x);
        auto where = load<int64_t>(p);
        auto weight = w.values(p.numel(), 1);
        std::vector<double> made(at(y.numel()));
        for (size_t i = 0; i < where.size(); i++) {
            if (where[i] >= m.rows()) continue;
            double* to = made.data() + static_cast<int64_t>(i) / k * m.width;
            for (int64_t j = 0; j < m.width; j++) to[j] += m.row(where[i])[j] * weight[i];
        }
        store(y, made);
    }};
}
Plan MoeTokenUnpermuteGrad(T tokens, T grad, T places, T probs, bool padded, IA restore, O by_tokens, O by_probs) {
    View x = need(tokens, "permutedTokens"), g = need(grad, "unpermutedTokensGrad"), p = need(places, "sortedIndices"),
         y = need(by_tokens, "permutedTokensGradOut");
    allow(p, "sortedIndices", {ACL_INT32});
    if (padded) reject("paddedMode is true, allowed: false");
    Maybe w(probs), dw(by_probs);
    int64_t k = w.given ? w.view.sizes[1] : 1;
    same_shape(y, shape_of(x), "permutedTokensGradOut");
    return {[=] {
        Matrix m(x), up(g);
        auto where = load<int64_t>(p);
        auto weight = w.values(p.numel(), 1);
        std::vector<double> made(at(y.numel())), of_weights(at(p.numel()));
        for (size_t i = 0; i < where.size(); i++) {
            if (where[i] >= m.rows()) continue;
            const double *u = up.row(static_cast<int64_t>(i) / k), *row = m.row(where[i]);
            for (int64_t j = 0; j < m.width; j++) {
                made[at(where[i] * m.width + j)] = u[j] * weight[i];
                of_weights[i] += u[j] * row[j];
            }
        }
        store(y, made);
        if (w.given) dw.put(of_weights);
    }};
}
Plan MoeFinalizeRoutingV2(T expanded, T places, T skip1, T skip2, T bias, T scales, T experts, i64 mode, O out) {
    View x = need(expanded, "expandedX"), p = need(places, "expandedRowIdx"), y = need(out, "out");
    allow_float(x, "expandedX");
    allow(p, "expandedRowIdx", {ACL_INT32});
    if (mode < 0 || mode > 3) reject("dropPadMode is ", mode, ", allowed: 0 to 3");
    Maybe s1(skip1), s2(skip2), b(bias), w(scales), e(experts);
    if (s2.given && !s1.given) reject("x2 is given without x1");
    if (b.given && !e.given) reject("bias is given without expertIdx");
    int64_t rows = y.sizes[0], k = rows ? p.numel() / rows : 1;
    if (w.given) same_shape(w.view, {rows, k}, "scales");
    if (s1.given) same_shape(s1.view, shape_of(y), "x1");
    if (s2.given) same_shape(s2.view, shape_of(y), "x2");
    return {[=] {
        Matrix m(x);
        int64_t n = m.width;
        auto where = load<int64_t>(p);
        auto a = s1.values(y.numel(), 0), c = s2.values(y.numel(), 0), weight = w.values(rows * k, 1);
        auto add = b.values(n, 0);
        auto which = e.given ? load<int64_t>(e.view) : std::vector<int64_t>(at(rows * k));
        std::vector<double> made(at(y.numel()));
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < k; j++) {
                int64_t place = where[at(mode < 2 ? j * rows + i : i * k + j)];
                const double* row = place < 0 && mode % 2 ? nullptr : m.row(place);  // modes 1 and 3 drop rows
                for (int64_t d = 0; d < n; d++)
                    made[at(i * n + d)] += weight[at(i * k + j)] *
                                           ((row ? row[d] : 0) + (b.given ? add[at(which[at(i * k + j)] * n + d)] : 0));
            }
        for (size_t i = 0; i < made.size(); i++) made[i] += a[i] + c[i];
        store(y, made);
    }};
}

}  // namespace

ACLNN(MoeGatingTopKSoftmax, T, T, i64, O, O, O)
ACLNN(MoeGatingTopK, T, T, i64, i64, i64, i64, i64, i64, bool, f64, f64, O, O, O)
ACLNN(MoeInitRouting, T, T, T, i64, O, O, O)
ACLNN(MoeInitRoutingV3, T, T, T, T, i64, i64, i64, i64, i64, bool, i64, IA, i64, O, O, O, O)
ACLNN(MoeComputeExpertTokens, T, i64, O)
ACLNN(MoeTokenPermute, T, T, i64, bool, O, O)
ACLNN(MoeTokenPermuteGrad, T, T, i64, bool, O)
ACLNN(MoeTokenUnpermute, T, T, T, bool, IA, O)
ACLNN(MoeTokenUnpermuteGrad, T, T, T, T, bool, IA, O, O)
ACLNN(MoeFinalizeRoutingV2, T, T, T, T, T, T, T, i64, O)
