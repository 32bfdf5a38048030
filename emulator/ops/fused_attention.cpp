// Fused attention for training, its gradient from the statistics, and partial attentions made one.
#include "attention.h"

using namespace emu;
using namespace emu::attention;

namespace {

struct Ends {
    std::vector<int64_t> q, k;
};
// What the forward and backward operators check alike, and how the call is put together when it runs.
struct Problem {
    View q, k, v;
    Heads qr, kr, vr;
    std::string layout;
    Maybe shift, drop, mask;
    Shape mask_shape, shift_shape;
    std::vector<int64_t> prefix;
    Ends ends;
    int64_t mode, before, after;
    double scale, keep;
    bool shifted_after_scale = false;  // scale * q k + shift; else scale * (q k + shift)

    Problem(T query, T key, T value, T real_shift, T drop_mask, T padding, T atten_mask, IA given_prefix, IA q_ends,
            IA k_ends, f64 s, f64 keep_prob, i64 pre, i64 next, i64 heads, str input_layout, i64 sparse)
        : q(need(query, "query")),
          k(need(key, "key")),
          v(need(value, "value")),
          layout(text_or(input_layout, "")),
          shift(real_shift),
          drop(drop_mask),
          mask(atten_mask),
          mode(sparse),
          before(pre),
          after(next),
          scale(s),
          keep(keep_prob) {
        allow_float(q, "query");
        allow_like(k, "key", q, "query");
        allow_like(v, "value", q, "query");
        refuse_given(padding != nullptr, "paddingMask");
        if (heads <= 0) reject("headNum is ", heads, ", allowed: 1 and more");
        qr = heads_of_layout(q, "query", layout, heads);
        bool joined = layout == "BSH" || layout == "SBH";
        if (joined && (!qr.width || k.sizes[k.rank - 1] % qr.width))
            reject("the last size of key is ", k.sizes[k.rank - 1], ", allowed: multiples of the heads' width, ",
                   qr.width);
        int64_t key_heads = joined ? k.sizes[k.rank - 1] / qr.width : 0;
        kr = heads_of_layout(k, "key", layout, key_heads);
        vr = heads_of_layout(v, "value", layout, joined ? kr.heads : 0);
        if (!kr.heads || heads % kr.heads || vr.heads != kr.heads)
            reject("key has ", kr.heads, " heads and value ", vr.heads, ", allowed: as many, dividing those of query, ",
                   heads);
        if (kr.width != qr.width)
            reject("the heads of key are ", kr.width, " wide, allowed: ", qr.width, ", as those of query");
        if (qr.width > 768) reject("the heads of query are ", qr.width, " wide, allowed: up to 768");
        if (kr.batches != qr.batches || vr.batches != qr.batches || kr.tokens != vr.tokens)
            reject("key and value must have the batch of query and one length");
        if (!(keep > 0 && keep <= 1)) reject("keepProb is ", keep, ", allowed: above 0, up to 1");
        mask_shape = check_mask(mask, mode, given_prefix, kPrefixSmall);
        if (given_prefix) prefix = given_prefix->values;
        if (layout == "TND") {
            if (!q_ends || !k_ends) reject("actualSeqQLen or actualSeqKvLen is left out, and layout TND takes them");
            ends = {q_ends->values, k_ends->values};
            if (ends.q.size() != ends.k.size() || ends.q.empty())
                reject("actualSeqQLen has ", ends.q.size(), " numbers and actualSeqKvLen ", ends.k.size(),
                       ", allowed: as many");
            check_ends(ends.q, "actualSeqQLen", qr.tokens);
            check_ends(ends.k, "actualSeqKvLen", kr.tokens);
            if (mode == kPrefix) reject("sparseMode is 5, allowed: 0 to 4 and 6 in layout TND");
            refuse_given(shift.given, "realShift in layout TND");
        }
        if (mask.given && (mode == kGiven || mode == kWhole || mode == kPrefix)) {
            bool fits = layout == "TND" ? mask_shape[2] >= longest(ends.q) && mask_shape[3] >= longest(ends.k)
                                        : mask_shape[2] == qr.tokens && mask_shape[3] == kr.tokens;
            if (!fits || (mask_shape[0] != 1 && mask_shape[0] != qr.batches) ||
                (mask_shape[1] != 1 && mask_shape[1] != heads))
                reject("attenMask has the shape ", shown(shape_of(mask.view)),
                       ", allowed: (queries, keys), or (1 or batch, 1 or heads, queries, keys) with ", qr.tokens,
                       " queries and ", kr.tokens, " keys");
        }
        if (shift.given) {
            shift_shape = shape_of(shift.view);
            if (shift_shape.size() != 4) reject("realShift has ", shift_shape.size(), " dimensions, allowed: 4");
            for (int d = 0; d < 4; d++) {
                int64_t whole[] = {qr.batches, heads, qr.tokens, kr.tokens};
                if (shift_shape[at(d)] != whole[d] && shift_shape[at(d)] != 1)
                    reject("realShift has the shape ", shown(shift_shape),
                           ", allowed: (1 or batch, heads, 1 or queries, keys)");
            }
        }
        if (drop.given) allow(drop.view, "dropMask", {ACL_UINT8});
        if (keep < 1 && !drop.given) reject("dropMask is left out, and keepProb is ", keep);
    }
    // What the second versions are told of the shift.
    Problem& of_type(i64 type) {
        if (type != 0 && type != 1)
            reject("pseType is ", type, ", allowed: 0, 1 (the emulator makes no slopes of 2 and 3)");
        shifted_after_scale = type == 0;
        return *this;
    }
    double of_shift() const { return shifted_after_scale ? 1 : scale; }
    static void check_ends(const std::vector<int64_t>& e, const char* what, int64_t tokens) {
        int64_t last = 0;
        for (int64_t n : e) {
            if (n < last) reject(what, " is ", shown(e), ", allowed: ends that do not fall");
            last = n;
        }
        if (last != tokens) reject(what, " ends at ", last, ", allowed: the ", tokens, " tokens");
    }
    static int64_t longest(const std::vector<int64_t>& e) {
        int64_t most = 0, last = 0;
        for (int64_t n : e) {
            most = std::max(most, n - last);
            last = n;
        }
        return most;
    }
    Shape statistics() const {
        if (layout == "TND") return {qr.tokens, qr.heads, 8};
        return {qr.batches, qr.heads, qr.tokens, 8};
    }
    int64_t statistic_at(const Run& r, int64_t h, int64_t i) const {
        if (layout == "TND") return ((r.q_first + i) * qr.heads + h) * 8;
        return ((r.batch * qr.heads + h) * qr.tokens + i) * 8;
    }
    attention::Call call() const {
        attention::Call c{qr.heads, kr.heads, qr.width, vr.width, scale, keep, !shifted_after_scale, {}, {}, {}};
        c.mask = {mask.given, {}, mask_shape, mode, before, after, prefix};
        if (mask.given && mode != kCausalTop && mode != kCausalBottom && mode != kBand && mode != kPrefixSmall)
            c.mask.values = load<int64_t>(mask.view);
        if (shift.given) c.shift = {true, load<double>(shift.view), shift_shape};
        if (keep < 1)
            for (int64_t byte : load<int64_t>(drop.view)) c.kept.push_back(static_cast<uint8_t>(byte));
        return c;
    }
    std::vector<Run> runs() const {
        std::vector<Run> made;
        auto add = [&](int64_t b, int64_t q0, int64_t nq, int64_t k0, int64_t nk, int64_t first) {
            int64_t batch = layout == "TND" ? 0 : b;
            Heads ks = kr, vs = vr;
            made.push_back({b, q0, nq, k0, nk, first, [=](int64_t h, int64_t t) { return ks.at(batch, h, k0 + t); },
                            [=](int64_t h, int64_t t) { return vs.at(batch, h, k0 + t); }});
        };
        if (layout != "TND") {
            for (int64_t b = 0; b < qr.batches; b++)
                add(b, 0, qr.tokens, 0, kr.tokens, b * qr.heads * qr.tokens * kr.tokens);
            return made;
        }
        int64_t q0 = 0, k0 = 0, first = 0;
        for (size_t s = 0; s < ends.q.size(); s++) {
            int64_t nq = ends.q[s] - q0, nk = ends.k[s] - k0;
            add(static_cast<int64_t>(s), q0, nq, k0, nk, first);
            first += qr.heads * nq * nk;
            q0 = ends.q[s];
            k0 = ends.k[s];
        }
        return made;
    }
    int64_t query_row(const Run& r, int64_t h, int64_t i) const {
        return qr.at(layout == "TND" ? 0 : r.batch, h, r.q_first + i);
    }
    // The result's rows lie as the query's, with the value's width.
    Heads out_rows() const {
        Heads o = qr;
        int64_t w = qr.width ? qr.width : 1;
        o.width = vr.width;
        o.of_batch = qr.of_batch / w * vr.width;
        o.of_head = qr.of_head / w * vr.width;
        o.of_token = qr.of_token / w * vr.width;
        return o;
    }
    int64_t out_row(const Run& r, int64_t h, int64_t i) const {
        return out_rows().at(layout == "TND" ? 0 : r.batch, h, r.q_first + i);
    }
    Shape out_shape() const {
        Shape s = shape_of(q);
        s.back() = s.back() / (qr.width ? qr.width : 1) * vr.width;
        return s;
    }
};

Plan forward(const Problem& p, O max, O sum, O reserved, O out) {
    View m = need(max, "softmaxMaxOut"), t = need(sum, "softmaxSumOut"), o = need(out, "attentionOutOut");
    same_shape(m, p.statistics(), "softmaxMaxOut");
    same_shape(t, p.statistics(), "softmaxSumOut");
    allow(m, "softmaxMaxOut", {ACL_FLOAT});
    allow(t, "softmaxSumOut", {ACL_FLOAT});
    same_shape(o, p.out_shape(), "attentionOutOut");
    return {[=] {
        auto q = load<double>(p.q), k = load<double>(p.k), v = load<double>(p.v);
        std::vector<double> y(at(o.numel())), tops(at(m.numel())), sums(at(t.numel()));
        auto c = p.call();
        for (const Run& r : p.runs())
            for (int64_t h = 0; h < p.qr.heads; h++)
                for (int64_t i = 0; i < r.queries; i++) {
                    size_t s = at(p.statistic_at(r, h, i));
                    attend(c, r, h, i, q.data() + p.query_row(r, h, i), k.data(), v.data(),
                           y.data() + p.out_row(r, h, i), &tops[s], &sums[s]);
                    std::fill_n(tops.begin() + static_cast<std::ptrdiff_t>(s), 8, tops[s]);
                    std::fill_n(sums.begin() + static_cast<std::ptrdiff_t>(s), 8, sums[s]);
                }
        store(o, y);
        store(m, tops);
        store(t, sums);
    }};
}
Plan FlashAttentionScore(T q, T k, T v, T shift, T drop, T padding, T mask, IA prefix, f64 scale, f64 keep, i64 pre,
                         i64 next, i64 heads, str layout, i64 precise, i64 mode, O max, O sum, O reserved, O out) {
    if (text_or(layout, "") == "TND")
        reject("inputLayout is 'TND', allowed: BSH, SBH, BSND, BNSD; FlashAttentionVarLenScore takes TND");
    return forward(
        {q, k, v, shift, drop, padding, mask, prefix, nullptr, nullptr, scale, keep, pre, next, heads, layout, mode},
        max, sum, reserved, out);
}
Plan FlashAttentionVarLenScore(T q, T k, T v, T shift, T drop, T padding, T mask, IA prefix, IA q_ends, IA k_ends,
                               f64 scale, f64 keep, i64 pre, i64 next, i64 heads, str layout, i64 precise, i64 mode,
                               O max, O sum, O reserved, O out) {
    if (text_or(layout, "") != "TND") reject("inputLayout is '", layout, "', allowed: TND");
    return forward(
        {q, k, v, shift, drop, padding, mask, prefix, q_ends, k_ends, scale, keep, pre, next, heads, layout, mode}, max,
        sum, reserved, out);
}
Plan FlashAttentionScoreV2(T q, T k, T v, T shift, T drop, T padding, T mask, IA prefix, IA, IA, f64 scale, f64 keep,
                           i64 pre, i64 next, i64 heads, str layout, i64 precise, i64 mode, i64 type, O max, O sum,
                           O reserved, O out) {
    if (text_or(layout, "") == "TND")
        reject("inputLayout is 'TND', allowed: BSH, SBH, BSND, BNSD; FlashAttentionVarLenScoreV2 takes TND");
    Problem p{q,       k,     v,    shift, drop, padding, mask,   prefix, nullptr,
              nullptr, scale, keep, pre,   next, heads,   layout, mode};
    return forward(p.of_type(type), max, sum, reserved, out);
}
Plan FlashAttentionVarLenScoreV2(T q, T k, T v, T shift, T drop, T padding, T mask, IA prefix, IA q_ends, IA k_ends, IA,
                                 IA, f64 scale, f64 keep, i64 pre, i64 next, i64 heads, str layout, i64 precise,
                                 i64 mode, i64 type, O max, O sum, O reserved, O out) {
    if (text_or(layout, "") != "TND") reject("inputLayout is '", layout, "', allowed: TND");
    Problem p{q, k, v, shift, drop, padding, mask, prefix, q_ends, k_ends, scale, keep, pre, next, heads, layout, mode};
    return forward(p.of_type(type), max, sum, reserved, out);
}

Plan backward(const Problem& p, T grad, T max, T sum, T result, O dq, O dk, O dv, O dshift) {
    View g = need(grad, "dy"), m = need(max, "softmaxMax"), t = need(sum, "softmaxSum"),
         o = need(result, "attentionIn"), to_q = need(dq, "dqOut"), to_k = need(dk, "dkOut"), to_v = need(dv, "dvOut");
    same_shape(g, p.out_shape(), "dy");
    same_shape(o, p.out_shape(), "attentionIn");
    same_shape(m, p.statistics(), "softmaxMax");
    same_shape(t, p.statistics(), "softmaxSum");
    same_shape(to_q, shape_of(p.q), "dqOut");
    same_shape(to_k, shape_of(p.k), "dkOut");
    same_shape(to_v, shape_of(p.v), "dvOut");
    Maybe ds(dshift);
    return {[=] {
        auto q = load<double>(p.q), k = load<double>(p.k), v = load<double>(p.v), up = load<double>(g),
             y = load<double>(o), tops = load<double>(m), sums = load<double>(t);
        std::vector<double> by_q(q.size()), by_k(k.size()), by_v(v.size()),
            by_shift(p.shift.given ? at(p.shift.view.numel()) : 0);
        auto c = p.call();
        std::vector<double> s;
        for (const Run& r : p.runs())
            for (int64_t h = 0; h < p.qr.heads; h++)
                for (int64_t i = 0; i < r.queries; i++) {
                    int64_t at_q = p.query_row(r, h, i), of = h / (p.qr.heads / p.kr.heads);
                    const double *u = up.data() + p.out_row(r, h, i), *own = y.data() + p.out_row(r, h, i);
                    double top = tops[at(p.statistic_at(r, h, i))], total = sums[at(p.statistic_at(r, h, i))],
                           inner = 0;
                    for (int64_t d = 0; d < p.vr.width; d++) inner += u[d] * own[d];
                    c.scores(r, h, i, q.data() + at_q, k.data(), s);
                    for (int64_t j = 0; j < r.keys; j++) {
                        double prob = total == 0 ? 0 : std::exp(s[at(j)] - top) / total,
                               kept = c.kept_factor(r, h, i, j), dp = 0;
                        const double* value = v.data() + r.value_row(of, j);
                        double* dvalue = by_v.data() + r.value_row(of, j);
                        for (int64_t d = 0; d < p.vr.width; d++) {
                            dp += u[d] * value[d];
                            dvalue[d] += prob * kept * u[d];
                        }
                        double by_score = prob * (dp * kept - inner);
                        if (p.shift.given) {
                            auto place = [&](int d, int64_t n) { return p.shift_shape[at(d)] == 1 ? 0 : n; };
                            const Shape& z = p.shift_shape;
                            by_shift[at(((place(0, r.batch) * z[1] + place(1, h)) * z[2] + place(2, i)) * z[3] +
                                        place(3, j))] += by_score * p.of_shift();
                        }
                        const double* key = k.data() + r.key_row(of, j);
                        double* dkey = by_k.data() + r.key_row(of, j);
                        for (int64_t d = 0; d < p.qr.width; d++) {
                            by_q[at(at_q + d)] += by_score * p.scale * key[d];
                            dkey[d] += by_score * p.scale * q[at(at_q + d)];
                        }
                    }
                }
        store(to_q, by_q);
        store(to_k, by_k);
        store(to_v, by_v);
        if (p.shift.given) ds.put(by_shift);
    }};
}
Plan FlashAttentionScoreGrad(T q, T k, T v, T dy, T shift, T drop, T padding, T mask, T max, T sum, T softmax, T out,
                             IA prefix, f64 scale, f64 keep, i64 pre, i64 next, i64 heads, str layout, i64 precise,
                             i64 mode, O dq, O dk, O dv, O dshift) {
    if (text_or(layout, "") == "TND")
        reject("inputLayout is 'TND', allowed: BSH, SBH, BSND, BNSD; FlashAttentionUnpaddingScoreGrad takes TND");
    return backward(
        {q, k, v, shift, drop, padding, mask, prefix, nullptr, nullptr, scale, keep, pre, next, heads, layout, mode},
        dy, max, sum, out, dq, dk, dv, dshift);
}
Plan FlashAttentionUnpaddingScoreGrad(T q, T k, T v, T dy, T shift, T drop, T padding, T mask, T max, T sum, T softmax,
                                      T out, IA prefix, IA q_ends, IA k_ends, f64 scale, f64 keep, i64 pre, i64 next,
                                      i64 heads, str layout, i64 precise, i64 mode, O dq, O dk, O dv, O dshift) {
    if (text_or(layout, "") != "TND") reject("inputLayout is '", layout, "', allowed: TND");
    return backward(
        {q, k, v, shift, drop, padding, mask, prefix, q_ends, k_ends, scale, keep, pre, next, heads, layout, mode}, dy,
        max, sum, out, dq, dk, dv, dshift);
}
Plan FlashAttentionScoreGradV2(T q, T k, T v, T dy, T shift, T drop, T padding, T mask, T max, T sum, T softmax, T out,
                               IA prefix, IA, IA, f64 scale, f64 keep, i64 pre, i64 next, i64 heads, str layout,
                               i64 precise, i64 mode, i64 type, O dq, O dk, O dv, O dshift) {
    if (text_or(layout, "") == "TND")
        reject("inputLayout is 'TND', allowed: BSH, SBH, BSND, BNSD; FlashAttentionUnpaddingScoreGradV2 takes TND");
    Problem p{q,       k,     v,    shift, drop, padding, mask,   prefix, nullptr,
              nullptr, scale, keep, pre,   next, heads,   layout, mode};
    return backward(p.of_type(type), dy, max, sum, out, dq, dk, dv, dshift);
}
Plan FlashAttentionUnpaddingScoreGradV2(T q, T k, T v, T dy, T shift, T drop, T padding, T mask, T max, T sum,
                                        T softmax, T out, IA prefix, IA q_ends, IA k_ends, IA, IA, f64 scale, f64 keep,
                                        i64 pre, i64 next, i64 heads, str layout, i64 precise, i64 mode, i64 type, O dq,
                                        O dk, O dv, O dshift) {
    if (text_or(layout, "") != "TND") reject("inputLayout is '", layout, "', allowed: TND");
    Problem p{q, k, v, shift, drop, padding, mask, prefix, q_ends, k_ends, scale, keep, pre, next, heads, layout, mode};
    return backward(p.of_type(type), dy, max, sum, out, dq, dk, dv, dshift);
}

// Statistics are (B, N, S, 8) beside results (S, B, N D), or (T, N, 8) beside (T, N, D).
Plan RingAttentionUpdate(T before, T max1, T sum1, T now, T max2, T sum2, T ends, str layout, O out, O max, O sum) {
    View a = need(before, "prevAttnOut"), b = need(now, "curAttnOut"), m1 = need(max1, "prevSoftmaxMax"),
         s1 = need(sum1, "prevSoftmaxSum"), m2 = need(max2, "curSoftmaxMax"), s2 = need(sum2, "curSoftmaxSum"),
         o = need(out, "attnOutOut"), m = need(max, "softmaxMaxOut"), s = need(sum, "softmaxSumOut");
    allow_float(a, "prevAttnOut");
    allow_like(b, "curAttnOut", a, "prevAttnOut");
    same_shape(b, shape_of(a), "curAttnOut");
    std::string l = text_or(layout, "SBH");
    if (l != "SBH" && l != "TND") reject("inputLayout is '", l, "', allowed: SBH, TND");
    allow_rank(a, "prevAttnOut", 3, 3);
    allow_rank(m1, "prevSoftmaxMax", l == "SBH" ? 4 : 3, l == "SBH" ? 4 : 3);
    for (const View* v : {&m1, &s1, &m2, &s2, &m, &s}) {
        same_shape(*v, shape_of(m1), "each of the statistics");
        allow(*v, "each of the statistics", {ACL_FLOAT});
    }
    same_shape(o, shape_of(a), "attnOutOut");
    int64_t heads = m1.sizes[1], eight = m1.sizes[m1.rank - 1];
    return {[=] {
        auto x = load<double>(a), y = load<double>(b), t1 = load<double>(m1), u1 = load<double>(s1),
             t2 = load<double>(m2), u2 = load<double>(s2);
        std::vector<double> share(t1.size());
        for (size_t i = 0; i < t1.size(); i++) {
            double top = std::max(t1[i], t2[i]), p = u1[i] * std::exp(t1[i] - top), c = u2[i] * std::exp(t2[i] - top);
            t1[i] = top;
            u1[i] = p + c;
            share[i] = p / (p + c);
        }
        int64_t width = l == "SBH" ? a.sizes[2] / heads : a.sizes[2];
        for (size_t i = 0; i < x.size(); i++) {
            int64_t row = static_cast<int64_t>(i) / width, h = row % heads, token = row / heads, place = row * eight;
            if (l == "SBH") place = ((token % a.sizes[1] * heads + h) * a.sizes[0] + token / a.sizes[1]) * eight;
            x[i] = x[i] * share[at(place)] + y[i] * (1 - share[at(place)]);
        }
        store(o, x);
        store(m, t1);
        store(s, u1);
    }};
}

}  // namespace

