// Order and membership: running extrema, ranks, places among sorted numbers, counts.
#include "reduction.h"

#include <numeric>

using namespace emu;

namespace {

size_t at(int64_t i) { return static_cast<size_t>(i); }
template <class C>
bool is_nan(C x) {
    return x != x;
}

// The largest or smallest so far along a dimension, and where the last of them is.
template <bool largest>
Plan running(T self, i64 dim, O values, O indices) {
    View v = need(self, "self"), o = need(values, "valuesOut"), w = need(indices, "indicesOut");
    same_shape(o, shape_of(v), "valuesOut");
    same_shape(w, shape_of(v), "indicesOut");
    View from = last_dim(v, dim), to = last_dim(o, dim), where = last_dim(w, dim);
    return {[=] {
        with_kind(kind_of(v.dtype), [&](auto c) {
            auto x = load<decltype(c)>(from);
            std::vector<int64_t> place(x.size());
            size_t n = at(std::max<int64_t>(length_of(from), 1));
            for (size_t i = 0; i < x.size(); i++) {
                if (i % n == 0) continue;
                auto best = x[i - 1];
                bool takes = is_nan(x[i]) || (!is_nan(best) && (largest ? x[i] >= best : x[i] <= best));
                place[i] = takes ? static_cast<int64_t>(i % n) : place[i - 1];
                if (!takes) x[i] = best;
            }
            store(to, x);
            store(where, place);
        });
    }};
}

// The element of a rank within each row, and its place. A rank below 0 is the lower median; it is NaN where there is
// one, or the median of the others.
enum class Nan { kLargest, kWins, kIgnored };
Plan ranked(const View& v, int64_t dim, bool keep, const View& values, const View* indices, int64_t rank, Nan nan) {
    Rows r = rows_of(v, dim == kMaxRank ? std::vector<int64_t>{} : std::vector<int64_t>{dim}, keep);
    same_shape(values, r.result, "the output");
    if (indices) same_shape(*indices, r.result, "indicesOut");
    if (r.length == 0 || rank >= r.length) reject("rank ", rank + 1, " of ", r.length, " elements");
    bool has_indices = indices;
    View where = indices ? *indices : View();
    return {[=] {
        with_kind(kind_of(v.dtype), [&](auto c) {
            using C = decltype(c);
            auto x = load<C>(r.view);
            std::vector<C> found;
            std::vector<int64_t> place, order(at(r.length));
            for (int64_t row = 0; row < r.rows; row++) {
                const C* of = x.data() + row * r.length;
                std::iota(order.begin(), order.end(), 0);
                std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
                    return !is_nan(of[a]) && (is_nan(of[b]) || of[a] < of[b]);
                });
                int64_t numbers = 0;
                while (numbers < r.length && !is_nan(of[order[at(numbers)]])) numbers++;
                int64_t k = rank;
                if (rank < 0)
                    k = nan == Nan::kWins && numbers < r.length ? numbers : (std::max<int64_t>(numbers, 1) - 1) / 2;
                place.push_back(order[at(k)]);
                found.push_back(of[place.back()]);
            }
            store(values, found);
            if (has_indices) store(where, place);
        });
    }};
}
Plan Kthvalue(T self, i64 k, i64 dim, bool keep, O values, O indices) {
    if (k < 1) reject("k is ", k);
    return ranked(need(self, "self"), dim, keep, need(values, "valuesOut"), &need(indices, "indicesOut"), k - 1,
                  Nan::kLargest);
}
template <Nan nan>
Plan median_dim(T self, i64 dim, bool keep, O values, O indices) {
    return ranked(need(self, "self"), dim, keep, need(values, "valuesOut"), &need(indices, "indicesOut"), -1, nan);
}
template <Nan nan>
Plan median(T self, O out) {
    return ranked(need(self, "self"), kMaxRank, false, need(out, "valuesOut"), nullptr, -1, nan);
}

