// Sums, extrema, moments, scans and orders along dimensions.
#include "reduction.h"

#include <algorithm>
#include <numeric>

namespace emu {

Rows rows_of(const View& v, std::vector<int64_t> dims, bool keep) {
    bool reduced[kMaxRank] = {};
    if (dims.empty()) std::fill(reduced, reduced + v.rank, true);
    for (int64_t d : dims)
        if (v.rank) reduced[wrap(d, v.rank)] = true;
    Rows r{v, 1, 1, {}};
    int at = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int d = 0; d < v.rank; d++) {
            if (reduced[d] != (pass == 1)) continue;
            r.view.sizes[at] = v.sizes[d];
            r.view.strides[at++] = v.strides[d];
            (pass ? r.length : r.rows) *= v.sizes[d];
        }
    for (int d = 0; d < v.rank; d++) {
        if (!reduced[d])
            r.result.push_back(v.sizes[d]);
        else if (keep)
            r.result.push_back(1);
    }
    return r;
}
View last_dim(const View& v, int64_t dim) {
    View r = v;
    if (!v.rank) return r;
    int d = static_cast<int>(wrap(dim, v.rank));
    for (int i = d; i + 1 < v.rank; i++) {
        r.sizes[i] = v.sizes[i + 1];
        r.strides[i] = v.strides[i + 1];
    }
    r.sizes[v.rank - 1] = v.sizes[d];
    r.strides[v.rank - 1] = v.strides[d];
    return r;
}

}  // namespace emu

using namespace emu;

