// Discrete Fourier transforms along chosen dimensions.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "cpu/fft_plan.h"
#include "cpu/strided_walk.h"

namespace mt {
namespace {

using fft::Plan;
using fft::Split;

// f(first element, step) for every row of `t` along dimension d.
template <class F>
void each_row(const Tensor& t, int64_t d, const F& f) {
    Dims sizes(t.sizes());
    sizes[d] = 1;
    StridedWalk<1> walk(sizes, {t.strides()});
    walk.run([&](const auto& at, int64_t n, const auto& steps) {
        for (int64_t i = 0; i < n; i++) f(at[0] + i * steps[0]);
    });
}

// In numbers, of which a complex one is two.
std::vector<int64_t> starts_of_rows(const Tensor& t, int64_t d) {
    std::vector<int64_t> rows;
    rows.reserve(static_cast<size_t>(t.numel() / std::max<int64_t>(1, t.size(d))));
    const int64_t numbers = is_complex(t.dtype) ? 2 : 1;
    each_row(t, d, [&](int64_t at) { rows.push_back(numbers * at); });
    return rows;
}

// Rows that are transformed at once. Short ones fill the registers only together, and rows side by side in memory are
// read together; long ones are better off alone in the cache.
int64_t rows_at_once(int64_t n, bool adjacent, int64_t rows) {
    constexpr int64_t kMost = 16, kPoints = 1 << 15;
    if (adjacent && n > 100) return 1;
    return std::max<int64_t>(1, std::min({kMost, rows, kPoints / n}));
}

// Both buffers of a plan, for so many rows.
template <class R>
class Buffers {
  public:
    Buffers(const Plan<R>& plan, int64_t rows)
        : size_(static_cast<size_t>((plan.room() + 1) * rows)  // one more: n / 2 + 1 points
                ),
          numbers_(new R[4 * size_]) {}
    Split<R> first() { return {numbers_.get(), numbers_.get() + size_}; }
    Split<R> second() { return {numbers_.get() + 2 * size_, numbers_.get() + 3 * size_}; }

  private:
    size_t size_;
    std::unique_ptr<R[]> numbers_;
};

// f(row, begin, end) for all points of all rows: some points of every row before the next ones, since points lie side
// by side in the buffers of which the cache does not hold all.
template <class F>
void by_points(int64_t width, int64_t n, const F& f) {
    constexpr int64_t kPoints = 32;
    for (int64_t i = 0; i < n; i += kPoints)
        for (int64_t r = 0; r < width; r++) f(r, i, std::min(n, i + kPoints));
}

// Where the rows of pairs of numbers lie: `starts` of the rows, the steps from one pair of a row to the next, and from
// a pair's first number to its second.
struct Pairs {
    const int64_t* starts;
    int64_t step, gap;
    bool adjacent() const { return step == 2 && gap == 1; }
    bool side_by_side(int64_t width) const {
        return width > 1 && gap == 1 && starts[width - 1] == starts[0] + 2 * (width - 1);
    }
};

// Pairs to and from the two parts.
template <class R>
void load_pairs(const R* data, const Pairs& p, int64_t width, int64_t n, Split<R> x) {
    if (width == 1 && p.adjacent()) {
        const R* from = data + p.starts[0];
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) x.re[i] = from[2 * i], x.im[i] = from[2 * i + 1];
    } else if (p.side_by_side(width)) {
        for (int64_t i = 0; i < n; i++) {
            const R* from = data + p.starts[0] + i * p.step;
#pragma GCC ivdep
            for (int64_t r = 0; r < width; r++)
                x.re[i * width + r] = from[2 * r], x.im[i * width + r] = from[2 * r + 1];
        }
    } else {
        by_points(width, n, [=](int64_t r, int64_t begin, int64_t end) {
            const R* from = data + p.starts[r];
            for (int64_t i = begin; i < end; i++)
                x.re[i * width + r] = from[i * p.step], x.im[i * width + r] = from[i * p.step + p.gap];
        });
    }
}
template <class R>
void store_pairs(R* data, const Pairs& p, int64_t width, int64_t n, Split<R> y, R scale) {
    if (width == 1 && p.adjacent()) {
        R* to = data + p.starts[0];
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) to[2 * i] = y.re[i] * scale, to[2 * i + 1] = y.im[i] * scale;
    } else if (p.side_by_side(width)) {
        for (int64_t i = 0; i < n; i++) {
            R* to = data + p.starts[0] + i * p.step;
#pragma GCC ivdep
            for (int64_t r = 0; r < width; r++) {
                to[2 * r] = y.re[i * width + r] * scale;
                to[2 * r + 1] = y.im[i * width + r] * scale;
            }
        }
    } else {
        by_points(width, n, [=](int64_t r, int64_t begin, int64_t end) {
            R* to = data + p.starts[r];
            for (int64_t i = begin; i < end; i++) {
                to[i * p.step] = y.re[i * width + r] * scale;
                to[i * p.step + p.gap] = y.im[i * width + r] * scale;
            }
        });
    }
}

