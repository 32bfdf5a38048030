// Distances between rows: cdist and pdist.
#include <vector>

#include "cpu/rows.h"
#include "cpu/simd.h"

namespace mt {
namespace {

// One pair of rows, of orders but 1 and 2. `p` 0 counts what differs, infinity takes the largest difference.
template <class X>
X distance(const X* a, const X* b, int64_t n, double p) {
    if (p == 0) return lane_sum<X>(n, [=](int64_t i) { return a[i] == b[i] ? X(0) : X(1); });
    if (std::isinf(p)) {
        X best = 0;
        for (int64_t i = 0; i < n; i++) {
            X d = std::abs(a[i] - b[i]);
            best = d > best || d != d ? d : best;
        }
        return best;
    }
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += std::pow(static_cast<double>(std::abs(a[i] - b[i])), p);
    return static_cast<X>(std::pow(sum, 1 / p));
}

// ---- one row against many ----

constexpr int kBytes = sizeof(simd::Vec);
template <class X>
constexpr int64_t kLanes = kBytes / static_cast<int64_t>(sizeof(X));
template <class X>
int64_t padded(int64_t columns) {
    return (columns + kLanes<X> - 1) / kLanes<X> * kLanes<X>;
}

// `columns` rows of n as columns, so that one number meets a register of others; padded with zeros to whole registers,
// and cut into panels of `panel` columns (the last may be narrower), each of which lies by itself.
template <class X>
TensorRef turned(const X* rows, int64_t batches, int64_t columns, int64_t n, int64_t panel) {
    const int64_t width = padded<X>(columns), panels = (width + panel - 1) / panel;
    TensorRef result = empty({batches, n, width}, dtype_of<X>::value);
    parallel_for(batches * panels, grain_for(panel * n), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) {
            const int64_t batch = i / panels, first = i % panels * panel, own = std::min(panel, width - first);
            const int64_t filled = std::min(own, columns - first);
            const X* from = rows + (batch * columns + first) * n;
            X* to = result->data<X>() + batch * n * width + first * n;
            for (int64_t k = 0; k < n; k++, to += own) {
                for (int64_t j = 0; j < filled; j++) to[j] = from[j * n + k];
                std::fill(to + filled, to + own, X(0));
            }
        }
    });
    return result;
}

// Distances of order 1 or 2 of M rows of n to N registers of others, those of a row `to_step` apart. Sums of 256 terms
// are summed again: long rows stay exact.
template <class X, bool kSquares, int M, int N>
void distances(const X* a, const X* others, int64_t width, int64_t n, X* to, int64_t to_step) {
    typedef X Vec __attribute__((vector_size(kBytes)));
    typedef X Loose __attribute__((vector_size(kBytes), aligned(sizeof(X)), may_alias));
    constexpr int64_t kTerms = 256;
    Vec totals[M][N] = {};
    for (int64_t k = 0; k < n; k += kTerms) {
        Vec sums[M][N] = {};
        for (int64_t i = k; i < std::min(n, k + kTerms); i++)
            for (int q = 0; q < N; q++) {
                const Vec b = *reinterpret_cast<const Loose*>(others + i * width + q * kLanes<X>);
                for (int m = 0; m < M; m++) {
                    const Vec d = a[m * n + i] - b;
                    sums[m][q] += kSquares ? d * d : d < 0 ? -d : d;
                }
            }
        for (int m = 0; m < M; m++)
            for (int q = 0; q < N; q++) totals[m][q] += sums[m][q];
    }
    for (int m = 0; m < M; m++) {
        std::memcpy(to + m * to_step, totals[m], sizeof totals[m]);
        if (kSquares)
            for (int i = 0; i < N * kLanes<X>; i++) to[m * to_step + i] = std::sqrt(to[m * to_step + i]);
    }
}