namespace {

std::vector<int64_t> listed(IA dims) { return dims ? dims->values : std::vector<int64_t>(); }

// out[row] = f(row's elements, their number), computed in `kind`.
template <class F>
Plan reduced(const View& v, const std::vector<int64_t>& dims, bool keep, const View& out, Kind kind, F f) {
    Rows r = rows_of(v, dims, keep);
    same_shape(out, r.result, "the output");
    return {[=] {
                with_kind(kind, [&](auto c) {
                    auto x = load<decltype(c)>(r.view);
                    std::vector<decltype(c)> y(static_cast<size_t>(r.rows));
                    for (int64_t i = 0; i < r.rows; i++)
                        y[static_cast<size_t>(i)] = static_cast<decltype(c)>(f(x.data() + i * r.length, r.length));
                    store(out, y);
                });
            },
            512};  // a workspace, as the device wants one
}

Plan ReduceSum(T self, IA dims, bool keep, dt dtype, O out) {
    const View &v = need(self, "self"), &o = need(out, "out");
    if (o.dtype != dtype) reject("dtype is ", dtype_name(dtype), ", but the output is of ", dtype_name(o.dtype));
    return reduced(v, listed(dims), keep, o, wider(kind_of(v.dtype), kind_of(dtype)),
                   [](auto* x, int64_t n) { return sum_of(x, n); });
}
Plan ReduceNansum(T self, IA dims, bool keep, dt dtype, O out) {
    const View &v = need(self, "self"), &o = need(out, "out");
    return reduced(v, listed(dims), keep, o, wider(kind_of(v.dtype), kind_of(dtype)), [](auto* x, int64_t n) {
        std::vector<std::decay_t<decltype(*x)>> numbers(x, x + n);
        for (auto& e : numbers)
            if (e != e) e = 0;
        return sum_of(numbers);
    });
}
Plan Mean(T self, IA dims, bool keep, dt dtype, O out) {
    const View &v = need(self, "self"), &o = need(out, "out");
    if (!is_float(dtype)) reject("a mean of ", dtype_name(dtype));
    return reduced(v, listed(dims), keep, o, wider(Kind::F32, wider(kind_of(v.dtype), kind_of(dtype))),
                   [](auto* x, int64_t n) { return sum_of(x, n) / static_cast<std::decay_t<decltype(*x)>>(n); });
}
template <class C>
C largest(const C* x, int64_t n) {
    C m = x[0];
    for (int64_t i = 0; i < n; i++) {
        if (x[i] != x[i]) return x[i];
        if (x[i] > m) m = x[i];
    }
    return m;
}
template <class C>
C smallest(const C* x, int64_t n) {
    C m = x[0];
    for (int64_t i = 0; i < n; i++) {
        if (x[i] != x[i]) return x[i];
        if (x[i] < m) m = x[i];
    }
    return m;
}
void not_empty(const View& v, const std::vector<int64_t>& dims) {
    Rows r = rows_of(v, dims, false);
    if (r.length == 0 && r.rows > 0) reject("no elements to choose from");
}
Plan extremum(T self, const std::vector<int64_t>& dims, bool keep, O out, bool largest_wanted) {
    const View& v = need(self, "self");
    not_empty(v, dims);
    return reduced(v, dims, keep, need(out, "out"), kind_of(v.dtype),
                   [=](auto* x, int64_t n) { return largest_wanted ? largest(x, n) : smallest(x, n); });
}
Plan Amax(T self, IA dims, bool keep, O out) { return extremum(self, listed(dims), keep, out, true); }
Plan Amin(T self, IA dims, bool keep, O out) { return extremum(self, listed(dims), keep, out, false); }
Plan Max(T self, O out) { return extremum(self, {}, false, out, true); }
Plan Min(T self, O out) { return extremum(self, {}, false, out, false); }
Plan All(T self, IA dims, bool keep, O out) {
    const View& v = need(self, "self");
    return reduced(v, listed(dims), keep, need(out, "out"), kind_of(v.dtype),
                   [](auto* x, int64_t n) { return std::all_of(x, x + n, [](auto e) { return e != 0; }); });
}
Plan Any(T self, IA dims, bool keep, O out) {
    const View& v = need(self, "self");
    return reduced(v, listed(dims), keep, need(out, "out"), kind_of(v.dtype),
                   [](auto* x, int64_t n) { return std::any_of(x, x + n, [](auto e) { return e != 0; }); });
}
Plan product_over(T self, const std::vector<int64_t>& dims, bool keep, dt dtype, O out) {
    const View& v = need(self, "self");
    return reduced(v, dims, keep, need(out, "out"), wider(kind_of(v.dtype), kind_of(dtype)), [](auto* x, int64_t n) {
        auto p = std::decay_t<decltype(*x)>(1);
        for (int64_t i = 0; i < n; i++) p *= x[i];
        return p;
    });
}
Plan Prod(T self, dt dtype, O out) { return product_over(self, {}, false, dtype, out); }
Plan ProdDim(T self, i64 dim, bool keep, dt dtype, O out) { return product_over(self, {dim}, keep, dtype, out); }

template <class C>
std::pair<C, C> moments(const C* x, int64_t n, int64_t correction) {
    C mean = sum_of(x, n) / static_cast<C>(n), squares = 0;
    for (int64_t i = 0; i < n; i++) squares += (x[i] - mean) * (x[i] - mean);
    double freedom = static_cast<double>(std::max<int64_t>(n - correction, 0));
    return {mean, static_cast<C>(static_cast<double>(squares) / freedom)};
}
Plan spread(T self, IA dims, int64_t correction, bool keep, O out, bool root) {
    const View& v = need(self, "self");
    return reduced(v, listed(dims), keep, need(out, "out"), wider(Kind::F32, kind_of(v.dtype)),
                   [=](auto* x, int64_t n) {
                       double variance = static_cast<double>(moments(x, n, correction).second);
                       return root ? std::sqrt(variance) : variance;
                   });
}
Plan VarCorrection(T self, IA dims, i64 correction, bool keep, O out) {
    return spread(self, dims, correction, keep, out, false);
}
Plan Std(T self, IA dims, i64 correction, bool keep, O out) { return spread(self, dims, correction, keep, out, true); }
Plan VarMean(T self, IA dims, i64 correction, bool keep, O variance, O mean) {
    View v = need(self, "self"), vo = need(variance, "varOut"), mo = need(mean, "meanOut");
    Rows r = rows_of(v, listed(dims), keep);
    same_shape(vo, r.result, "varOut");
    same_shape(mo, r.result, "meanOut");
    return {[=] {
        with_float(kind_of(v.dtype), [&](auto c) {
            auto x = load<decltype(c)>(r.view);
            std::vector<decltype(c)> a(static_cast<size_t>(r.rows)), b(a.size());
            for (size_t i = 0; i < a.size(); i++)
                std::tie(b[i], a[i]) = moments(x.data() + static_cast<int64_t>(i) * r.length, r.length, correction);
            store(vo, a);
            store(mo, b);
        });
    }};
}
Plan norm_over(T self, double p, IA dims, bool keep, O out) {
    const View& v = need(self, "self");
    return reduced(
        v, listed(dims), keep, need(out, "out"), wider(Kind::F32, kind_of(v.dtype)), [p](auto* x, int64_t n) {
            double sum = 0, extreme = std::isinf(p) && p < 0 ? HUGE_VAL : 0;
            for (int64_t i = 0; i < n; i++) {
                double a = std::fabs(static_cast<double>(x[i]));
                if (std::isinf(p))
                    extreme = a != a ? a : p > 0 ? std::max(extreme, a) : std::min(extreme, a);
                else
                    sum += p == 0 ? a != 0 : p == 1 ? a : p == 2 ? a * a : std::pow(a, p);
            }
            return std::isinf(p) ? extreme : p == 0 || p == 1 ? sum : p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / p);
        });
}
Plan Norm(T self, S p, IA dims, bool keep, O out) {
    return norm_over(self, p ? need_real(p, "p") : 2, dims, keep, out);
}
Plan LinalgVectorNorm(T self, S p, IA dims, bool keep, dt, O out) {
    return norm_over(self, need_real(p, "ord"), dims, keep, out);
}
Plan LogSumExp(T self, IA dims, bool keep, O out) {
    const View& v = need(self, "self");
    return reduced(v, listed(dims), keep, need(out, "out"), wider(Kind::F32, kind_of(v.dtype)), [](auto* x, int64_t n) {
        double top = static_cast<double>(largest(x, n)), sum = 0;
        if (std::isinf(top)) return top;
        for (int64_t i = 0; i < n; i++) sum += std::exp(static_cast<double>(x[i]) - top);
        return top + std::log(sum);
    });
}

