// Products with weights in few bits, and between permutations, in double precision, rounded once.
#include "fused.h"

using namespace emu;

namespace {

// The matrices of (batch, rows, columns) after a permutation of the three.
View permuted(const View& x, IA order, const char* what) {
    allow_rank(x, what, 3, 3);
    View r = x;
    if (!order || order->values.empty()) return r;
    if (order->values.size() != 3)
        reject("the permutation of ", what, " has ", order->values.size(), " numbers, not 3");
    bool taken[3] = {};
    for (int d = 0; d < 3; d++) {
        int64_t from = order->values[at(d)];
        if (from < 0 || from > 2 || taken[from]) reject("the permutation of ", what, " is none of 0, 1, 2");
        taken[from] = true;
        r.sizes[d] = x.sizes[from];
        r.strides[d] = x.strides[from];
    }
    return r;
}
Plan TransposeBatchMatMul(T x1, T x2, T bias, T scale, IA order1, IA order2, IA order, i8 cube, i32 split, O out) {
    View a = need(x1, "x1"), b = need(x2, "x2"), o = need(out, "out");
    allow_float(a, "x1");
    allow_like(b, "x2", a, "x1");
    allow_like(o, "out", a, "x1");
    refuse_given(given(scale), "scale");
    refuse_given(given(bias), "bias");
    allow_number(cube, "cubeMathType", 0, 3);
    allow_number(split, "batchSplitFactor", 1, 1);
    a = permuted(a, order1, "x1");
    b = permuted(b, order2, "x2");
    int64_t batch = a.sizes[0], m = a.sizes[1], k = a.sizes[2], n = b.sizes[2];
    if (b.sizes[0] != batch || b.sizes[1] != k)
        reject("x1 and x2 have the shapes ", shown(shape_of(a)), " and ", shown(shape_of(b)),
               " after their permutations");
    // The result before its permutation lies in `out` by the inverse one.
    View to = o;
    for (int d = 0; d < 3; d++) {
        int from = order && !order->values.empty() ? static_cast<int>(order->values[at(d)]) : d;
        if (from < 0 || from > 2) reject("permY is none of 0, 1, 2");
        to.sizes[from] = o.sizes[d];
        to.strides[from] = o.strides[d];
    }
    same_shape(to, {batch, m, n}, "out, before permY,");
    return {[=] {
        auto x = load<double>(a), w = load<double>(b);
        std::vector<double> y(at(batch * m * n));
        for (int64_t i = 0; i < batch; i++)
            for (int64_t r = 0; r < m; r++)
                for (int64_t p = 0; p < k; p++)
                    for (int64_t c = 0; c < n; c++)
                        y[at((i * m + r) * n + c)] += x[at((i * m + r) * k + p)] * w[at((i * k + p) * n + c)];
        store(to, y);
    }};
}

void in_blocks(T weight, const char* what) {
    if (weight && weight->format != ACL_FORMAT_FRACTAL_NZ)
        reject(what, " is in the format ", int(weight->format), ", allowed: FRACTAL_NZ (29)");
}
Plan TransposeBatchMatMulWeightNz(T x1, T x2, T bias, T scale, IA order1, IA order2, IA order, i8 cube, i32 split,
                                  O out) {
    in_blocks(x2, "x2");
    return TransposeBatchMatMul(x1, x2, bias, scale, order1, order2, order, cube, split, out);
}

// A number of a scale or an offset: one for all, one a column, or one a column for each run of rows.
struct Spread {
    std::vector<double> v;
    int64_t columns, run;
    double of(int64_t row, int64_t column, double otherwise) const {
        if (v.empty()) return otherwise;
        if (v.size() == 1) return v[0];
        return v[at((run ? row / run : 0) * columns + column)];
    }
};
void check_spread(const Maybe& p, const char* what, int64_t k, int64_t n, int64_t run) {
    if (!p.given || p.view.numel() == 1) return;
    allow_count(p.view, what, run ? (k + run - 1) / run * n : n);
}
Plan WeightQuantBatchMatmulV2(T input, T weight, T scale, T offset, T quant_scale, T quant_offset, T bias, i32 run,
                              O out) {
    View x = need(input, "x"), w = need(weight, "weight"), o = need(out, "y");
    allow(x, "x", {ACL_FLOAT16, ACL_BF16});
    allow(w, "weight", {ACL_INT8});
    allow_like(o, "y", x, "x");
    allow_like(need(scale, "antiquantScale"), "antiquantScale", x, "x");
    if (offset) allow_like(offset->view, "antiquantOffset", x, "x");
    refuse_given(given(quant_scale), "quantScale");
    refuse_given(given(quant_offset), "quantOffset");
    allow_rank(x, "x", 2, 2);
    allow_rank(w, "weight", 2, 2);
    int64_t m = x.sizes[0], k = x.sizes[1], n = w.sizes[1];
    if (w.sizes[0] != k) reject("weight has ", w.sizes[0], " rows, allowed: the columns of x, ", k);
    if (run && (run < 32 || run % 32)) reject("antiquantGroupSize is ", run, ", allowed: 0, or multiples of 32");
    same_shape(o, {m, n}, "y");
    Maybe by(scale), shift(offset), plus(bias);
    check_spread(by, "antiquantScale", k, n, run);
    check_spread(shift, "antiquantOffset", k, n, run);
    if (plus.given) allow_count(plus.view, "bias", n);
    return {[=] {
        auto a = load<double>(x), b = load<double>(w), add = plus.values(n, 0);
        Spread factor{load<double>(by.view), n, run};
        Spread term{shift.given ? load<double>(shift.view) : std::vector<double>(), n, run};
        std::vector<double> y(at(m * n));
        for (int64_t p = 0; p < k; p++)
            for (int64_t c = 0; c < n; c++) {
                double e = (b[at(p * n + c)] + term.of(p, c, 0)) * factor.of(p, c, 1);
                for (int64_t r = 0; r < m; r++) y[at(r * n + c)] += a[at(r * k + p)] * e;
            }
        for (size_t i = 0; i < y.size(); i++) y[i] += add[i % at(n)];
        store(o, y);
    }};
}
Plan WeightQuantBatchMatmulNz(T input, T weight, T scale, T offset, T quant_scale, T quant_offset, T bias, i32 run,
                              O out) {
    in_blocks(weight, "weight");
    return WeightQuantBatchMatmulV2(input, weight, scale, offset, quant_scale, quant_offset, bias, run, out);
}

}  // namespace

ACLNN(TransposeBatchMatMul, T, T, T, T, IA, IA, IA, i8, i32, O)
ACLNN(TransposeBatchMatMulWeightNz, T, T, T, T, IA, IA, IA, i8, i32, O)
ACLNN(WeightQuantBatchMatmulV2, T, T, T, T, T, T, T, i32, O)
ACLNN(WeightQuantBatchMatmulNz, T, T, T, T, T, T, T, i32, O)
