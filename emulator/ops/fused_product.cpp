// Products of groups, and of 8-bit numbers with scales. Sums of whole numbers are exact.
#include "fused.h"

using namespace emu;

namespace {

// A matrix as it is read: (rows, columns) of the last two dimensions.
struct Matrix {
    std::vector<double> v;
    int64_t rows, columns;
    explicit Matrix(const View& x) : v(load<double>(x)), rows(x.sizes[x.rank - 2]), columns(x.sizes[x.rank - 1]) {}
};
void multiply(const double* a, const double* b, double* c, int64_t m, int64_t k, int64_t n) {
    for (int64_t i = 0; i < m; i++)
        for (int64_t p = 0; p < k; p++) {
            double x = a[i * k + p];
            for (int64_t j = 0; j < n; j++) c[i * n + j] += x * b[p * n + j];
        }
}
// The scale of a column: a float, or what the matrix unit reads of 64 bits.
std::vector<double> column_scales(const View& v) {
    if (v.dtype != ACL_INT64 && v.dtype != ACL_UINT64) return load<double>(v);
    std::vector<double> made;
    for (int64_t bits : load<int64_t>(v)) {
        uint32_t low = static_cast<uint32_t>(bits & 0xFFFFE000);
        float scale;
        std::memcpy(&scale, &low, 4);
        made.push_back(static_cast<double>(scale));
    }
    return made;
}

// The offset of a column, of 8-bit results, that such 64 bits hold at bit 37 in 9 bits.
std::vector<double> column_offsets(const View& v) {
    if (v.dtype != ACL_INT64 && v.dtype != ACL_UINT64) return {0};
    std::vector<double> made;
    for (int64_t bits : load<int64_t>(v)) {
        int64_t held = (bits >> 37) & 0x1FF;
        made.push_back(static_cast<double>(held >= 256 ? held - 512 : held));
    }
    return made;
}

Plan QuantMatmulV4(T x1, T x2, T scale, T offset, T by_row, T bias, bool transpose1, bool transpose2, O out) {
    View a = need(x1, "x1"), b = need(x2, "x2"), s = need(scale, "scale"), o = need(out, "out");
    allow(a, "x1", {ACL_INT8});
    allow(b, "x2", {ACL_INT8});
    allow(o, "out", {ACL_FLOAT16, ACL_BF16, ACL_INT8});
    allow(s, "scale", {ACL_FLOAT, ACL_BF16, ACL_INT64, ACL_UINT64});
    if (transpose1 || transpose2) reject("transposeX1 or transposeX2 is true, allowed: false, as the strides say it");
    if (a.rank != 2 || b.rank != 2) reject("x1 and x2 have ", a.rank, " and ", b.rank, " dimensions, allowed: 2");
    int64_t m = a.sizes[0], k = a.sizes[1], n = b.sizes[1];
    if (b.sizes[0] != k) reject("x2 has ", b.sizes[0], " rows, allowed: the columns of x1, ", k);
    allow_number(k, "the inner size", 1, 65535);
    same_shape(o, {m, n}, "out");
    Maybe shift(offset), row(by_row), add(bias);
    if (s.numel() != 1) allow_count(s, "scale", n);
    if (row.given) allow_count(row.view, "pertokenScale", m);
    if (shift.given && o.dtype != ACL_INT8)
        reject("offset is given with an out of ", dtype_name(o.dtype), ", allowed: with int8");
    if (add.given) allow_count(add.view, "bias", n);
    return {[=] {
        auto x = load<double>(a), w = load<double>(b), scales = column_scales(s);
        auto rows = row.values(m, 1), plus = add.values(n, 0);
        auto offsets = shift.given ? shift.values(1, 0) : column_offsets(s);
        bool before = add.given && add.view.dtype == ACL_INT32;
        std::vector<double> y(at(m * n));
        multiply(x.data(), w.data(), y.data(), m, k, n);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                double& e = y[at(i * n + j)];
                if (before) e += plus[at(j)];
                e = rounded_as(ACL_FLOAT, rounded_as(ACL_FLOAT, e) * scales[scales.size() == 1 ? 0 : at(j)]);
                e = rounded_as(ACL_FLOAT, e * rows[at(i)]);
                if (!before) e = rounded_as(ACL_FLOAT, e + plus[at(j)]);
                if (o.dtype == ACL_INT8)
                    e = whole(rounded_as(ACL_FLOAT, e + offsets[offsets.size() == 1 ? 0 : at(j)]), -128, 127);
            }
        store(o, y);
    }};
}