// Value and place of an extremum.
Plan extremum_at(T self, i64 dim, bool keep, O values, O indices, bool largest_wanted) {
    const View& v = need(self, "self");
    not_empty(v, {dim});
    Rows r = rows_of(v, {dim}, keep);
    View io = need(indices, "indices"), vo = values ? values->view : View();
    if (values) same_shape(vo, r.result, "the output");
    same_shape(io, r.result, "indices");
    bool has_values = values;
    Kind kind = kind_of(v.dtype);
    return {[=] {
        with_kind(kind, [&](auto c) {
            auto x = load<decltype(c)>(r.view);
            std::vector<decltype(c)> best(static_cast<size_t>(r.rows));
            std::vector<int64_t> where(best.size());
            for (size_t i = 0; i < best.size(); i++) {
                auto* row = x.data() + static_cast<int64_t>(i) * r.length;
                int64_t at = 0;
                for (int64_t k = 1; k < r.length && row[at] == row[at]; k++)
                    if (row[k] != row[k] || (largest_wanted ? row[k] > row[at] : row[k] < row[at])) at = k;
                best[i] = row[at];
                where[i] = at;
            }
            if (has_values) store(vo, best);
            store(io, where);
        });
    }};
}
Plan MaxDim(T self, i64 dim, bool keep, O out, O indices) {
    need(out, "out");
    return extremum_at(self, dim, keep, out, indices, true);
}
Plan MinDim(T self, i64 dim, bool keep, O out, O indices) {
    need(out, "out");
    return extremum_at(self, dim, keep, out, indices, false);
}
Plan ArgMax(T self, i64 dim, bool keep, O out) { return extremum_at(self, dim, keep, nullptr, out, true); }
Plan ArgMin(T self, i64 dim, bool keep, O out) { return extremum_at(self, dim, keep, nullptr, out, false); }

template <class F>
Plan scan(T self, i64 dim, O out, F f) {
    const View &v = need(self, "self"), &o = need(out, "out");
    same_shape(o, shape_of(v), "the output");
    View from = last_dim(v, dim), to = last_dim(o, dim);
    Kind kind = wider(kind_of(v.dtype), kind_of(o.dtype));
    return {[=] {
        with_kind(kind, [&](auto c) {
            auto x = load<decltype(c)>(from);
            size_t n = static_cast<size_t>(std::max<int64_t>(length_of(from), 1));
            for (size_t i = 0; i < x.size(); i++)
                if (i % n) x[i] = f(x[i - 1], x[i]);
            store(to, x);
        });
    }};
}
Plan Cumsum(T self, i64 dim, dt, O out) {
    return scan(self, dim, out, [](auto a, auto b) { return a + b; });
}
Plan Cumprod(T self, S dim, dt, O out) {
    return scan(self, static_cast<i64>(need_real(dim, "dim")), out, [](auto a, auto b) { return a * b; });
}