// Panel by panel, which stays in the cache while the rows pass.
template <class X, bool kSquares>
void distances_of_rows(const X* x, const X* y, int64_t batches, int64_t rows, int64_t columns, int64_t n, X* to) {
    constexpr int64_t kPanel = 4 * kLanes<X>;
    if (batches * rows * columns == 0) return;
    TensorRef others = turned(y, batches, columns, n, kPanel);
    const int64_t width = padded<X>(columns);
    // Rows [first, end) of one batch against one panel.
    auto run = [&](int64_t first, int64_t end, const X* panel, int64_t j) {
        X found[2 * kPanel];
        const int64_t own = std::min(kPanel, width - j), step = own == kPanel ? kPanel : kLanes<X>;
        for (int64_t at = 0; at < own; at += step)
            for (int64_t r = first; r < end;) {
                const bool two = step == kPanel && end - r > 1;
                auto compute = two              ? distances<X, kSquares, 2, 4>
                               : step == kPanel ? distances<X, kSquares, 1, 4>
                                                : distances<X, kSquares, 1, 1>;
                compute(x + r * n, panel + at, own, n, found, kPanel);
                for (int m = 0; m <= two; m++, r++)
                    std::copy(found + m * kPanel, found + m * kPanel + std::min(step, columns - j - at),
                              to + r * columns + j + at);
            }
    };
    parallel_for(batches * rows, grain_for(columns * n), [&](int64_t first, int64_t end) {
        for (int64_t r = first; r < end;) {
            const int64_t batch = r / rows, last = std::min(end, (batch + 1) * rows);
            for (int64_t j = 0; j < width; j += kPanel) run(r, last, others->data<X>() + (batch * width + j) * n, j);
            r = last;
        }
    });
}

// The gradient of a row by its distances of order 1 or 2: for each of its n numbers a sum over the other rows.
// `weights`: the slope of each distance, over the distance where the order is 2.
template <class X, bool kSquares>
void slopes_of_row(const X* a, const X* others, int64_t width, int64_t columns, int64_t n, const X* weights, X* da) {
    typedef X Vec __attribute__((vector_size(kBytes)));
    typedef X Loose __attribute__((vector_size(kBytes), aligned(sizeof(X)), may_alias));
    for (int64_t i = 0; i < n; i++) {
        const X* b = others + i * width;
        constexpr int kSums = 4;
        Vec sums[kSums] = {};
        auto add = [&](int64_t j, Vec& sum) {
            const Vec w = *reinterpret_cast<const Loose*>(weights + j);
            const Vec d = a[i] - *reinterpret_cast<const Loose*>(b + j);
            sum += kSquares ? w * d : d > 0 ? w : d < 0 ? -w : w * d;  // the last: 0 or NaN
        };
        int64_t j = 0;
        for (; j + kSums * kLanes<X> <= columns; j += kSums * kLanes<X>)
            for (int q = 0; q < kSums; q++) add(j + q * kLanes<X>, sums[q]);
        for (; j + kLanes<X> <= columns; j += kLanes<X>) add(j, sums[0]);
        const Vec all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        X total = 0;
        for (int64_t q = 0; q < kLanes<X>; q++) total += all[q];
        for (; j < columns; j++) {
            const X d = a[i] - b[j];
            total += kSquares || d != d ? weights[j] * d : weights[j] * (X(d > 0) - X(d < 0));
        }
        da[i] = total;
    }
}

template <class X, bool kSquares>
void slopes_of_rows(const X* x, const X* y, const X* grad, const X* dist, int64_t batches, int64_t rows,
                    int64_t columns, int64_t n, X* to) {
    const int64_t width = padded<X>(columns);
    TensorRef others = turned(y, batches, columns, n, width);
    const X* from = others->data<X>();
    parallel_for(batches * rows, grain_for(columns * n), [&](int64_t first, int64_t end) {
        std::vector<X> weights(static_cast<size_t>(columns));
        for (int64_t r = first; r < end; r++) {
            const X *g = grad + r * columns, *d = dist + r * columns;
            // Rows in one place have no slope of order 2.
            for (int64_t j = 0; j < columns; j++)
                weights[static_cast<size_t>(j)] = !kSquares ? g[j] : d[j] == X(0) ? X(0) : g[j] / d[j];
            slopes_of_row<X, kSquares>(x + r * n, from + r / rows * n * width, width, columns, n, weights.data(),
                                       to + r * n);
        }
    });
}