// work(buffers, first row, number of rows) for all rows, several at once.
template <class R, class F>
void in_blocks(const Plan<R>& plan, int64_t rows, int64_t at_once, const F& work) {
    const int64_t blocks = (rows + at_once - 1) / at_once;
    parallel_for(blocks, grain_for(16 * plan.size() * at_once), [&](int64_t begin, int64_t end) {
        Buffers<R> buffers(plan, at_once);
        for (int64_t k = begin; k < end; k++) work(buffers, k * at_once, std::min(at_once, rows - k * at_once));
    });
}

// The other direction is the same transform with real and imaginary parts exchanged, before and after.
template <class R>
void transform_in_place(Tensor& t, int64_t d, bool forward, double factor) {
    const int64_t n = t.size(d), step = t.stride(d);
    if (t.numel() == 0) return;
    const auto plan = fft::plan_for<R>(n);
    R* data = reinterpret_cast<R*>(t.raw());
    const std::vector<int64_t> rows = starts_of_rows(t, d);
    const int64_t count = static_cast<int64_t>(rows.size()), at_once = rows_at_once(n, step == 1, count);
    const R scale = static_cast<R>(factor);
    in_blocks<R>(*plan, count, at_once, [&](Buffers<R>& buffers, int64_t first, int64_t width) {
        const Pairs pairs{rows.data() + first, 2 * step, 1};
        const Split<R> x = buffers.first(), y = buffers.second();
        load_pairs<R>(data, pairs, width, n, forward ? x : x.swapped());
        const Split<R> z = plan->run(x, y, width);
        store_pairs<R>(data, pairs, width, n, forward ? z : z.swapped(), scale);
    });
}

// Transforms along `dims`, last first; the numbers are multiplied by `factor` on the way.
void transform(Tensor& t, IntSpan dims, bool forward, double factor) {
    NoGil nogil(t.numel() > kGrain);
    visit(ComplexTypes{}, t.dtype, "fft", [&]<class C>() {
        for (int64_t k = dims.size - 1; k >= 0; k--)
            transform_in_place<typename C::value_type>(t, wrap_dim(dims[k], t.dim()), forward, k == 0 ? factor : 1);
    });
}

