// Fused attention for inference: prompts and single tokens over plain or paged keys, of 16-bit numbers.
#include "attention.h"

using namespace emu;
using namespace emu::attention;

namespace {

// What the operators have in common; each fills what it has.
struct Request {
    T query = nullptr, key = nullptr, value = nullptr, shift = nullptr, mask = nullptr, table = nullptr,
      query_rope = nullptr, key_rope = nullptr;
    IA q_lengths = nullptr, kv_lengths = nullptr;
    int64_t heads = 0, key_heads = 0, before = 2147483647, after = 2147483647, mode = 0, block = 0;
    double scale = 1;
    std::string layout;
    bool logs = false;
};
Request request_of(T query, T key, T value, T shift, T mask, i64 heads, i64 key_heads, f64 scale, str layout) {
    Request r;
    r.query = query;
    r.key = key;
    r.value = value;
    r.shift = shift;
    r.mask = mask;
    r.heads = heads;
    r.key_heads = key_heads ? key_heads : heads;
    r.scale = scale;
    r.layout = text_or(layout, "BSH");
    return r;
}
T only(TL list, const char* what) {
    if (!list || list->values.empty()) throw Invalid{kParamNull, text(what, " is null")};
    if (list->values.size() != 1) reject(what, " has ", list->values.size(), " tensors, allowed: 1");
    return list->values[0];
}
void refuse(std::initializer_list<std::pair<const void*, const char*>> arguments) {
    for (auto& [given, name] : arguments) refuse_given(given != nullptr, name);
}

// Rows of a plain tensor, or of pages that a table names.
struct Source {
    View view;
    Heads plain;
    bool paged = false;
    int64_t block = 0, of_block = 0;
    Source() = default;
    Source(const View& v, const char* what, const Request& r, bool has_table) : view(v), paged(has_table) {
        if (!paged) {
            plain = heads_of_layout(v, what, r.layout, r.key_heads);
            return;
        }
        allow_rank(v, what, 3, 4);
        plain.heads = r.key_heads;
        if (v.rank == 3) {  // (blocks, block, heads * width)
            if (v.sizes[2] % r.key_heads)
                reject("the last size of ", what, " is ", v.sizes[2], ", allowed: multiples of ", r.key_heads);
            block = v.sizes[1];
            plain.width = v.sizes[2] / r.key_heads;
            plain.of_token = v.sizes[2];
            plain.of_head = plain.width;
            of_block = block * v.sizes[2];
        } else {  // (blocks, heads, block, width)
            if (v.sizes[1] != r.key_heads) reject(what, " has ", v.sizes[1], " heads, allowed: ", r.key_heads);
            block = v.sizes[2];
            plain.width = v.sizes[3];
            plain.of_token = plain.width;
            plain.of_head = block * plain.width;
            of_block = r.key_heads * plain.of_head;
        }
        if (block % 16 || block < 16 || block > 1024)
            reject("the blocks of ", what, " have ", block, " rows, allowed: multiples of 16 up to 1024");
        if (r.block && r.block != block) reject("blockSize is ", r.block, ", allowed: ", block, ", as in ", what);
    }
};

Plan infer(const Request& r, O result, O logs) {
    View q = need(r.query, "query"), k = need(r.key, "key"), v = need(r.value, "value"),
         o = need(result, "attentionOut");
    allow(q, "query", {ACL_FLOAT16, ACL_BF16});
    allow_like(k, "key", q, "query");
    allow_like(v, "value", q, "query");
    if (r.layout != "BSH" && r.layout != "BSND" && r.layout != "BNSD" && r.layout != "TND")
        reject("inputLayout is '", r.layout, "', allowed: BSH, BSND, BNSD, TND");
    if (r.heads <= 0) reject("numHeads is ", r.heads, ", allowed: 1 and more");
    if (r.key_heads <= 0 || r.heads % r.key_heads)
        reject("numKeyValueHeads is ", r.key_heads, ", allowed: 0 and divisors of numHeads, ", r.heads);
    if ((r.query_rope == nullptr) != (r.key_rope == nullptr)) reject("queryRope and keyRope must be given together");
    bool packed = r.layout == "TND", paged = r.table != nullptr, turned = r.query_rope != nullptr;
    Heads qh = heads_of_layout(q, "query", r.layout, r.heads), qr;
    Source ks(k, "key", r, paged), vs(v, "value", r, paged), kr;
    if (turned) {
        qr = heads_of_layout(r.query_rope->view, "queryRope", r.layout, r.heads);
        kr = Source(r.key_rope->view, "keyRope", r, paged);
    }
    if (ks.plain.width != qh.width)
        reject("the heads of key are ", ks.plain.width, " wide, allowed: ", qh.width, ", as those of query");
    if (qh.width > 512) reject("the heads of query are ", qh.width, " wide, allowed: up to 512");
    Maybe mask(r.mask), shift(r.shift), table(r.table);
    Shape mask_shape = check_mask(mask, r.mode, nullptr, kBand), shift_shape;
    if (shift.given) {
        shift_shape = shape_of(shift.view);
        if (shift_shape.size() != 4) reject("pseShift has ", shift_shape.size(), " dimensions, allowed: 4");
    }
    // The runs: first query, queries, first key, keys.
    struct Part {
        int64_t batch, q0, nq, k0, nk;
    };
    std::vector<Part> parts;
    auto numbers = [&](IA given, const char* what, int64_t count, int64_t whole) {
        if (!given || given->values.empty()) return std::vector<int64_t>(at(count), whole);
        std::vector<int64_t> n = given->values;
        if (n.size() == 1) n.resize(at(count), n[0]);
        if (static_cast<int64_t>(n.size()) < count)
            reject(what, " has ", n.size(), " numbers, allowed: one for each sequence, ", count);
        for (int64_t e : n)
            if (e < 0 || (whole >= 0 && e > whole)) reject(what, " is ", shown(n), ", allowed: 0 to ", whole);
        return n;
    };
    if (packed) {
        if (!r.q_lengths || r.q_lengths->values.empty())
            reject("actualSeqLengths is left out, and layout TND takes it");
        auto& qe = r.q_lengths->values;
        std::vector<int64_t> ke = r.kv_lengths && !r.kv_lengths->values.empty() ? r.kv_lengths->values : qe;
        if (ke.size() != qe.size()) reject("actualSeqLengthsKv has ", ke.size(), " numbers, allowed: ", qe.size());
        for (size_t i = 0; i < qe.size(); i++) {
            int64_t q0 = i ? qe[i - 1] : 0, k0 = paged || !i ? 0 : ke[i - 1];
            if (qe[i] < q0 || ke[i] < k0) reject("actualSeqLengths is ", shown(qe), ", allowed: ends that do not fall");
            parts.push_back({static_cast<int64_t>(i), q0, qe[i] - q0, k0, ke[i] - k0});
        }
        if (qe.back() != qh.tokens)
            reject("actualSeqLengths ends at ", qe.back(), ", allowed: the ", qh.tokens, " tokens");
        if (!paged && ke.back() > ks.plain.tokens)
            reject("actualSeqLengthsKv ends at ", ke.back(), ", allowed: up to ", ks.plain.tokens);
    } else {
        if (paged && !r.kv_lengths) reject("actualSeqLengthsKv is left out, and a paged cache takes it");
        auto nq = numbers(qh.tokens == 1 ? nullptr : r.q_lengths,  // which single queries do not have
                          "actualSeqLengths", qh.batches, qh.tokens),
             nk = numbers(r.kv_lengths, "actualSeqLengthsKv", qh.batches, paged ? -1 : ks.plain.tokens);
        for (int64_t b = 0; b < qh.batches; b++) parts.push_back({b, 0, nq[at(b)], 0, nk[at(b)]});
    }
    if (paged) {
        allow(table.view, "blockTable", {ACL_INT32});
        allow_rank(table.view, "blockTable", 2, 2);
        if (table.view.sizes[0] < static_cast<int64_t>(parts.size()))
            reject("blockTable has ", table.view.sizes[0], " rows, allowed: one for each sequence, ", parts.size());
        for (auto& p : parts)
            if (p.nk > table.view.sizes[1] * ks.block)
                reject("blockTable has ", table.view.sizes[1], " blocks a sequence, too few for ", p.nk, " keys");
    }
    Shape expected = shape_of(q);
    expected.back() = r.layout == "BSH" ? r.heads * vs.plain.width : vs.plain.width;
    same_shape(o, expected, "attentionOut");
    Maybe lse(r.logs ? logs : nullptr);
    Request held = r;
    return {[=] {
        auto query = load<double>(q), keys = load<double>(k), values = load<double>(v);
        std::vector<double> query_rope, key_rope;
        if (turned) {
            query_rope = load<double>(held.query_rope->view);
            key_rope = load<double>(kr.view);
        }
        auto pages = paged ? load<int64_t>(table.view) : std::vector<int64_t>();
        int64_t more = turned ? qr.width : 0, width = qh.width + more, value_width = vs.plain.width;
        Heads to = qh;
        to.width = value_width;
        for (int64_t* step : {&to.of_batch, &to.of_head, &to.of_token})
            *step = *step / (qh.width ? qh.width : 1) * value_width;
        std::vector<double> y(at(o.numel())), all_logs(lse.given ? at(lse.view.numel()) : 0);
        attention::Call c{held.heads, held.key_heads, width, value_width, held.scale, 1, false, {}, {}, {}};
        c.mask = {mask.given, {}, mask_shape, held.mode, held.before, held.after, {}};
        if (mask.given && held.mode < kCausalTop) c.mask.values = load<int64_t>(mask.view);
        if (shift.given) c.shift = {true, load<double>(shift.view), shift_shape};
        for (const Part& p : parts) {
            int64_t batch = packed ? 0 : p.batch;
            auto row_of = [&](const Source& s, int64_t h, int64_t t) {
                if (!s.paged) return s.plain.at(batch, h, p.k0 + t);
                int64_t block = pages[at(p.batch * table.view.sizes[1] + t / s.block)];
                if (block < 0 || block >= s.view.sizes[0])
                    throw text("blockTable names block ", block, " of ", s.view.sizes[0]);
                return block * s.of_block + h * s.plain.of_head + t % s.block * s.plain.of_token;
            };
            std::vector<double> own_keys, own_values;
            for (int64_t h = 0; h < held.key_heads; h++)
                for (int64_t t = 0; t < p.nk; t++) {
                    const double* row = keys.data() + row_of(ks, h, t);
                    own_keys.insert(own_keys.end(), row, row + qh.width);
                    if (turned) {
                        const double* rope = key_rope.data() + row_of(kr, h, t);
                        own_keys.insert(own_keys.end(), rope, rope + more);
                    }
                    const double* value = values.data() + row_of(vs, h, t);
                    own_values.insert(own_values.end(), value, value + value_width);
                }
            int64_t nk = p.nk;
            Run run{p.batch,
                    0,
                    p.nq,
                    0,
                    nk,
                    0,
                    [=](int64_t h, int64_t t) { return (h * nk + t) * width; },
                    [=](int64_t h, int64_t t) { return (h * nk + t) * value_width; }};
            for (int64_t h = 0; h < held.heads; h++)
                for (int64_t i = 0; i < p.nq; i++) {
                    const double* row = query.data() + qh.at(batch, h, p.q0 + i);
                    std::vector<double> own(row, row + qh.width);
                    if (turned) {
                        const double* rope = query_rope.data() + qr.at(batch, h, p.q0 + i);
                        own.insert(own.end(), rope, rope + more);
                    }
                    double top, sum;
                    attend(c, run, h, i, own.data(), own_keys.data(), own_values.data(),
                           y.data() + to.at(batch, h, p.q0 + i), &top, &sum);
                    if (!lse.given) continue;
                    int64_t place = packed ? (p.q0 + i) * held.heads + h : (p.batch * held.heads + h) * qh.tokens + i;
                    all_logs[at(place)] = sum == 0 ? HUGE_VAL : top + std::log(sum);
                }
        }
        store(o, y);
        lse.put(all_logs);
    }};
}

Plan FusedInferAttentionScoreV3(T query, TL key, TL value, T shift, T mask, IA q_lengths, IA kv_lengths, T deq1,
                                T quant1, T deq2, T quant2, T offset2, T antiquant_scale, T antiquant_offset, T table,
                                T q_padding, T kv_padding, T key_scale, T key_offset, T value_scale, T value_offset,
                                T key_prefix, T value_prefix, IA prefix, T query_rope, T key_rope, T rope_scale,
                                i64 heads, f64 scale, i64 pre, i64 next, str layout, i64 key_heads, i64 mode,
                                i64 precise, i64 block, i64 antiquant, bool logs, i64 key_mode, i64 value_mode, O out,
                                O lse) {
    refuse({{deq1, "deqScale1"},
            {quant1, "quantScale1"},
            {deq2, "deqScale2"},
            {quant2, "quantScale2"},
            {offset2, "quantOffset2"},
            {antiquant_scale, "antiquantScale"},
            {antiquant_offset, "antiquantOffset"},
            {q_padding, "queryPaddingSize"},
            {kv_padding, "kvPaddingSize"},
            {key_scale, "keyAntiquantScale"},
            {key_offset, "keyAntiquantOffset"},
            {value_scale, "valueAntiquantScale"},
            {value_offset, "valueAntiquantOffset"},
            {key_prefix, "keySharedPrefix"},
            {value_prefix, "valueSharedPrefix"},
            {prefix, "actualSharedPrefixLen"},
            {rope_scale, "keyRopeAntiquantScale"}});
    Request r = request_of(query, only(key, "key"), only(value, "value"), shift, mask, heads, key_heads, scale, layout);
    r.table = table;
    r.query_rope = query_rope;
    r.key_rope = key_rope;
    r.q_lengths = q_lengths;
    r.kv_lengths = kv_lengths;
    r.before = pre;
    r.after = next;
    r.mode = mode;
    r.block = block;
    r.logs = logs;
    return infer(r, out, lse);
}
Plan FusedInferAttentionScore(T query, TL key, TL value, T shift, T mask, IA q_lengths, IA kv_lengths, T deq1, T quant1,
                              T deq2, T quant2, T offset2, T antiquant_scale, T antiquant_offset, T table, T q_padding,
                              T kv_padding, i64 heads, f64 scale, i64 pre, i64 next, str layout, i64 key_heads,
                              i64 mode, i64 precise, i64 block, i64 antiquant, bool logs, O out, O lse) {
    return FusedInferAttentionScoreV3(query, key, value, shift, mask, q_lengths, kv_lengths, deq1, quant1, deq2, quant2,
                                      offset2, antiquant_scale, antiquant_offset, table, q_padding, kv_padding, nullptr,
                                      nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                      heads, scale, pre, next, layout, key_heads, mode, precise, block, antiquant, logs,
                                      0, 0, out, lse);
}
Plan IncreFlashAttentionV4(T query, TL key, TL value, T shift, T mask, IA lengths, T deq1, T quant1, T deq2, T quant2,
                           T offset2, T antiquant_scale, T antiquant_offset, T table, T padding, i64 heads, f64 scale,
                           str layout, i64 key_heads, i64 block, i64 precise, O out) {
    refuse({{deq1, "dequantScale1"},
            {quant1, "quantScale1"},
            {deq2, "dequantScale2"},
            {quant2, "quantScale2"},
            {offset2, "quantOffset2"},
            {antiquant_scale, "antiquantScale"},
            {antiquant_offset, "antiquantOffset"},
            {padding, "kvPaddingSize"}});
    Request r = request_of(query, only(key, "key"), only(value, "value"), shift, mask, heads, key_heads, scale, layout);
    r.table = table;
    r.kv_lengths = lengths;
    r.block = block;
    if (r.layout == "TND") reject("inputLayout is 'TND', allowed: BSH, BSND, BNSD");
    const View& q = need(query, "query");
    int64_t tokens = heads_of_layout(q, "query", r.layout, heads).tokens;
    if (tokens != 1) reject("query has ", tokens, " tokens a sequence, allowed: 1");
    return infer(r, out, nullptr);
}
Plan PromptFlashAttentionV3(T query, T key, T value, T shift, T mask, IA q_lengths, IA kv_lengths, T deq1, T quant1,
                            T deq2, T quant2, T offset2, i64 heads, f64 scale, i64 pre, i64 next, str layout,
                            i64 key_heads, i64 mode, i64 precise, O out) {
    refuse({{deq1, "deqScale1"},
            {quant1, "quantScale1"},
            {deq2, "deqScale2"},
            {quant2, "quantScale2"},
            {offset2, "quantOffset2"}});
    Request r = request_of(query, key, value, shift, mask, heads, key_heads, scale, layout);
    r.q_lengths = q_lengths;
    r.kv_lengths = kv_lengths;
    r.before = pre;
    r.after = next;
    r.mode = mode;
    if (r.layout == "TND") reject("inputLayout is 'TND', allowed: BSH, BSND, BNSD");
    return infer(r, out, nullptr);
}

}  // namespace

ACLNN(FusedInferAttentionScore, T, TL, TL, T, T, IA, IA, T, T, T, T, T, T, T, T, T, T, i64, f64, i64, i64, str, i64,
      i64, i64, i64, i64, bool, O, O)
ACLNN(FusedInferAttentionScoreV3, T, TL, TL, T, T, IA, IA, T, T, T, T, T, T, T, T, T, T, T, T, T, T, T, T, IA, T, T, T,
      i64, f64, i64, i64, str, i64, i64, i64, i64, i64, bool, i64, i64, O, O)
ACLNN(IncreFlashAttentionV4, T, TL, TL, T, T, IA, T, T, T, T, T, T, T, T, T, i64, f64, str, i64, i64, i64, O)
ACLNN(PromptFlashAttentionV3, T, T, T, T, T, IA, IA, T, T, T, T, T, i64, f64, i64, i64, str, i64, i64, i64, O)