// Adds the gradient of one distance by the first row.
template <class X>
void add_slope(const X* a, const X* b, int64_t n, double p, X grad, X dist, X* da) {
    if (p == 0) return;
    if (p == 1) {
        for (int64_t i = 0; i < n; i++) {
            const X d = a[i] - b[i];
            da[i] += d != d ? d : grad * (X(d > 0) - X(d < 0));
        }
        return;
    }
    if (dist == X(0)) return;
    if (p == 2) {
        const X f = grad / dist;
        for (int64_t i = 0; i < n; i++) da[i] += f * (a[i] - b[i]);
        return;
    }
    if (grad == X(0)) return;
    for (int64_t i = 0; i < n; i++) {
        X d = a[i] - b[i], sign = X(d > 0) - X(d < 0);
        if (std::isinf(p))
            da[i] += std::abs(d) == dist ? grad * sign : X(0);
        else if (d != X(0))
            da[i] += grad * sign * static_cast<X>(std::pow(std::abs(d), p - 1) / std::pow(dist, p - 1));
    }
}

void check_order(double p, const char* name) { MT_CHECK(p >= 0, name, " only supports non-negative p values"); }

// Batches of `x`, broadcast to `batch`, contiguous.
TensorRef with_batch(const Tensor& x, const Dims& batch) {
    Dims sizes(batch), strides(static_cast<int64_t>(batch.size()), 0);
    int64_t own = x.ndim - 2;
    for (int64_t d = 0; d < own; d++)
        if (x.size(d) != 1) strides[batch.size() - own + d] = x.stride(d);
    for (int64_t d = own; d < x.ndim; d++) {
        sizes.push_back(x.size(d));
        strides.push_back(x.stride(d));
    }
    return contiguous(*as_strided(x, sizes, strides, x.offset));
}

Dims batch_of(const Tensor& a, const Tensor& b) {
    return broadcast_sizes(IntSpan(a.sizes().data, a.ndim - 2), IntSpan(b.sizes().data, b.ndim - 2));
}

// Words: x1, x2, p.
void cdist_shape(ShapeCall& c, const Tensor& a, const Tensor& b, double p) {
    MT_CHECK(a.ndim >= 2, "cdist only supports at least 2D tensors, X1 got: ", a.ndim, "D");
    MT_CHECK(b.ndim >= 2, "cdist only supports at least 2D tensors, X2 got: ", b.ndim, "D");
    MT_CHECK(a.size(a.ndim - 1) == b.size(b.ndim - 1),
             "X1 and X2 must have the same number of columns. X1: ", a.size(a.ndim - 1), " X2: ", b.size(b.ndim - 1));
    MT_CHECK(is_floating(a.dtype), "cdist only supports floating-point dtypes, X1 got: ", dtype_class_name(a.dtype));
    MT_CHECK(is_floating(b.dtype), "cdist only supports floating-point dtypes, X2 got: ", dtype_class_name(b.dtype));
    MT_CHECK(a.dtype == b.dtype, "expected scalar type ", dtype_class_name(a.dtype), " but found ",
             dtype_class_name(b.dtype));
    check_order(p, "cdist");
    Dims sizes = batch_of(a, b);
    sizes.push_back(a.size(a.ndim - 2));
    sizes.push_back(b.size(b.ndim - 2));
    c.output(0, sizes, a.dtype);
}