// 2 n reals as n pairs: from the pairs' transform z to points 0 .. n of the reals', times 2, or back. z holds the
// transforms e and o of the even and of the odd places as e + i o, and point k is e + w o; the way back differs in one
// sign, and in points 0 and n, which stand for themselves: they are real.
template <bool kBack, class R>
void pairs_and_points(Split<R> z, Split<R> to, Split<const R> w, int64_t n, int64_t width) {
    auto point = [](R ar, R ai, R br, R bi, R wr, R wi, R& re, R& im) __attribute__((always_inline)) {
        const R sr = ar + br, si = ai - bi, dr = ar - br, di = ai + bi;
        if (kBack) wr = -wr;
        re = sr + (di * wr + dr * wi), im = si + (di * wi - dr * wr);
    };
    const R *zr = z.re, *zi = z.im, *wr = w.re, *wi = w.im;
    R* __restrict re = to.re, * __restrict im = to.im;
    for (int64_t r = 0; r < width; r++) {
        if (kBack) {
            re[r] = zr[r] + zr[n * width + r], im[r] = zr[r] - zr[n * width + r];
        } else {
            re[r] = 2 * (zr[r] + zi[r]), re[n * width + r] = 2 * (zr[r] - zi[r]);
            im[r] = im[n * width + r] = 0;
        }
    }
    if (width == 1) {
#pragma GCC ivdep
        for (int64_t k = 1; k < n; k++) point(zr[k], zi[k], zr[n - k], zi[n - k], wr[k], wi[k], re[k], im[k]);
        return;
    }
    for (int64_t k = 1; k < n; k++) {
        const int64_t a = k * width, b = (n - k) * width;
#pragma GCC ivdep
        for (int64_t r = 0; r < width; r++)
            point(zr[a + r], zi[a + r], zr[b + r], zi[b + r], wr[k], wi[k], re[a + r], im[a + r]);
    }
}

// Single numbers to and from one part.
template <class R>
void load_reals(const R* data, const int64_t* starts, int64_t width, int64_t n, int64_t step, R* x) {
    by_points(width, n, [=](int64_t r, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) x[i * width + r] = data[starts[r] + i * step];
    });
}
template <class R>
void store_reals(R* data, const int64_t* starts, int64_t width, int64_t n, int64_t step, const R* y, R scale) {
    by_points(width, n, [=](int64_t r, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) data[starts[r] + i * step] = y[i * width + r] * scale;
    });
}

// Real rows of n to the first n / 2 + 1 points of their transforms. An even number of reals is transformed as half as
// many pairs.
template <class R>
void real_transform(const Tensor& in, Tensor& out, int64_t d, double factor) {
    const int64_t n = in.size(d), step = in.stride(d), out_step = out.stride(d), known = n / 2 + 1;
    const bool even = n % 2 == 0;
    const int64_t points = even ? n / 2 : n;
    const auto plan = fft::plan_for<R>(points);
    const std::vector<int64_t> from = starts_of_rows(in, d), to = starts_of_rows(out, d);
    const int64_t count = static_cast<int64_t>(from.size()), at_once = rows_at_once(points, step == 1, count);
    const R* source = in.data<R>();
    R* target = reinterpret_cast<R*>(out.raw());
    in_blocks<R>(*plan, count, at_once, [&](Buffers<R>& buffers, int64_t first, int64_t width) {
        const Split<R> x = buffers.first(), y = buffers.second();
        const int64_t *starts = from.data() + first, *ends = to.data() + first;
        if (even) {
            load_pairs<R>(source, {starts, 2 * step, step}, width, points, x);
        } else {
            load_reals<R>(source, starts, width, points, step, x.re);
            std::fill(x.im, x.im + points * width, R(0));
        }
        const Split<R> z = plan->run(x, y, width), free = z.re == x.re ? y : x;
        if (even)
            pairs_and_points<false, R>(z, free, plan->half_turns(), points, width);
        else
            std::fill(z.im, z.im + width, R(0));
        store_pairs<R>(target, {ends, 2 * out_step, 1}, width, known, even ? free : z,
                       static_cast<R>(even ? factor / 2 : factor));
    });
}

// The points above the middle of a real signal's transform: conjugates of those below.
template <class R>
void mirror(Tensor& out, int64_t d, int64_t n) {
    R* target = reinterpret_cast<R*>(out.raw());
    const int64_t step = 2 * out.stride(d);
    each_row(out, d, [&](int64_t at) {
        R* row = target + 2 * at;
        for (int64_t k = n / 2 + 1; k < n; k++) {
            row[k * step] = row[(n - k) * step];
            row[k * step + 1] = -row[(n - k) * step + 1];
        }
    });
}