bool none(TL list) { return !list || list->values.empty(); }
Plan GroupedMatmulV4(TL xs, TL weights, TL biases, TL scales, TL offsets, TL antiquant_scales, TL antiquant_offsets,
                     TL by_rows, T group_list, TL act_input, TL act_scale, TL act_offset, i64 split, i64 type,
                     i64 list_type, i64 act, OL outs, OL features, OL dynamic_scales) {
    if (none(xs) || none(weights) || none(outs)) reject("x, weight and out must have tensors");
    for (auto& [list, name] : {std::pair{offsets, "offset"},
                               {antiquant_scales, "antiquantScale"},
                               {antiquant_offsets, "antiquantOffset"},
                               {act_input, "activationInput"},
                               {act_scale, "activationQuantScale"},
                               {act_offset, "activationQuantOffset"}})
        refuse_given(!none(list), name);
    allow_number(split, "splitItem", 0, 3);
    if (type != -1 && type != 0 && type != 2) reject("groupType is ", type, ", allowed: -1, 0, 2");
    allow_number(list_type, "groupListType", 0, 1);
    allow_number(act, "actType", 0, 0);
    const View& first = xs->values[0]->view;
    allow(first, "x", {ACL_FLOAT16, ACL_BF16, ACL_FLOAT, ACL_INT8});
    bool whole_numbers = first.dtype == ACL_INT8;
    if (whole_numbers && none(scales)) reject("scale is left out, and x is of int8");
    if (!whole_numbers && (!none(scales) || !none(by_rows)))
        reject("scale or perTokenScale is given, allowed: with an x of int8");
    if (whole_numbers && type != 0) reject("groupType is ", type, ", allowed: 0 with an x of int8");
    for (aclTensor* x : xs->values) {
        allow_like(x->view, "x", first, "the first x");
        if (x->view.rank < 2) reject("x has ", x->view.rank, " dimensions, allowed: 2 to 6");
    }
    for (aclTensor* w : weights->values) allow_like(w->view, "weight", first, "x");
    Maybe ends(group_list);
    if (type != 0 && weights->values[0]->format == ACL_FORMAT_FRACTAL_NZ)
        reject("weight is in FRACTAL_NZ with groupType ", type, ", allowed: with 0");
    if (type == -1) {
        if (xs->values.size() != weights->values.size() || outs->values.size() != xs->values.size())
            reject("x, weight and out have ", xs->values.size(), ", ", weights->values.size(), " and ",
                   outs->values.size(), " tensors, allowed: as many with groupType -1");
        std::vector<View> a, b, c, d;
        for (size_t i = 0; i < xs->values.size(); i++) {
            a.push_back(xs->values[i]->view);
            b.push_back(weights->values[i]->view);
            c.push_back(outs->values[i]->view);
            if (b[i].rank != 2 || b[i].sizes[0] != a[i].sizes[a[i].rank - 1])
                reject("weight ", i, " has the shape ", shown(shape_of(b[i])), ", allowed: (",
                       a[i].sizes[a[i].rank - 1], ", n)");
            Shape expected = shape_of(a[i]);
            expected.back() = b[i].sizes[1];
            same_shape(c[i], expected, "out");
            if (!none(biases)) d.push_back(biases->values[i]->view);
        }
        return {[=] {
            for (size_t i = 0; i < a.size(); i++) {
                auto x = load<double>(a[i]), w = load<double>(b[i]);
                int64_t k = b[i].sizes[0], n = b[i].sizes[1], m = k ? a[i].numel() / k : 0;
                std::vector<double> y(at(m * n));
                multiply(x.data(), w.data(), y.data(), m, k, n);
                if (!d.empty()) {
                    auto plus = load<double>(d[i]);
                    for (size_t e = 0; e < y.size(); e++) y[e] += plus[e % at(n)];
                }
                store(c[i], y);
            }
        }};
    }
    if (xs->values.size() != 1 || weights->values.size() != 1 || outs->values.size() != 1)
        reject("x, weight and out have ", xs->values.size(), ", ", weights->values.size(), " and ", outs->values.size(),
               " tensors, allowed: 1 each with groupType ", type);
    if (split < 2) reject("splitItem is ", split, ", allowed: 2, 3 with groupType ", type);
    View x = first, w = weights->values[0]->view, o = outs->values[0]->view;
    if (!ends.given) reject("groupList is left out, and groupType ", type, " takes it");
    allow(ends.view, "groupList", {ACL_INT64});
    allow_rank(ends.view, "groupList", 1, 1);
    allow_rank(x, "x", 2, 2);
    int64_t groups = ends.view.sizes[0], along = type == 0 ? x.sizes[0] : x.sizes[1];
    allow_number(groups, "the number of groups", 1, 1024);
    Maybe bias(none(biases) ? nullptr : biases->values[0]), scale(none(scales) ? nullptr : scales->values[0]),
        by_row(none(by_rows) ? nullptr : by_rows->values[0]);
    auto read_ends = [=] {
        auto values = load<int64_t>(ends.view);
        int64_t last = 0;
        for (auto& e : values) {
            if (list_type == 1) e += last;
            if (e < last || e > along)
                throw text("aclnnGroupedMatmulV4: groupList ends at ", e, " behind ", last,
                           ", allowed: ends that do not fall, up to ", along);
            last = e;
        }
        return values;
    };
    if (type == 2) {
        allow_rank(w, "weight", 2, 2);
        refuse_given(bias.given, "bias with groupType 2");
        if (w.sizes[0] != along) reject("weight has ", w.sizes[0], " rows, allowed: the columns of x, ", along);
        same_shape(o, {groups, x.sizes[0], w.sizes[1]}, "out");
        return {[=] {
            auto a = load<double>(x), b = load<double>(w);
            int64_t k = x.sizes[0], n = w.sizes[1], from = 0;
            std::vector<double> y(at(groups * k * n));
            auto stops = read_ends();
            for (int64_t g = 0; g < groups; g++) {
                for (int64_t t = from; t < stops[at(g)]; t++)
                    for (int64_t i = 0; i < k; i++)
                        for (int64_t j = 0; j < n; j++)
                            y[at((g * k + i) * n + j)] += a[at(i * along + t)] * b[at(t * n + j)];
                from = stops[at(g)];
            }
            store(o, y);
        }};
    }
    allow_rank(w, "weight", 3, 3);
    int64_t k = x.sizes[1], n = w.sizes[2];
    if (w.sizes[0] != groups || w.sizes[1] != k)
        reject("weight has the shape ", shown(shape_of(w)), ", allowed: (", groups, ", ", k, ", n)");
    same_shape(o, {along, n}, "out");
    if (bias.given) allow_count(bias.view, "bias", groups * n);
    if (scale.given) allow_count(scale.view, "scale", groups * n);
    if (by_row.given) allow_count(by_row.view, "perTokenScale", along);
    return {[=] {
        auto a = load<double>(x), b = load<double>(w), y = load<double>(o);  // rows of no group stay as they are
        auto plus = bias.values(groups * n, 0), rows = by_row.values(along, 1);
        auto factor = scale.given ? column_scales(scale.view) : std::vector<double>(at(groups * n), 1);
        bool before = bias.given && bias.view.dtype == ACL_INT32;
        int64_t from = 0;
        auto stops = read_ends();
        for (int64_t g = 0; g < groups; g++) {
            int64_t m = stops[at(g)] - from;
            std::vector<double> part(at(m * n));
            multiply(a.data() + from * k, b.data() + g * k * n, part.data(), m, k, n);
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j < n; j++) {
                    double e = part[at(i * n + j)];
                    if (before) e += plus[at(g * n + j)];
                    e = e * factor[at(g * n + j)] * rows[at(from + i)];
                    y[at((from + i) * n + j)] = before ? e : e + plus[at(g * n + j)];
                }
            from = stops[at(g)];
        }
        store(o, y);
    }};
}