void cdist_cpu(Out out, const Tensor& a, const Tensor& b, double p, std::optional<int64_t> compute_mode) {
    DType wide = broad_type(out->dtype);
    Converted result(out, wide);
    Dims batch = batch_of(a, b);
    TensorRef x = contiguous(*with_batch(a, batch), wide), y = contiguous(*with_batch(b, batch), wide);
    int64_t rows = a.size(a.ndim - 2), columns = b.size(b.ndim - 2), n = a.size(a.ndim - 1);
    visit(PlainFloatTypes{}, wide, "cdist", [&]<class X>() {
        X* to = result.tensor().data<X>();
        const int64_t batches = numel_of(batch);
        if (p == 2) return distances_of_rows<X, true>(x->data<X>(), y->data<X>(), batches, rows, columns, n, to);
        if (p == 1) return distances_of_rows<X, false>(x->data<X>(), y->data<X>(), batches, rows, columns, n, to);
        parallel_for(batches * rows, grain_for(columns * n), [&](int64_t first, int64_t end) {
            for (int64_t r = first; r < end; r++)
                for (int64_t j = 0; j < columns; j++)
                    to[r * columns + j] =
                        distance(x->data<X>() + r * n, y->data<X>() + (r / rows * columns + j) * n, n, p);
        });
    });
    result.finish();
}

void check_dtype(const Tensor& t, DType wanted) {
    MT_CHECK(t.dtype == wanted, "expected scalar type ", dtype_class_name(wanted), " but found ",
             dtype_class_name(t.dtype));
}

void cdist_backward_shape(ShapeCall& c, const Tensor& grad, const Tensor& a, const Tensor& b, Unread p,
                          const Tensor& distances) {
    wrap_dim(-2, a.ndim);
    wrap_dim(-2, b.ndim);
    MT_CHECK(a.size(a.ndim - 1) == b.size(b.ndim - 1),
             "X1 and X2 must have the same number of columns. X1: ", a.size(a.ndim - 1), " X2: ", b.size(b.ndim - 1));
    Dims sizes = batch_of(a, b), pairs(sizes);
    pairs.push_back(a.size(a.ndim - 2));
    pairs.push_back(b.size(b.ndim - 2));
    for (const auto& [t, what] : {std::pair(&grad, "a gradient"), std::pair(&distances, "distances")}) {
        check_dtype(*t, a.dtype);
        MT_CHECK(t->sizes() == IntSpan(pairs), c.name(), "(): expected ", what, " of size ", IntSpan(pairs),
                 ", but got ", t->sizes());
    }
    check_dtype(b, a.dtype);
    sizes.push_back(a.size(a.ndim - 2));
    sizes.push_back(a.size(a.ndim - 1));
    c.output(0, sizes, a.dtype);
}

void cdist_backward_cpu(Out out, const Tensor& given_grad, const Tensor& a, const Tensor& b, double p,
                        const Tensor& cdist) {
    DType wide = broad_type(a.dtype);
    Converted result(out, wide);
    Dims batch = batch_of(a, b);
    TensorRef x = contiguous(*with_batch(a, batch), wide), y = contiguous(*with_batch(b, batch), wide);
    TensorRef grad = contiguous(given_grad, wide), dist = contiguous(cdist, wide);
    int64_t rows = a.size(a.ndim - 2), columns = b.size(b.ndim - 2), n = a.size(a.ndim - 1);
    visit(PlainFloatTypes{}, wide, "cdist_backward", [&]<class X>() {
        X* to = result.tensor().data<X>();
        const int64_t batches = numel_of(batch);
        // Few other rows fill no register; then the numbers of a row do.
        if ((p == 1 || p == 2) && columns > 0 && n > 0 && (columns >= kLanes<X> || n < kLanes<X>)) {
            const X *own = x->data<X>(), *others = y->data<X>(), *g = grad->data<X>(), *d = dist->data<X>();
            return p == 2 ? slopes_of_rows<X, true>(own, others, g, d, batches, rows, columns, n, to)
                          : slopes_of_rows<X, false>(own, others, g, d, batches, rows, columns, n, to);
        }
        parallel_for(batches * rows, grain_for(columns * n), [&](int64_t first, int64_t end) {
            for (int64_t r = first; r < end; r++) {
                std::fill(to + r * n, to + (r + 1) * n, X(0));
                for (int64_t j = 0; j < columns; j++)
                    add_slope(x->data<X>() + r * n, y->data<X>() + (r / rows * columns + j) * n, n, p,
                              grad->data<X>()[r * columns + j], dist->data<X>()[r * columns + j], to + r * n);
            }
        });
    });
    result.finish();
}

// ---- pdist: the pairs above the diagonal ----