// The inverse, from the first n / 2 + 1 points to n reals.
template <class R>
void inverse_real_transform(const Tensor& in, Tensor& out, int64_t d, double factor) {
    const int64_t n = out.size(d), step = in.stride(d), out_step = out.stride(d), known = n / 2 + 1;
    const bool even = n % 2 == 0;
    const int64_t points = even ? n / 2 : n;
    const auto plan = fft::plan_for<R>(points);
    const std::vector<int64_t> from = starts_of_rows(in, d), to = starts_of_rows(out, d);
    const int64_t count = static_cast<int64_t>(from.size()), at_once = rows_at_once(points, step == 1, count);
    const R scale = static_cast<R>(factor);
    const R* source = reinterpret_cast<const R*>(in.raw());
    R* target = out.data<R>();
    in_blocks<R>(*plan, count, at_once, [&](Buffers<R>& buffers, int64_t first, int64_t width) {
        Split<R> x = buffers.first(), y = buffers.second();
        const int64_t *starts = from.data() + first, *ends = to.data() + first;
        load_pairs<R>(source, {starts, 2 * step, 1}, width, known, x);
        if (even) {
            pairs_and_points<true, R>(x, y, plan->half_turns(), points, width);
            std::swap(x, y);
        } else {
            std::fill(x.im, x.im + width, R(0));
            for (int64_t k = known; k < n; k++)
                for (int64_t r = 0; r < width; r++) {
                    x.re[k * width + r] = x.re[(n - k) * width + r];
                    x.im[k * width + r] = -x.im[(n - k) * width + r];
                }
        }
        const Split<R> z = plan->run(x.swapped(), y.swapped(), width).swapped();
        if (even)
            store_pairs<R>(target, {ends, 2 * out_step, out_step}, width, points, z, scale);
        else
            store_reals<R>(target, ends, width, points, out_step, z.re, scale);
    });
}

// 0: as it is; 1: over the root of the number of points; 2: over the number of points.
double scale_of(int64_t normalization, double points) {
    return normalization == 0 ? 1 : normalization == 1 ? 1 / std::sqrt(points) : 1 / points;
}
double points_of(IntSpan sizes, IntSpan dims) {
    double points = 1;
    for (int64_t d : dims) points *= static_cast<double>(sizes[wrap_dim(d, sizes.size)]);
    return points;
}
void check_signal(const char* op, const Tensor& self, IntSpan dims) {
    MT_CHECK(self.numel() > 0 || dims.size == 0, op,
             "(): expected a tensor with at least one element, but got one of size ", self.sizes());
    std::vector<bool> seen(static_cast<size_t>(self.dim()));
    for (int64_t d : dims) {
        d = wrap_dim(d, self.dim(), false);
        MT_CHECK(!seen[static_cast<size_t>(d)], "FFT dims must be unique");
        seen[static_cast<size_t>(d)] = true;
    }
}

// PyTorch lays the transformed dimensions out innermost, as given, and the others by their strides.
void output_with_signal_inside(ShapeCall& c, const Tensor& self, IntSpan sizes, IntSpan dims, DType dtype) {
    Dims order, strides(sizes.size);
    for (int64_t d = 0; d < sizes.size; d++) {
        bool transformed = false;
        for (int64_t k : dims) transformed = transformed || wrap_dim(k, sizes.size) == d;
        if (!transformed) order.push_back(d);
    }
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return self.stride(a) > self.stride(b); });
    for (int64_t k : dims) order.push_back(wrap_dim(k, sizes.size));
    int64_t step = 1;
    for (int64_t k = order.size() - 1; k >= 0; k--) {
        strides[order[k]] = step;
        step *= std::max<int64_t>(1, sizes[order[k]]);
    }
    c.output_strided(0, sizes, strides, dtype);
}