// How many of the sorted boundaries are below a number (or not above it).
template <class C>
int64_t place_among(const C* sorted, int64_t n, C x, bool right) {
    auto less = [](C a, C b) { return !is_nan(a) && (is_nan(b) || a < b); };
    return right ? std::upper_bound(sorted, sorted + n, x, less) - sorted
                 : std::lower_bound(sorted, sorted + n, x, less) - sorted;
}
void check_places(const View& o, bool small) {
    if (o.dtype != (small ? ACL_INT32 : ACL_INT64)) reject("the output is of ", dtype_name(o.dtype));
}
Plan Bucketize(T self, T boundaries, bool small, bool right, O out) {
    View v = need(self, "self"), b = need(boundaries, "boundaries"), o = need(out, "out");
    if (b.rank != 1) reject("boundaries of rank ", b.rank);
    same_shape(o, shape_of(v), "the output");
    check_places(o, small);
    return {[=] {
        with_kind(wider(kind_of(v.dtype), kind_of(b.dtype)), [&](auto c) {
            auto x = load<decltype(c)>(v), sorted = load<decltype(c)>(b);
            std::vector<int64_t> y;
            for (auto e : x) y.push_back(place_among(sorted.data(), static_cast<int64_t>(sorted.size()), e, right));
            store(o, y);
        });
    }};
}
Plan SearchSorted(T sequence, T self, bool small, bool right, T sorter, O out) {
    View s = need(sequence, "sortedSequence"), v = need(self, "self"), o = need(out, "out");
    same_shape(o, shape_of(v), "the output");
    check_places(o, small);
    if (s.rank < 1) reject("a sequence of rank 0");
    bool one = s.rank == 1;
    if (!one) {
        if (s.rank != v.rank) reject("a sequence of rank ", s.rank, " for values of rank ", v.rank);
        for (int d = 0; d + 1 < s.rank; d++)
            if (s.sizes[d] != v.sizes[d])
                reject("a sequence of ", shown(shape_of(s)), " for values of ", shown(shape_of(v)));
    }
    bool has_order = sorter;
    View order = sorter ? sorter->view : View();
    if (sorter) same_shape(order, shape_of(s), "sorter");
    return {[=] {
        with_kind(wider(kind_of(s.dtype), kind_of(v.dtype)), [&](auto c) {
            auto x = load<decltype(c)>(v), given = load<decltype(c)>(s), sorted = given;
            int64_t n = s.sizes[s.rank - 1], each = one ? 0 : v.sizes[v.rank - 1];
            if (has_order) {
                auto by = load<int64_t>(order);
                for (size_t i = 0; i < by.size(); i++) sorted[i] = given[i / at(n) * at(n) + at(by[i])];
            }
            std::vector<int64_t> y;
            for (size_t i = 0; i < x.size(); i++)
                y.push_back(
                    place_among(sorted.data() + (one ? 0 : static_cast<int64_t>(i) / each * n), n, x[i], right));
            store(o, y);
        });
    }};
}
Plan among(const View& elements, S number, bool invert, O out) {
    View v = elements, o = need(out, "out");
    double real = need_real(number, "the number");
    same_shape(o, shape_of(v), "the output");
    return {[=] {
        auto x = load<double>(v);
        std::vector<int64_t> y;
        for (double e : x) y.push_back((e == real) != invert);
        store(o, y);
    }};
}
Plan IsInTensorScalar(T elements, S test, bool, bool invert, O out) {
    return among(need(elements, "element"), test, invert, out);
}
Plan IsInScalarTensor(S element, T tests, bool, bool invert, O out) {
    View t = need(tests, "testElements"), o = need(out, "out");
    double real = need_real(element, "element");
    same_shape(o, {}, "the output");
    return {[=] {
        auto x = load<double>(t);
        store(o, std::vector<int64_t>{(std::find(x.begin(), x.end(), real) != x.end()) != invert});
    }};
}
Plan RepeatInterleaveTensor(T repeats, i64 size, O out) {
    View r = need(repeats, "repeats"), o = need(out, "out");
    if (r.rank != 1) reject("repeats of rank ", r.rank);
    same_shape(o, {size}, "the output");
    return {[=] {
        auto often = load<int64_t>(r);
        std::vector<int64_t> y;
        for (size_t i = 0; i < often.size(); i++) {
            if (often[i] < 0) throw text("repeats has a negative number, ", often[i]);
            y.insert(y.end(), at(often[i]), static_cast<int64_t>(i));
        }
        if (static_cast<int64_t>(y.size()) != size) throw text("repeats sums to ", y.size(), ", outputSize is ", size);
        store(o, y);
    }};
}
Plan Histc(T self, i64 bins, S low, S high, O out) {
    View v = need(self, "self"), o = need(out, "out");
    double a = need_real(low, "min"), b = need_real(high, "max");
    if (bins < 1) reject("bins is ", bins);
    if (a > b) reject("min is ", a, ", max is ", b);
    same_shape(o, {bins}, "the output");
    return {[=]() mutable {
        auto x = load<double>(v);
        if (a == b && !x.empty()) {
            auto ends = std::minmax_element(x.begin(), x.end());
            a = *ends.first;
            b = *ends.second;
        }
        if (a == b) {
            a -= 1;
            b += 1;
        }
        std::vector<int64_t> y(at(bins));
        for (double e : x)
            if (e >= a && e <= b)
                y[at(std::min<int64_t>(static_cast<int64_t>((e - a) / (b - a) * static_cast<double>(bins)),
                                       bins - 1))]++;
        store(o, y);
    }};
}
}  // namespace

ACLNN_AS(Cummax, running<true>, T, i64, O, O)
ACLNN_AS(Cummin, running<false>, T, i64, O, O)
ACLNN(Kthvalue, T, i64, i64, bool, O, O)
ACLNN_AS(MedianDim, median_dim<Nan::kWins>, T, i64, bool, O, O)
ACLNN_AS(NanMedianDim, median_dim<Nan::kIgnored>, T, i64, bool, O, O)
ACLNN_AS(Median, median<Nan::kWins>, T, O)
ACLNN_AS(NanMedian, median<Nan::kIgnored>, T, O)
ACLNN(Bucketize, T, T, bool, bool, O)
ACLNN(SearchSorted, T, T, bool, bool, T, O)
ACLNN(IsInTensorScalar, T, S, bool, bool, O)
ACLNN(IsInScalarTensor, S, T, bool, bool, O)
ACLNN(RepeatInterleaveTensor, T, i64, O)
ACLNN(Histc, T, i64, S, S, O)