ACLNN(FlashAttentionScore, T, T, T, T, T, T, T, IA, f64, f64, i64, i64, i64, str, i64, i64, O, O, O, O)
ACLNN(FlashAttentionVarLenScore, T, T, T, T, T, T, T, IA, IA, IA, f64, f64, i64, i64, i64, str, i64, i64, O, O, O, O)
ACLNN(FlashAttentionScoreGrad, T, T, T, T, T, T, T, T, T, T, T, T, IA, f64, f64, i64, i64, i64, str, i64, i64, O, O, O,
      O)
ACLNN(FlashAttentionUnpaddingScoreGrad, T, T, T, T, T, T, T, T, T, T, T, T, IA, IA, IA, f64, f64, i64, i64, i64, str,
      i64, i64, O, O, O, O)
ACLNN(FlashAttentionScoreV2, T, T, T, T, T, T, T, IA, IA, IA, f64, f64, i64, i64, i64, str, i64, i64, i64, O, O, O, O)
ACLNN(FlashAttentionVarLenScoreV2, T, T, T, T, T, T, T, IA, IA, IA, IA, IA, f64, f64, i64, i64, i64, str, i64, i64, i64,
      O, O, O, O)
ACLNN(FlashAttentionScoreGradV2, T, T, T, T, T, T, T, T, T, T, T, T, IA, IA, IA, f64, f64, i64, i64, i64, str, i64, i64,
      i64, O, O, O, O)
ACLNN(FlashAttentionUnpaddingScoreGradV2, T, T, T, T, T, T, T, T, T, T, T, T, IA, IA, IA, IA, IA, f64, f64, i64, i64,
      i64, str, i64, i64, i64, O, O, O, O)
ACLNN(RingAttentionUpdate, T, T, T, T, T, T, T, str, O, O, O)
