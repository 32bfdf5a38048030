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
        : size_(static_cast<size_t>(std::max<int64_t>(plan.room(), 1) * rows)), numbers_(new R[4 * size_]) {}
    Split<R> first() { return {numbers_.get(), numbers_.get() + size_}; }
    Split<R> second() { return {numbers_.get() + 2 * size_, numbers_.get() + 3 * size_}; }

  private:
    size_t size_;
    std::unique_ptr<R[]> numbers_;
};

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
    const int re = forward ? 0 : 1, im = 1 - re;
    in_blocks<R>(*plan, count, at_once, [&](Buffers<R>& buffers, int64_t first, int64_t width) {
        const Split<R> x = buffers.first();
        for (int64_t r = 0; r < width; r++) {
            const R* from = data + 2 * rows[static_cast<size_t>(first + r)];
            for (int64_t i = 0; i < n; i++) {
                x.re[i * width + r] = from[2 * i * step + re];
                x.im[i * width + r] = from[2 * i * step + im];
            }
        }
        const Split<R> y = plan->run(x, buffers.second(), width);
        for (int64_t r = 0; r < width; r++) {
            R* to = data + 2 * rows[static_cast<size_t>(first + r)];
            for (int64_t i = 0; i < n; i++) {
                to[2 * i * step + re] = y.re[i * width + r] * scale;
                to[2 * i * step + im] = y.im[i * width + r] * scale;
            }
        }
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

// Real rows of n to the first n / 2 + 1 points of their transforms. An even number of reals is half as many complex
// numbers, whose transform holds those of the even and of the odd places.
template <class R>
void real_transform(const Tensor& in, Tensor& out, int64_t d, double factor) {
    const int64_t n = in.size(d), step = in.stride(d), out_step = out.stride(d), known = n / 2 + 1;
    const bool even = n % 2 == 0;
    const int64_t points = even ? n / 2 : n;
    const auto plan = fft::plan_for<R>(points);
    const std::vector<int64_t> from = starts_of_rows(in, d), to = starts_of_rows(out, d);
    const int64_t count = static_cast<int64_t>(from.size()), at_once = rows_at_once(points, step == 1, count);
    const R scale = static_cast<R>(factor), half = static_cast<R>(0.5 * factor);
    const R* source = in.data<R>();
    R* target = reinterpret_cast<R*>(out.raw());
    const R* turns = plan->half_turns();
    in_blocks<R>(*plan, count, at_once, [&](Buffers<R>& buffers, int64_t first, int64_t width) {
        const Split<R> x = buffers.first();
        for (int64_t r = 0; r < width; r++) {
            const R* row = source + from[static_cast<size_t>(first + r)];
            for (int64_t i = 0; i < points; i++) {
                x.re[i * width + r] = row[(even ? 2 * i : i) * step];
                x.im[i * width + r] = even ? row[(2 * i + 1) * step] : R(0);
            }
        }
        const Split<R> z = plan->run(x, buffers.second(), width);
        for (int64_t r = 0; r < width; r++) {
            R* row = target + 2 * to[static_cast<size_t>(first + r)];
            for (int64_t k = 0; k < known; k++) {
                R re, im;
                if (even) {
                    const int64_t a = (k == points ? 0 : k) * width + r, b = (k == 0 ? 0 : points - k) * width + r;
                    const R sr = z.re[a] + z.re[b], si = z.im[a] - z.im[b], dr = z.re[a] - z.re[b],
                            di = z.im[a] + z.im[b], wr = turns[2 * k], wi = turns[2 * k + 1];
                    re = (sr + (di * wr + dr * wi)) * half;
                    im = (si + (di * wi - dr * wr)) * half;
                } else {
                    re = z.re[k * width + r] * scale;
                    im = z.im[k * width + r] * scale;
                }
                if (k == 0 || 2 * k == n) im = 0;
                row[2 * k * out_step] = re, row[2 * k * out_step + 1] = im;
            }
        }
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
    const int64_t n = out.size(d), step = in.stride(d), out_step = out.stride(d);
    const bool even = n % 2 == 0;
    const int64_t points = even ? n / 2 : n;
    const auto plan = fft::plan_for<R>(points);
    const std::vector<int64_t> from = starts_of_rows(in, d), to = starts_of_rows(out, d);
    const int64_t count = static_cast<int64_t>(from.size()), at_once = rows_at_once(points, step == 1, count);
    const R scale = static_cast<R>(factor);
    const R* source = reinterpret_cast<const R*>(in.raw());
    R* target = out.data<R>();
    const R* turns = plan->half_turns();
    in_blocks<R>(*plan, count, at_once, [&](Buffers<R>& buffers, int64_t first, int64_t width) {
        // Parts exchanged, see transform_in_place.
        const Split<R> x = buffers.first().swapped();
        for (int64_t r = 0; r < width; r++) {
            const R* row = source + 2 * from[static_cast<size_t>(first + r)];
            auto re = [=](int64_t k) { return row[2 * k * step]; };
            // The first point, and the middle one of an even number, stand for themselves: real.
            auto im = [=](int64_t k) { return k == 0 || 2 * k == n ? R(0) : row[2 * k * step + 1]; };
            for (int64_t k = 0; k < points; k++) {
                R vr, vi;
                if (even) {
                    const int64_t j = points - k;
                    const R sr = re(k) + re(j), si = im(k) - im(j), dr = re(k) - re(j), di = im(k) + im(j),
                            wr = turns[2 * k], wi = -turns[2 * k + 1];
                    vr = sr - (dr * wi + di * wr);
                    vi = si + (dr * wr - di * wi);
                } else {
                    const bool given = k <= n / 2;
                    vr = re(given ? k : n - k);
                    vi = given ? im(k) : -im(n - k);
                }
                x.re[k * width + r] = vr, x.im[k * width + r] = vi;
            }
        }
        const Split<R> y = plan->run(x.swapped(), buffers.second(), width).swapped();
        for (int64_t r = 0; r < width; r++) {
            R* row = target + to[static_cast<size_t>(first + r)];
            for (int64_t i = 0; i < points; i++) {
                if (even) {
                    row[2 * i * out_step] = y.re[i * width + r] * scale;
                    row[(2 * i + 1) * out_step] = y.im[i * width + r] * scale;
                } else {
                    row[i * out_step] = y.re[i * width + r] * scale;
                }
            }
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