// The order of a row's elements: NaN counts as the largest, equals stay in place.
template <class C>
void order_row(const C* row, int64_t n, bool descending, std::vector<int64_t>& order) {
    order.resize(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    auto less = [](C a, C b) { return a == a && (b != b || a < b); };
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return descending ? less(row[b], row[a]) : less(row[a], row[b]); });
}
Plan sorted(T self, i64 dim, bool descending, O values, O indices, int64_t count) {
    const View &v = need(self, "self"), &io = need(indices, "indicesOut");
    Shape shape = shape_of(v);
    if (count >= 0 && v.rank) {
        size_t d = static_cast<size_t>(wrap(dim, v.rank));
        if (count > shape[d]) reject("k is ", count, ", the dimension has ", shape[d]);
        shape[d] = count;
    }
    if (values) same_shape(values->view, shape, "valuesOut");
    same_shape(io, shape, "indicesOut");
    View from = last_dim(v, dim), to = values ? last_dim(values->view, dim) : View(), where = last_dim(io, dim);
    bool has_values = values;
    return {[=] {
        with_kind(kind_of(v.dtype), [&](auto c) {
            auto x = load<decltype(c)>(from);
            int64_t n = length_of(from), k = count >= 0 ? std::min(count, n) : n;
            std::vector<decltype(c)> y;
            std::vector<int64_t> at, order;
            for (int64_t first = 0; n && first < static_cast<int64_t>(x.size()); first += n) {
                order_row(x.data() + first, n, descending, order);
                for (int64_t i = 0; i < k; i++) {
                    at.push_back(order[static_cast<size_t>(i)]);
                    y.push_back(x[static_cast<size_t>(first + at.back())]);
                }
            }
            if (has_values) store(to, y);
            store(where, at);
        });
    }};
}
Plan Sort(T self, bool, i64 dim, bool descending, O values, O indices) {
    need(values, "valuesOut");
    return sorted(self, dim, descending, values, indices, -1);
}
Plan Argsort(T self, i64 dim, bool descending, O out) { return sorted(self, dim, descending, nullptr, out, -1); }
Plan Topk(T self, i64 k, i64 dim, bool largest_wanted, bool, O values, O indices) {
    need(values, "valuesOut");
    return sorted(self, dim, largest_wanted, values, indices, k);
}

}  // namespace

ACLNN(ReduceSum, T, IA, bool, dt, O)
ACLNN(ReduceNansum, T, IA, bool, dt, O)
ACLNN(Mean, T, IA, bool, dt, O)
ACLNN(Amax, T, IA, bool, O)
ACLNN(Amin, T, IA, bool, O)
ACLNN(Max, T, O)
ACLNN(Min, T, O)
ACLNN(All, T, IA, bool, O)
ACLNN(Any, T, IA, bool, O)
ACLNN(Prod, T, dt, O)
ACLNN(ProdDim, T, i64, bool, dt, O)
ACLNN(VarCorrection, T, IA, i64, bool, O)
ACLNN(Std, T, IA, i64, bool, O)
ACLNN(VarMean, T, IA, i64, bool, O, O)
ACLNN(Norm, T, S, IA, bool, O)
ACLNN(LinalgVectorNorm, T, S, IA, bool, dt, O)
ACLNN(LogSumExp, T, IA, bool, O)
ACLNN(MaxDim, T, i64, bool, O, O)
ACLNN(MinDim, T, i64, bool, O, O)
ACLNN(ArgMax, T, i64, bool, O)
ACLNN(ArgMin, T, i64, bool, O)
ACLNN(Cumsum, T, i64, dt, O)
ACLNN(Cumprod, T, S, dt, O)
ACLNN(Sort, T, bool, i64, bool, O, O)
ACLNN(Argsort, T, i64, bool, O)
ACLNN(Topk, T, i64, i64, bool, bool, O, O)
