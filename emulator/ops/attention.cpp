// Attention of runs of queries to runs of keys.
#include "attention.h"

namespace emu::attention {

Heads heads_of_layout(const View& v, const char* what, const std::string& layout, int64_t heads) {
    Heads r;
    int rank = layout == "BSND" || layout == "BNSD" ? 4 : 3;
    if (layout != "BSH" && layout != "SBH" && layout != "BSND" && layout != "BNSD" && layout != "TND")
        reject("inputLayout is '", layout, "', allowed: BSH, SBH, BSND, BNSD, TND");
    if (v.rank != rank) reject(what, " has ", v.rank, " dimensions, allowed: ", rank, " in layout ", layout);
    if (layout == "BSH" || layout == "SBH") {
        if (heads <= 0 || v.sizes[2] % heads)
            reject("the last size of ", what, " is ", v.sizes[2], ", allowed: multiples of the heads, ", heads);
        bool batch_first = layout == "BSH";
        r.batches = v.sizes[batch_first ? 0 : 1];
        r.tokens = v.sizes[batch_first ? 1 : 0];
        r.heads = heads;
        r.width = v.sizes[2] / heads;
        r.of_head = r.width;
        r.of_batch = batch_first ? r.tokens * v.sizes[2] : v.sizes[2];
        r.of_token = batch_first ? v.sizes[2] : r.batches * v.sizes[2];
        return r;
    }
    r.width = v.sizes[rank - 1];
    if (layout == "TND") {
        r.tokens = v.sizes[0];
        r.heads = v.sizes[1];
        r.of_token = r.heads * r.width;
        r.of_head = r.width;
    } else if (layout == "BSND") {
        r.batches = v.sizes[0];
        r.tokens = v.sizes[1];
        r.heads = v.sizes[2];
        r.of_head = r.width;
        r.of_token = r.heads * r.width;
        r.of_batch = r.tokens * r.of_token;
    } else {
        r.batches = v.sizes[0];
        r.heads = v.sizes[1];
        r.tokens = v.sizes[2];
        r.of_token = r.width;
        r.of_head = r.tokens * r.width;
        r.of_batch = r.heads * r.of_head;
    }
    if (heads > 0 && r.heads != heads) reject(what, " has ", r.heads, " heads, allowed: ", heads, ", as headNum says");
    return r;
}

Shape check_mask(const Maybe& mask, int64_t mode, IA prefix, int64_t most) {
    allow_number(mode, "sparseMode", 0, most);
    if (!mask.given) return {};
    allow(mask.view, "attenMask", {ACL_BOOL, ACL_UINT8, ACL_INT8});
    Shape s = shape_of(mask.view);
    if (s.size() < 2 || s.size() > 4) reject("attenMask has ", s.size(), " dimensions, allowed: 2 to 4");
    Shape wanted = mode == kPrefixSmall ? Shape{3072, 2048} : Shape{2048, 2048};
    if ((mode == kCausalTop || mode == kCausalBottom || mode == kBand || mode == kPrefixSmall) &&
        Shape(s.end() - 2, s.end()) != wanted)
        reject("attenMask has the shape ", shown(s), ", allowed: ", shown(wanted), " with sparseMode ", mode);
    if ((mode == kPrefix || mode == kPrefixSmall) && (!prefix || prefix->values.empty()))
        reject("prefix is left out, and sparseMode ", mode, " takes it");
    if (s.size() == 3) s.insert(s.begin() + 1, 1);
    while (s.size() < 4) s.insert(s.begin(), 1);
    return s;
}

bool Mask::hides(int64_t batch, int64_t head, int64_t i, int64_t j, int64_t queries, int64_t keys) const {
    if (!given) return false;
    int64_t own = i + (keys - queries);
    auto of_caller = [&] {
        int64_t b = shape[0] == 1 ? 0 : batch, h = shape[1] == 1 ? 0 : head, row = shape[2] == 1 ? 0 : i;
        return values[at(((b * shape[1] + h) * shape[2] + row) * shape[3] + j)] != 0;
    };
    switch (mode) {
        case kGiven:
            return of_caller() || ((before < queries || after < keys) && (j > i + after || j < i - before));
        case kCausalTop:
            return j > i;
        case kCausalBottom:
            return j > own;
        case kBand:
            return j > own + after || j < own - before;
        case kPrefixSmall:
            return j > own && j >= prefix[at(batch)];
        default:
            return of_caller();
    }
}

void Call::scores(const Run& r, int64_t h, int64_t i, const double* q, const double* keys,
                  std::vector<double>& s) const {
    s.resize(at(r.keys));
    int64_t of = h / (heads / key_heads);
    for (int64_t j = 0; j < r.keys; j++) {
        const double* k = keys + r.key_row(of, j);
        double sum = 0;
        for (int64_t d = 0; d < width; d++) sum += q[d] * k[d];
        double add = shift.given ? shift.of(r.batch, h, i, j) : 0;
        s[at(j)] = shift_first ? (sum + add) * scale : sum * scale + add;
        if (mask.hides(r.batch, h, i, j, r.queries, r.keys)) s[at(j)] = -HUGE_VAL;
    }
}

void attend(const Call& c, const Run& r, int64_t h, int64_t i, const double* q, const double* keys,
            const double* values, double* out, double* top, double* sum) {
    std::vector<double> s;
    c.scores(r, h, i, q, keys, s);
    double high = -HUGE_VAL, total = 0;
    for (double e : s) high = std::max(high, e);
    if (high == -HUGE_VAL) high = 0;
    for (double& e : s) total += e = std::exp(e - high);
    std::fill(out, out + c.value_width, 0.0);
    for (int64_t j = 0; j < r.keys && total != 0; j++) {
        double p = s[at(j)] / total * c.kept_factor(r, h, i, j);
        if (p == 0) continue;
        const double* v = values + r.value_row(h / (c.heads / c.key_heads), j);
        for (int64_t d = 0; d < c.value_width; d++) out[d] += p * v[d];
    }
    *top = high;
    *sum = total;
}

}  // namespace emu::attention
