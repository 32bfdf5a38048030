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

std::vector<int64_t> starts_of_rows(const Tensor& t, int64_t d) {
    std::vector<int64_t> rows;
    rows.reserve(static_cast<size_t>(t.numel() / std::max<int64_t>(1, t.size(d))));
    each_row(t, d, [&](int64_t at) { rows.push_back(at); });
    return rows;
}

// Rows that are transformed at once. Short ones fill the registers only together, and rows side by side in memory are
// read together; long ones are better off alone in the cache.
int64_t rows_at_once(int64_t n, bool adjacent, int64_t rows) {
    constexpr int64_t kMost = 16, kPoints = 1 << 15;
    if (adjacent && n > 512) return 1;
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

// Pairs of numbers to and from the two parts. `starts`: where each of `width` rows begins, in pairs; `step`: from one
// pair of a row to the next.
template <class R>
void load_pairs(const R* data, const int64_t* starts, int64_t width, int64_t n, int64_t step, Split<R> x) {
    if (width == 1 && step == 1) {
        const R* from = data + 2 * starts[0];
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) x.re[i] = from[2 * i], x.im[i] = from[2 * i + 1];
    } else if (width > 1 && starts[width - 1] == starts[0] + width - 1) {  // side by side
        for (int64_t i = 0; i < n; i++) {
            const R* from = data + 2 * (starts[0] + i * step);
#pragma GCC ivdep
            for (int64_t r = 0; r < width; r++)
                x.re[i * width + r] = from[2 * r], x.im[i * width + r] = from[2 * r + 1];
        }
    } else {
        for (int64_t r = 0; r < width; r++) {
            const R* from = data + 2 * starts[r];
            for (int64_t i = 0; i < n; i++)
                x.re[i * width + r] = from[2 * i * step], x.im[i * width + r] = from[2 * i * step + 1];
        }
    }
}
template <class R>
void store_pairs(R* data, const int64_t* starts, int64_t width, int64_t n, int64_t step, Split<R> y, R scale) {
    if (width == 1 && step == 1) {
        R* to = data + 2 * starts[0];
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) to[2 * i] = y.re[i] * scale, to[2 * i + 1] = y.im[i] * scale;
    } else if (width > 1 && starts[width - 1] == starts[0] + width - 1) {
        for (int64_t i = 0; i < n; i++) {
            R* to = data + 2 * (starts[0] + i * step);
#pragma GCC ivdep
            for (int64_t r = 0; r < width; r++) {
                to[2 * r] = y.re[i * width + r] * scale;
                to[2 * r + 1] = y.im[i * width + r] * scale;
            }
        }
    } else {
        for (int64_t r = 0; r < width; r++) {
            R* to = data + 2 * starts[r];
            for (int64_t i = 0; i < n; i++) {
                to[2 * i * step] = y.re[i * width + r] * scale;
                to[2 * i * step + 1] = y.im[i * width + r] * scale;
            }
        }
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
        const int64_t* starts = rows.data() + first;
        const Split<R> x = buffers.first(), y = buffers.second();
        load_pairs<R>(data, starts, width, n, step, forward ? x : x.swapped());
        const Split<R> z = plan->run(x, y, width);
        store_pairs<R>(data, starts, width, n, step, forward ? z : z.swapped(), scale);
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

// A transform z of n pairs of reals to the points 0 .. n of the 2 n reals' transform, times 2. z holds the transforms e
// and o of the even and of the odd places as e + i o; the point is e + w o.
template <class R>
void unpack(Split<R> z, Split<R> to, Split<const R> w, int64_t n, int64_t width) {
    auto point = [](R ar, R ai, R br, R bi, R wr, R wi, R& re, R& im) __attribute__((always_inline)) {
        const R sr = ar + br, si = ai - bi, dr = ar - br, di = ai + bi;
        re = sr + (di * wr + dr * wi), im = si + (di * wi - dr * wr);
    };
    const R *zr = z.re, *zi = z.im, *wr = w.re, *wi = w.im;
    R* __restrict re = to.re, * __restrict im = to.im;
    for (int64_t r = 0; r < width; r++) {
        re[r] = 2 * (zr[r] + zi[r]), re[n * width + r] = 2 * (zr[r] - zi[r]);
        im[r] = im[n * width + r] = 0;
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

// The way back: points 0 .. n to the n pairs' transform, times 2. Points 0 and n stand for themselves: real.
template <class R>
void pack(Split<R> x, Split<R> to, Split<const R> w, int64_t n, int64_t width) {
    auto pair = [](R ar, R ai, R br, R bi, R wr, R wi, R& re, R& im) __attribute__((always_inline)) {
        const R sr = ar + br, si = ai - bi, dr = ar - br, di = ai + bi;
        re = sr - (di * wr - dr * wi), im = si + (dr * wr + di * wi);
    };
    const R *xr = x.re, *xi = x.im, *wr = w.re, *wi = w.im;
    R* __restrict re = to.re, * __restrict im = to.im;
    for (int64_t r = 0; r < width; r++) re[r] = xr[r] + xr[n * width + r], im[r] = xr[r] - xr[n * width + r];
    if (width == 1) {
#pragma GCC ivdep
        for (int64_t k = 1; k < n; k++) pair(xr[k], xi[k], xr[n - k], xi[n - k], wr[k], wi[k], re[k], im[k]);
        return;
    }
    for (int64_t k = 1; k < n; k++) {
        const int64_t a = k * width, b = (n - k) * width;
#pragma GCC ivdep
        for (int64_t r = 0; r < width; r++)
            pair(xr[a + r], xi[a + r], xr[b + r], xi[b + r], wr[k], wi[k], re[a + r], im[a + r]);
    }
}

// Single numbers to and from one part; see load_pairs.
template <class R>
void load_reals(const R* data, const int64_t* starts, int64_t width, int64_t n, int64_t step, R* x) {
    for (int64_t r = 0; r < width; r++)
        for (int64_t i = 0; i < n; i++) x[i * width + r] = data[starts[r] + i * step];
}
template <class R>
void store_reals(R* data, const int64_t* starts, int64_t width, int64_t n, int64_t step, const R* y, R scale) {
    for (int64_t r = 0; r < width; r++)
        for (int64_t i = 0; i < n; i++) data[starts[r] + i * step] = y[i * width + r] * scale;
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
        if (even && width == 1 && step == 1) {
            const int64_t here = 0;
            load_pairs<R>(source + starts[0], &here, 1, points, 1, x);
        } else if (even) {
            load_reals<R>(source, starts, width, points, 2 * step, x.re);
            load_reals<R>(source + step, starts, width, points, 2 * step, x.im);
        } else {
            load_reals<R>(source, starts, width, points, step, x.re);
            std::fill(x.im, x.im + points * width, R(0));
        }
        const Split<R> z = plan->run(x, y, width), free = z.re == x.re ? y : x;
        if (even)
            unpack<R>(z, free, plan->half_turns(), points, width);
        else
            std::fill(z.im, z.im + width, R(0));
        store_pairs<R>(target, ends, width, known, out_step, even ? free : z,
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
        load_pairs<R>(source, starts, width, known, step, x);
        if (even) {
            pack<R>(x, y, plan->half_turns(), points, width);
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
        if (even && width == 1 && out_step == 1) {
            const int64_t here = 0;
            store_pairs<R>(target + ends[0], &here, 1, points, 1, z, scale);
        } else if (even) {
            store_reals<R>(target, ends, width, points, 2 * out_step, z.re, scale);
            store_reals<R>(target + out_step, ends, width, points, 2 * out_step, z.im, scale);
        } else {
            store_reals<R>(target, ends, width, points, out_step, z.re, scale);
        }
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
void check_signal(const Call& c, const Tensor& self, IntSpan dims) {
    MT_CHECK(self.numel() > 0 || dims.size == 0, c.name(),
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
void c2c_shape(ShapeCall& c) {
    const Tensor& self = c.tensor(0);
    MT_CHECK(is_complex(self.dtype), "_fft_c2c: expected a complex tensor, got ", dtype_class_name(self.dtype));
    check_signal(c, self, c.ints(1));
    output_with_signal_inside(c, self, self.sizes(), c.ints(1), self.dtype);
}
void c2c_cpu(Call& c) {
    Tensor& out = c.out();
    copy_into(out, c.tensor(0));
    transform(out, c.ints(1), c.boolean(3), scale_of(c.integer(2), points_of(out.sizes(), c.ints(1))));
}

// _fft_r2c(self, dim, normalization, onesided): onesided keeps the first n / 2 + 1 points of the last dimension
void r2c_shape(ShapeCall& c) {
    const Tensor& self = c.tensor(0);
    IntSpan dims = c.ints(1);
    MT_CHECK(self.dtype == DType::Float32 || self.dtype == DType::Float64, "Unsupported dtype ",
             dtype_class_name(self.dtype));
    MT_CHECK(dims.size > 0, "_fft_r2c: expected at least one dimension");
    check_signal(c, self, dims);
    Dims sizes(self.sizes());
    int64_t last = wrap_dim(dims[dims.size - 1], self.dim());
    if (c.boolean(3)) sizes[last] = sizes[last] / 2 + 1;
    output_with_signal_inside(c, self, sizes, dims, to_complex(self.dtype));
}
void r2c_cpu(Call& c) {
    Tensor& out = c.out();
    IntSpan dims = c.ints(1);
    TensorRef self = contiguous(c.tensor(0));
    const int64_t last = wrap_dim(dims[dims.size - 1], self->dim()), n = self->size(last);
    const double factor = scale_of(c.integer(2), points_of(self->sizes(), dims));
    visit(PlainFloatTypes{}, self->dtype, "fft", [&]<class R>() {
        real_transform<R>(*self, out, last, factor);
        if (!c.boolean(3)) mirror<R>(out, last, n);
    });
    transform(out, IntSpan(dims.data, dims.size - 1), true, 1);
}

// _fft_c2r(self, dim, normalization, last_dim_size): the inverse, for the first half of a symmetric spectrum
void c2r_shape(ShapeCall& c) {
    const Tensor& self = c.tensor(0);
    IntSpan dims = c.ints(1);
    MT_CHECK(is_complex(self.dtype), "_fft_c2r: expected a complex tensor, got ", dtype_class_name(self.dtype));
    MT_CHECK(dims.size > 0, "_fft_c2r: expected at least one dimension");
    check_signal(c, self, dims);
    Dims sizes(self.sizes());
    int64_t last = wrap_dim(dims[dims.size - 1], self.dim()), n = c.integer(3);
    MT_CHECK(n >= 1, "Invalid number of data points (", n, ") specified");
    MT_CHECK(sizes[last] == n / 2 + 1, "_fft_c2r: expected ", n / 2 + 1, " points in dimension ", last, ", got ",
             sizes[last]);
    sizes[last] = n;
    output_with_signal_inside(c, self, sizes, dims, to_real(self.dtype));
}
void c2r_cpu(Call& c) {
    Tensor& out = c.out();
    IntSpan dims = c.ints(1);
    if (out.numel() == 0) return;
    const int64_t last = wrap_dim(dims[dims.size - 1], out.dim());
    TensorRef half = contiguous(c.tensor(0));
    if (dims.size > 1) {
        half = clone(*half);
        transform(*half, IntSpan(dims.data, dims.size - 1), false, 1);
    }
    const double factor = scale_of(c.integer(2), points_of(out.sizes(), dims));
    visit(PlainFloatTypes{}, out.dtype, "fft", [&]<class R>() { inverse_real_transform<R>(*half, out, last, factor); });
}

}  // namespace

KERNELS
{
    shape("fft_c2c", c2c_shape);
    shape("fft_r2c", r2c_shape);
    shape("fft_c2r", c2r_shape);
    structured("_fft_c2c", c2c_cpu, kContiguousOutputs);
    structured("_fft_r2c", r2c_cpu, kContiguousOutputs);
    structured("_fft_c2r", c2r_cpu, kContiguousOutputs);
}

}  // namespace mt