// _fft_c2c(self, dim, normalization, forward)
void c2c_shape(ShapeCall& c, const Tensor& self, IntSpan dim) {
    MT_CHECK(is_complex(self.dtype), "_fft_c2c: expected a complex tensor, got ", dtype_class_name(self.dtype));
    check_signal(c.name(), self, dim);
    output_with_signal_inside(c, self, self.sizes(), dim, self.dtype);
}
void c2c_cpu(Out out, const Tensor& self, IntSpan dim, int64_t normalization, bool forward) {
    copy_into(out, self);
    transform(out, dim, forward, scale_of(normalization, points_of(out->sizes(), dim)));
}

// _fft_r2c(self, dim, normalization, onesided): onesided keeps the first n / 2 + 1 points of the last dimension
void r2c_shape(ShapeCall& c, const Tensor& self, IntSpan dims, Unread normalization, bool onesided) {
    MT_CHECK(self.dtype == DType::Float32 || self.dtype == DType::Float64, "Unsupported dtype ",
             dtype_class_name(self.dtype));
    MT_CHECK(dims.size > 0, "_fft_r2c: expected at least one dimension");
    check_signal(c.name(), self, dims);
    Dims sizes(self.sizes());
    int64_t last = wrap_dim(dims[dims.size - 1], self.dim());
    if (onesided) sizes[last] = sizes[last] / 2 + 1;
    output_with_signal_inside(c, self, sizes, dims, to_complex(self.dtype));
}
void r2c_cpu(Out out, const Tensor& given_self, IntSpan dims, int64_t normalization, bool onesided) {
    TensorRef self = contiguous(given_self);
    const int64_t last = wrap_dim(dims[dims.size - 1], self->dim()), n = self->size(last);
    const double factor = scale_of(normalization, points_of(self->sizes(), dims));
    visit(PlainFloatTypes{}, self->dtype, "fft", [&]<class R>() {
        real_transform<R>(*self, out, last, factor);
        if (!onesided) mirror<R>(out, last, n);
    });
    transform(out, IntSpan(dims.data, dims.size - 1), true, 1);
}

// _fft_c2r(self, dim, normalization, last_dim_size): the inverse, for the first half of a symmetric spectrum
void c2r_shape(ShapeCall& c, const Tensor& self, IntSpan dims, Unread normalization, int64_t n) {
    MT_CHECK(is_complex(self.dtype), "_fft_c2r: expected a complex tensor, got ", dtype_class_name(self.dtype));
    MT_CHECK(dims.size > 0, "_fft_c2r: expected at least one dimension");
    check_signal(c.name(), self, dims);
    Dims sizes(self.sizes());
    int64_t last = wrap_dim(dims[dims.size - 1], self.dim());
    MT_CHECK(n >= 1, "Invalid number of data points (", n, ") specified");
    MT_CHECK(sizes[last] == n / 2 + 1, "_fft_c2r: expected ", n / 2 + 1, " points in dimension ", last, ", got ",
             sizes[last]);
    sizes[last] = n;
    output_with_signal_inside(c, self, sizes, dims, to_real(self.dtype));
}
void c2r_cpu(Out out, const Tensor& self, IntSpan dims, int64_t normalization, int64_t last_dim_size) {
    if (out->numel() == 0) return;
    const int64_t last = wrap_dim(dims[dims.size - 1], out->dim());
    TensorRef half = contiguous(self);
    if (dims.size > 1) {
        half = clone(*half);
        transform(*half, IntSpan(dims.data, dims.size - 1), false, 1);
    }
    const double factor = scale_of(normalization, points_of(out->sizes(), dims));
    visit(PlainFloatTypes{}, out->dtype, "fft",
          [&]<class R>() { inverse_real_transform<R>(*half, out, last, factor); });
}

}  // namespace

KERNELS
{
    shape<c2c_shape>("fft_c2c");
    shape<r2c_shape>("fft_r2c");
    shape<c2r_shape>("fft_c2r");
    structured<c2c_cpu>("_fft_c2c", kContiguousOutputs);
    structured<r2c_cpu>("_fft_r2c", kContiguousOutputs);
    structured<c2r_cpu>("_fft_c2r", kContiguousOutputs);
}

}  // namespace mt
