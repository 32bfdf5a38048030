// Reading and writing at places that tensors name.
#include "reduction.h"

using namespace emu;

namespace {

size_t at(int64_t i) { return static_cast<size_t>(i); }
void check_indices(const View& v, const char* what) {
    if (v.dtype != ACL_INT64 && v.dtype != ACL_INT32)
        reject(what, " is of ", dtype_name(v.dtype), ", int32 or int64 is needed");
}
int64_t in_range(int64_t i, int64_t n) {
    if (i < -n || i >= n) throw text("index ", i, " is out of bounds for a dimension of ", n);
    return i < 0 ? i + n : i;
}

Plan Embedding(T weight, T indices, O out) {
    View w = need(weight, "weight"), i = need(indices, "indices"), o = need(out, "out");
    check_indices(i, "indices");
    if (w.rank != 2) reject("weight has rank ", w.rank);
    Shape expected = shape_of(i);
    expected.push_back(w.sizes[1]);
    same_shape(o, expected, "the output");
    return {[=] {
        with_kind(kind_of(w.dtype), [&](auto c) {
            auto table = load<decltype(c)>(w);
            auto rows = load<int64_t>(i);
            int64_t width = w.sizes[1];
            std::vector<decltype(c)> y(rows.size() * at(width));
            for (size_t k = 0; k < rows.size(); k++)
                std::copy_n(table.begin() + in_range(rows[k], w.sizes[0]) * width, width,
                            y.begin() + static_cast<std::ptrdiff_t>(k) * width);
            store(o, y);
        });
    }};
}
Plan EmbeddingDenseBackward(T grad, T indices, u64 count, u64 padding, bool by_frequency, O out) {
    View g = need(grad, "grad"), i = need(indices, "indices"), o = need(out, "out");
    check_indices(i, "indices");
    int64_t rows = static_cast<int64_t>(count), width = g.rank ? g.sizes[g.rank - 1] : 1;
    same_shape(o, {rows, width}, "the output");
    return {[=] {
        with_float(kind_of(g.dtype), [&](auto c) {
            auto up = load<decltype(c)>(g);
            auto where = load<int64_t>(i);
            std::vector<decltype(c)> y(at(rows * width));
            std::vector<int64_t> often(at(rows));
            for (int64_t k : where) often[at(in_range(k, rows))]++;
            for (size_t k = 0; k < where.size(); k++) {
                int64_t row = in_range(where[k], rows);
                if (static_cast<uint64_t>(row) == padding) continue;
                for (int64_t j = 0; j < width; j++) {
                    auto e = up[k * at(width) + at(j)];
                    y[at(row * width + j)] += by_frequency ? e / static_cast<decltype(c)>(often[at(row)]) : e;
                }
            }
            store(o, y);
        });
    }};
}
Plan IndexSelect(T self, i64 dim, T index, O out) {
    View a = need(self, "self"), i = need(index, "index"), o = need(out, "out");
    check_indices(i, "index");
    View from = last_dim(a, dim), to = last_dim(o, dim);
    Shape expected = shape_of(a);
    if (a.rank) expected[at(wrap(dim, a.rank))] = i.numel();
    same_shape(o, expected, "the output");
    return {[=] {
        with_kind(kind_of(a.dtype), [&](auto c) {
            auto x = load<decltype(c)>(from);
            auto where = load<int64_t>(i);
            int64_t n = length_of(from);
            std::vector<decltype(c)> y;
            for (int64_t row = 0; row * n < static_cast<int64_t>(x.size()); row++)
                for (int64_t k : where) y.push_back(x[at(row * n + in_range(k, n))]);
            store(to, y);
        });
    }};
}

// Calls f(position in a tensor of `whole`'s shape, row-major place in the index) for gather and scatter along dim.
template <class F>
void each_along(const View& whole, const View& index, int64_t dim, F f) {
    auto where = load<int64_t>(index);
    int d = static_cast<int>(wrap(dim, whole.rank));
    for (size_t k = 0; k < where.size(); k++) {
        int64_t rest = static_cast<int64_t>(k), position = 0, step = 1;
        for (int i = whole.rank - 1; i >= 0; i--) {
            int64_t here = rest % index.sizes[i];
            rest /= index.sizes[i];
            position += (i == d ? in_range(where[k], whole.sizes[i]) : here) * step;
            step *= whole.sizes[i];
        }
        f(at(position), k);
    }
}
View at_least_vector(View v) {
    if (!v.rank) {
        v.rank = 1;
        v.sizes[0] = v.strides[0] = 1;
    }
    return v;
}
void check_along(const View& whole, const View& index, int64_t dim) {
    check_indices(index, "index");
    if (whole.rank != index.rank) reject("an index of rank ", index.rank, " for a tensor of rank ", whole.rank);
    for (int i = 0; i < whole.rank; i++)
        if (i != wrap(dim, whole.rank) && index.sizes[i] > whole.sizes[i])
            reject("an index of shape ", shown(shape_of(index)), " for a tensor of ", shown(shape_of(whole)));
}
Plan Gather(T self, i64 dim, T index, O out) {
    View a = at_least_vector(need(self, "self")), i = at_least_vector(need(index, "index")),
         o = at_least_vector(need(out, "out"));
    check_along(a, i, dim);
    same_shape(o, shape_of(i), "the output");
    return {[=] {
        with_kind(kind_of(a.dtype), [&](auto c) {
            auto x = load<decltype(c)>(a);
            std::vector<decltype(c)> y(at(i.numel()));
            each_along(a, i, dim, [&](size_t position, size_t k) { y[k] = x[position]; });
            store(o, y);
        });
    }};
}
// reduce: 0 replace, 1 add, 2 multiply
Plan scattered(T self, i64 dim, T index, const View* src, double number, i64 reduce, O out) {
    View a = at_least_vector(need(self, "self")), i = at_least_vector(need(index, "index")),
         o = at_least_vector(need(out, "out"));
    check_along(a, i, dim);
    if (reduce < 0 || reduce > 2) reject("reduce is ", reduce);
    same_shape(o, shape_of(a), "the output");
    View s;
    bool has_source = src;
    if (src) {
        s = at_least_vector(*src);
        if (s.rank != i.rank) reject("src has rank ", s.rank, ", index ", i.rank);
        for (int d = 0; d < s.rank; d++) {
            if (s.sizes[d] < i.sizes[d])
                reject("src of shape ", shown(shape_of(s)), " for an index of ", shown(shape_of(i)));
            s.sizes[d] = i.sizes[d];
        }
    }
    return {[=] {
        with_kind(kind_of(a.dtype), [&](auto c) {
            using C = decltype(c);
            auto x = load<C>(a);
            auto values = has_source ? load<C>(s) : std::vector<C>(at(i.numel()), static_cast<C>(number));
            each_along(a, i, dim, [&](size_t position, size_t k) {
                C& e = x[position];
                e = reduce == 1 ? e + values[k] : reduce == 2 ? e * values[k] : values[k];
            });
            store(o, x);
        });
    }};
}
Plan Scatter(T self, i64 dim, T index, T src, i64 reduce, O out) {
    return scattered(self, dim, index, &need(src, "src"), 0, reduce, out);
}
Plan ScatterAdd(T self, i64 dim, T index, T src, O out) {
    return scattered(self, dim, index, &need(src, "src"), 0, 1, out);
}
Plan ScatterValue(T self, i64 dim, T index, S value, i64 reduce, O out) {
    return scattered(self, dim, index, nullptr, need_real(value, "value"), reduce, out);
}
Plan IndexAdd(T self, i64 dim, T index, T source, S alpha, O out) {
    View a = need(self, "self"), i = need(index, "index"), s = need(source, "source"), o = need(out, "out");
    check_indices(i, "index");
    double scale = need_real(alpha, "alpha");
    const Kind kind = kind_of(a.dtype);
    same_shape(o, shape_of(a), "the output");
    Shape expected = shape_of(a);
    if (a.rank) expected[at(wrap(dim, a.rank))] = i.numel();
    same_shape(s, expected, "source");
    View from = last_dim(a, dim), add = last_dim(s, dim), to = last_dim(o, dim);
    return {[=] {
        with_kind(kind, [&](auto c) {
            using C = decltype(c);
            auto x = load<C>(from), y = load<C>(add);
            auto where = load<int64_t>(i);
            int64_t n = length_of(from), m = static_cast<int64_t>(where.size());
            for (int64_t row = 0; m && row * m < static_cast<int64_t>(y.size()); row++)
                for (int64_t k = 0; k < m; k++)
                    x[at(row * n + in_range(where[at(k)], n))] += static_cast<C>(scale) * y[at(row * m + k)];
            store(to, x);
        });
    }};
}

// Indices of several dimensions at once. Entries that are null or empty stand for a whole dimension; masks were turned
// into indices by the caller.
struct Indexing {
    View self;
    std::vector<View> index;
    std::vector<int> indexed, whole;  // dimensions
    Shape common, result;
    bool in_place;  // the indexed dimensions are adjacent: the result keeps their place
};
Indexing indexing_of(const View& self, TL indices) {
    if (!indices) throw Invalid{kParamNull, "indices is null"};
    Indexing x;
    x.self = self;
    const auto& list = indices->values;
    if (static_cast<int>(list.size()) > self.rank) reject(list.size(), " indices for a tensor of rank ", self.rank);
    std::vector<const View*> views;
    for (int d = 0; d < self.rank; d++) {
        aclTensor* t = d < static_cast<int>(list.size()) ? list[at(d)] : nullptr;
        if (!t || (t->view.rank == 1 && t->view.sizes[0] == 0 && !t->view.base)) {
            x.whole.push_back(d);
            continue;
        }
        check_indices(t->view, "an index");
        x.indexed.push_back(d);
        x.index.push_back(t->view);
    }
    if (x.indexed.empty()) reject("no index is given");
    for (const View& v : x.index) {
        View so_far;
        so_far.rank = static_cast<int>(x.common.size());
        std::copy(x.common.begin(), x.common.end(), so_far.sizes);
        x.common = broadcast({&so_far, &v});
    }
    x.in_place = x.indexed.back() - x.indexed.front() + 1 == static_cast<int>(x.indexed.size());
    auto push_whole = [&](bool before) {
        for (int d : x.whole)
            if (!x.in_place ? !before : (d < x.indexed.front()) == before) x.result.push_back(self.sizes[d]);
    };
    push_whole(true);
    x.result.insert(x.result.end(), x.common.begin(), x.common.end());
    push_whole(false);
    return x;
}
// The position in self (row-major) of every element of the result.
std::vector<int64_t> positions_of(const Indexing& x) {
    std::vector<std::vector<int64_t>> where;
    for (const View& v : x.index) where.push_back(load<int64_t>(v, x.common));
    int64_t steps[kMaxRank], step = 1;
    for (int d = x.self.rank - 1; d >= 0; d--) {
        steps[d] = step;
        step *= x.self.sizes[d];
    }
    int64_t n = product(x.common), before = 1, after = 1;
    std::vector<int> first, last;
    for (int d : x.whole) (x.in_place && d < x.indexed.front() ? first : last).push_back(d);
    for (int d : first) before *= x.self.sizes[d];
    for (int d : last) after *= x.self.sizes[d];
    auto base = [&](int64_t i, const std::vector<int>& dims) {
        int64_t r = 0;
        for (size_t k = dims.size(); k-- > 0;) {
            r += i % x.self.sizes[dims[k]] * steps[dims[k]];
            i /= x.self.sizes[dims[k]];
        }
        return r;
    };
    std::vector<int64_t> chosen(at(n)), tail(at(after)), r;
    for (int64_t i = 0; i < n; i++)
        for (size_t k = 0; k < where.size(); k++)
            chosen[at(i)] += in_range(where[k][at(i)], x.self.sizes[x.indexed[k]]) * steps[x.indexed[k]];
    for (int64_t i = 0; i < after; i++) tail[at(i)] = base(i, last);
    r.reserve(at(before * n * after));
    for (int64_t a = 0; a < before; a++) {
        int64_t head = base(a, first);
        for (int64_t i = 0; i < n; i++)
            for (int64_t b = 0; b < after; b++) r.push_back(head + chosen[at(i)] + tail[at(b)]);
    }
    return r;
}
Plan Index(T self, TL indices, O out) {
    Indexing x = indexing_of(need(self, "self"), indices);
    View o = need(out, "out");
    same_shape(o, x.result, "the output");
    return {[=] {
        with_kind(kind_of(x.self.dtype), [&](auto c) {
            auto from = load<decltype(c)>(x.self);
            auto positions = positions_of(x);
            std::vector<decltype(c)> y(positions.size());
            for (size_t i = 0; i < y.size(); i++) y[i] = from[at(positions[i])];
            store(o, y);
        });
    }};
}
Plan IndexPutImpl(O self, TL indices, T values, bool accumulate, bool) {
    Indexing x = indexing_of(need(self, "selfRef"), indices);
    View v = need(values, "values"), target;
    target.rank = static_cast<int>(x.result.size());
    std::copy(x.result.begin(), x.result.end(), target.sizes);
    if (broadcast({&v, &target}) != x.result) reject("values of shape ", shown(shape_of(v)), " for ", shown(x.result));
    return {[=] {
        with_kind(kind_of(x.self.dtype), [&](auto c) {
            auto to = load<decltype(c)>(x.self), from = load<decltype(c)>(v, x.result);
            auto positions = positions_of(x);
            for (size_t i = 0; i < positions.size(); i++) {
                auto& e = to[at(positions[i])];
                e = accumulate ? e + from[i] : from[i];
            }
            store(x.self, to);
        });
    }};
}

// ---- outputs whose size the data decide: the output has room for the most, its real shape is set when it is known
// ----

void state_shape(aclTensor* t, const Shape& s) {
    std::copy(s.begin(), s.end(), t->actual);
    t->actual_rank = static_cast<int>(s.size());
}
Plan Nonzero(T self, O out) {
    View a = need(self, "self"), o = need(out, "out");
    if (o.dtype != ACL_INT64) reject("the output is of ", dtype_name(o.dtype), ", int64 is needed");
    same_shape(o, {a.numel(), a.rank}, "the output");
    return {[=] {
        std::vector<int64_t> found;
        int64_t rank = a.rank;
        with_kind(kind_of(a.dtype), [&](auto c) {
            auto x = load<decltype(c)>(a);
            for (size_t i = 0; i < x.size(); i++) {
                if (x[i] == 0) continue;
                size_t first = found.size();
                found.resize(first + at(rank));
                int64_t rest = static_cast<int64_t>(i);
                for (int64_t d = rank - 1; d >= 0; d--) {
                    found[first + at(d)] = rest % a.sizes[d];
                    rest /= a.sizes[d];
                }
            }
            int64_t count =
                rank ? static_cast<int64_t>(found.size()) / rank : static_cast<int64_t>(!x.empty() && x[0] != 0);
            View part = o;
            part.sizes[0] = count;
            store(part, found);
            state_shape(out, {count, rank});
        });
    }};
}
Plan MaskedSelect(T self, T mask, O out) {
    View a = need(self, "self"), m = need(mask, "mask"), o = need(out, "out");
    if (m.dtype != ACL_BOOL) reject("a mask of ", dtype_name(m.dtype));
    Shape shape = broadcast({&a, &m});
    same_shape(o, {product(shape)}, "the output");
    return {[=] {
        with_kind(kind_of(a.dtype), [&](auto c) {
            auto x = load<decltype(c)>(a, shape);
            auto chosen = load<int64_t>(m, shape);
            std::vector<decltype(c)> y;
            for (size_t i = 0; i < x.size(); i++)
                if (chosen[i]) y.push_back(x[i]);
            View part = o;
            part.sizes[0] = static_cast<int64_t>(y.size());
            store(part, y);
            state_shape(out, {static_cast<int64_t>(y.size())});
        });
    }};
}
}  // namespace

ACLNN(Embedding, T, T, O)
ACLNN(EmbeddingDenseBackward, T, T, u64, u64, bool, O)
ACLNN(IndexSelect, T, i64, T, O)
ACLNN(Gather, T, i64, T, O)
ACLNN(Scatter, T, i64, T, T, i64, O)
ACLNN(ScatterAdd, T, i64, T, T, O)
ACLNN(ScatterValue, T, i64, T, S, i64, O)
ACLNN(IndexAdd, T, i64, T, T, S, O)
ACLNN(Index, T, TL, O)
ACLNN(IndexPutImpl, O, TL, T, bool, bool)
ACLNN(Nonzero, T, O)
ACLNN(MaskedSelect, T, T, O)