void in_blocks(T weight, const char* what) {
    if (weight && weight->format != ACL_FORMAT_FRACTAL_NZ)
        reject(what, " is in the format ", int(weight->format), ", allowed: FRACTAL_NZ (29)");
}
Plan QuantMatmulWeightNz(T x1, T x2, T by_row, T scale, T y_scale, T x1_offset, T offset, T y_offset, T bias,
                         bool transpose1, bool transpose2, i64 group_size, O out) {
    in_blocks(x2, "x2");
    refuse_given(given(y_scale), "yScale");
    refuse_given(given(x1_offset), "x1Offset");
    refuse_given(given(y_offset), "yOffset");
    allow_number(group_size, "groupSize", 0, 0);
    return QuantMatmulV4(x1, x2, scale, offset, by_row, bias, transpose1, transpose2, out);
}
Plan GroupedMatmulWeightNz(TL xs, TL weights, TL biases, TL scales, TL offsets, TL antiquant_scales,
                           TL antiquant_offsets, TL by_rows, T group_list, TL act_input, TL act_scale, TL act_offset,
                           i64 split, i64 type, i64 list_type, i64 act, IA tuning, i64 group_size, OL outs, OL features,
                           OL dynamic_scales) {
    if (weights)
        for (aclTensor* weight : weights->values) in_blocks(weight, "weight");
    allow_number(group_size, "quantGroupSize", 0, 0);
    return GroupedMatmulV4(xs, weights, biases, scales, offsets, antiquant_scales, antiquant_offsets, by_rows,
                           group_list, act_input, act_scale, act_offset, split, type, list_type, act, outs, features,
                           dynamic_scales);
}

}  // namespace

ACLNN(QuantMatmulWeightNz, T, T, T, T, T, T, T, T, T, bool, bool, i64, O)
ACLNN(GroupedMatmulWeightNz, TL, TL, TL, TL, TL, TL, TL, TL, T, TL, TL, TL, i64, i64, i64, i64, IA, i64, OL, OL, OL)
ACLNN(QuantMatmulV4, T, T, T, T, T, T, bool, bool, O)
ACLNN(GroupedMatmulV4, TL, TL, TL, TL, TL, TL, TL, TL, T, TL, TL, TL, i64, i64, i64, i64, OL, OL, OL)