void pdist_shape(ShapeCall& c, const Tensor& self, double p) {
    MT_CHECK(self.ndim == 2, "pdist only supports 2D tensors, got: ", self.ndim, "D");
    MT_CHECK(is_floating(self.dtype), "pdist only supports floating-point dtypes");
    check_order(p, "pdist");
    int64_t n = self.size(0), pairs = n * (n - 1) / 2;
    c.output(0, IntSpan(&pairs, 1), self.dtype);
}

void pdist_cpu(Out out, const Tensor& given_self, double given_p) {
    DType wide = broad_type(out->dtype);
    Converted result(out, wide);
    TensorRef self = contiguous(given_self, wide);
    int64_t rows = self->size(0), n = self->size(1);
    visit(PlainFloatTypes{}, wide, "pdist", [&]<class X>() {
        const X* x = self->data<X>();
        X* to = result.tensor().data<X>();
        const double p = given_p;
        if (p == 1 || p == 2) {  // all of them, in registers
            TensorRef all = empty({rows, rows}, wide);
            X* from = all->data<X>();
            p == 2 ? distances_of_rows<X, true>(x, x, 1, rows, rows, n, from)
                   : distances_of_rows<X, false>(x, x, 1, rows, rows, n, from);
            for (int64_t i = 0; i < rows; i++) to = std::copy(from + i * rows + i + 1, from + (i + 1) * rows, to);
            return;
        }
        for (int64_t i = 0, k = 0; i < rows; i++)
            for (int64_t j = i + 1; j < rows; j++) to[k++] = distance(x + i * n, x + j * n, n, p);
    });
    result.finish();
}

void pdist_backward_shape(ShapeCall& c, const Tensor& grad, const Tensor& self, Unread p, const Tensor& distances) {
    wrap_dim(1, self.ndim);
    MT_CHECK(self.ndim == 2, "pdist only supports 2D tensors, got: ", self.ndim, "D");
    const int64_t n = self.size(0), pairs = n * (n - 1) / 2;
    for (const auto& [t, what] : {std::pair(&grad, "a gradient"), std::pair(&distances, "distances")}) {
        check_dtype(*t, self.dtype);
        MT_CHECK(t->sizes() == IntSpan(&pairs, 1), c.name(), "(): expected ", what, " of size [", pairs, "], but got ",
                 t->sizes());
    }
    c.output(0, self.sizes(), self.dtype);
}

void pdist_backward_cpu(Out out, const Tensor& given_grad, const Tensor& given_self, double p, const Tensor& pdist) {
    DType wide = broad_type(out->dtype);
    Converted result(out, wide);
    TensorRef self = contiguous(given_self, wide), grad = contiguous(given_grad, wide), dist = contiguous(pdist, wide);
    int64_t rows = self->size(0), n = self->size(1);
    visit(PlainFloatTypes{}, wide, "pdist_backward", [&]<class X>() {
        const X *x = self->data<X>(), *g = grad->data<X>(), *d = dist->data<X>();
        X* to = result.tensor().data<X>();
        std::fill(to, to + rows * n, X(0));
        for (int64_t i = 0, k = 0; i < rows; i++)
            for (int64_t j = i + 1; j < rows; j++, k++) {
                add_slope(x + i * n, x + j * n, n, p, g[k], d[k], to + i * n);
                add_slope(x + j * n, x + i * n, n, p, g[k], d[k], to + j * n);
            }
    });
    result.finish();
}

}  // namespace

KERNELS
{
    shape<cdist_shape>("cdist");
    shape<cdist_backward_shape>("cdist_backward");
    shape<pdist_shape>("pdist");
    shape<pdist_backward_shape>("pdist_backward");
    structured<cdist_cpu>("_cdist_forward", kContiguousOutputs);
    structured<cdist_backward_cpu>("_cdist_backward", kContiguousOutputs);
    structured<pdist_cpu>("_pdist_forward", kContiguousOutputs);
    structured<pdist_backward_cpu>("_pdist_backward", kContiguousOutputs);
}

}  // namespace mt
