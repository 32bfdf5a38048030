// Discrete Fourier transforms along chosen dimensions: mixed radix for smooth lengths, Bluestein's for the others.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "cpu/strided_walk.h"

namespace mt {
namespace {

constexpr double kPi = 3.14159265358979323846;
// Above this prime factor a butterfly of that many terms costs more than a convolution.
constexpr int64_t kLargestRadix = 31;

template <class R>
class Fft {
  public:
    using C = std::complex<R>;

    Fft(int64_t n, bool forward) : n_(n), roots_(static_cast<size_t>(n)) {
        for (int64_t i = 0; i < n; i++) roots_[static_cast<size_t>(i)] = root(i, n, forward);
        int64_t rest = n;
        for (int64_t p : {int64_t(4), int64_t(2)})
            for (; rest % p == 0; rest /= p) factors_.push_back(p);
        for (int64_t p = 3; p * p <= rest; p += 2)
            for (; rest % p == 0; rest /= p) factors_.push_back(p);
        if (rest > 1) factors_.push_back(rest);
        bool smooth = true;
        for (int64_t p : factors_) smooth = smooth && p <= kLargestRadix;
        if (!smooth) prepare_convolution(forward);
    }

    // `in` and `out` are different rows of n numbers. `scratch` serves one call at a time.
    void run(const C* in, C* out, std::vector<C>& scratch) const {
        if (wide_ > 0)
            convolve(in, out, scratch);
        else
            part(in, 1, out, n_, 0);
    }

  private:
    // Reduced to an eighth of a turn: exact at its quarters, and the same numbers in every octant.
    static C root(int64_t i, int64_t n, bool forward) {
        const int64_t quarter = 4 * i / n, rest = 4 * i % n;  // in quarters of a turn, and in n-ths of one
        auto part = [n](int64_t k) { return kPi / 2 * static_cast<double>(k) / static_cast<double>(n); };
        double c = 2 * rest <= n ? std::cos(part(rest)) : std::sin(part(n - rest));
        double s = 2 * rest <= n ? std::sin(part(rest)) : std::cos(part(n - rest));
        const double turned[4][2] = {{c, s}, {-s, c}, {-c, -s}, {s, -c}};
        const auto& [x, y] = turned[quarter % 4];
        return C(static_cast<R>(x), static_cast<R>(forward ? -y : y));
    }
    static C times(C a, C b) {  // without the checks for infinity of operator*
        return C(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
    }

    // The transform of in[0], in[step], ...: n numbers, split by the factors from `level` on.
    void part(const C* in, int64_t step, C* out, int64_t n, size_t level) const {
        if (n == 1) {
            *out = *in;
            return;
        }
        const int64_t p = factors_[level], m = n / p, jump = n_ / n;
        for (int64_t q = 0; q < p; q++) part(in + q * step, step * p, out + q * m, m, level + 1);
        C terms[kLargestRadix + 1];
        for (int64_t u = 0; u < m; u++) {
            for (int64_t q = 0; q < p; q++)
                terms[q] = q == 0 ? out[u] : times(out[u + q * m], roots_[static_cast<size_t>(q * u * jump)]);
            if (p == 2) {
                out[u] = terms[0] + terms[1];
                out[u + m] = terms[0] - terms[1];
                continue;
            }
            if (p == 4) {
                C even = terms[0] + terms[2], odd = terms[0] - terms[2];
                C sum = terms[1] + terms[3], turned = times(terms[1] - terms[3], roots_[static_cast<size_t>(n_ / 4)]);
                out[u] = even + sum;
                out[u + m] = odd + turned;
                out[u + 2 * m] = even - sum;
                out[u + 3 * m] = odd - turned;
                continue;
            }
            for (int64_t k = 0; k < p; k++) {
                C sum = terms[0];
                for (int64_t q = 1; q < p; q++)
                    sum += times(terms[q], roots_[static_cast<size_t>(q * k % p * m * jump)]);
                out[u + k * m] = sum;
            }
        }
    }

    // w^(jk) = w^(j^2/2) w^(k^2/2) / w^((k-j)^2/2): a convolution, made by transforms of a power of two.
    void prepare_convolution(bool forward) {
        for (wide_ = 1; wide_ < 2 * n_ - 1;) wide_ *= 2;
        there_ = std::make_unique<Fft>(wide_, true);
        back_ = std::make_unique<Fft>(wide_, false);
        chirp_.resize(static_cast<size_t>(n_));
        for (int64_t i = 0; i < n_; i++) chirp_[static_cast<size_t>(i)] = root(i * i % (2 * n_), 2 * n_, forward);
        std::vector<C> kernel(static_cast<size_t>(wide_));
        for (int64_t i = 0; i < n_; i++) {
            C c = std::conj(chirp_[static_cast<size_t>(i)]) / static_cast<R>(wide_);
            kernel[static_cast<size_t>(i)] = c;
            if (i) kernel[static_cast<size_t>(wide_ - i)] = c;
        }
        kernel_.resize(kernel.size());
        there_->run(kernel.data(), kernel_.data(), kernel);
    }
    void convolve(const C* in, C* out, std::vector<C>& scratch) const {
        scratch.assign(static_cast<size_t>(2 * wide_), C());
        C *a = scratch.data(), *b = a + wide_;
        for (int64_t i = 0; i < n_; i++) a[i] = times(in[i], chirp_[static_cast<size_t>(i)]);
        there_->part(a, 1, b, wide_, 0);
        for (int64_t i = 0; i < wide_; i++) b[i] = times(b[i], kernel_[static_cast<size_t>(i)]);
        back_->part(b, 1, a, wide_, 0);
        for (int64_t i = 0; i < n_; i++) out[i] = times(a[i], chirp_[static_cast<size_t>(i)]);
    }

    int64_t n_, wide_ = 0;
    std::vector<C> roots_, chirp_, kernel_;
    std::vector<int64_t> factors_;
    std::unique_ptr<Fft> there_, back_;
};

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

template <class R>
void transform_in_place(Tensor& t, int64_t d, bool forward) {
    using C = std::complex<R>;
    int64_t n = t.size(d), step = t.stride(d);
    if (n <= 1 || t.numel() == 0) return;
    const Fft<R> fft(n, forward);
    C* data = t.data<C>();
    std::vector<int64_t> rows;
    each_row(t, d, [&](int64_t at) { rows.push_back(at); });
    parallel_for(static_cast<int64_t>(rows.size()), grain_for(16 * n), [&](int64_t begin, int64_t end) {
        std::vector<C> row(static_cast<size_t>(n)), result(static_cast<size_t>(n)), scratch;
        for (int64_t k = begin; k < end; k++) {
            C* at = data + rows[static_cast<size_t>(k)];
            for (int64_t i = 0; i < n; i++) row[static_cast<size_t>(i)] = at[i * step];
            fft.run(row.data(), result.data(), scratch);
            for (int64_t i = 0; i < n; i++) at[i * step] = result[static_cast<size_t>(i)];
        }
    });
}

void transform(Tensor& t, IntSpan dims, bool forward) {
    NoGil nogil(t.numel() > kGrain);
    visit(ComplexTypes{}, t.dtype, "fft", [&]<class C>() {
        for (int64_t k = dims.size - 1; k >= 0; k--)
            transform_in_place<typename C::value_type>(t, wrap_dim(dims[k], t.dim()), forward);
    });
}

// 0: as it is; 1: over the root of the number of points; 2: over the number of points.
double scale_of(int64_t normalization, double points) {
    return normalization == 0 ? 1 : normalization == 1 ? 1 / std::sqrt(points) : 1 / points;
}
template <class T>
void scale(Tensor& t, double factor) {
    if (factor == 1) return;
    T* data = t.data<T>();
    for (int64_t i = 0; i < t.numel(); i++) data[i] *= static_cast<T>(factor);
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
    transform(out, c.ints(1), c.boolean(3));
    double factor = scale_of(c.integer(2), points_of(out.sizes(), c.ints(1)));
    visit(ComplexTypes{}, out.dtype, "fft", [&]<class C>() { scale<C>(out, factor); });
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
    const Tensor& self = c.tensor(0);
    Tensor& out = c.out();
    IntSpan dims = c.ints(1);
    int64_t last = wrap_dim(dims[dims.size - 1], self.dim());
    double factor = scale_of(c.integer(2), points_of(self.sizes(), dims));
    TensorRef wide = contiguous(self, out.dtype);
    if (wide.get() == &self) wide = clone(self);
    transform(*wide, IntSpan(&last, 1), true);
    Dims strides(wide->strides());
    copy_into(out, *as_strided(*wide, out.sizes(), strides, wide->offset));
    transform(out, IntSpan(dims.data, dims.size - 1), true);
    visit(ComplexTypes{}, out.dtype, "fft", [&]<class C>() { scale<C>(out, factor); });
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
    int64_t last = wrap_dim(dims[dims.size - 1], out.dim()), n = c.integer(3);
    TensorRef half = clone(*contiguous(c.tensor(0)));
    transform(*half, IntSpan(dims.data, dims.size - 1), false);
    double factor = scale_of(c.integer(2), points_of(out.sizes(), dims));
    visit(ComplexTypes{}, half->dtype, "fft", [&]<class C>() {
        using R = typename C::value_type;
        const Fft<R> fft(n, false);
        std::vector<int64_t> to, from;
        each_row(out, last, [&](int64_t at) { to.push_back(at); });
        each_row(*half, last, [&](int64_t at) { from.push_back(at); });
        const int64_t step = half->stride(last), known = half->size(last), out_step = out.stride(last);
        const C* source = half->data<C>();
        R* target = out.data<R>();
        parallel_for(static_cast<int64_t>(to.size()), grain_for(16 * n), [&](int64_t begin, int64_t end) {
            std::vector<C> row(static_cast<size_t>(n)), result(static_cast<size_t>(n)), scratch;
            for (int64_t k = begin; k < end; k++) {
                const C* in = source + from[static_cast<size_t>(k)];
                for (int64_t i = 0; i < known; i++) row[static_cast<size_t>(i)] = in[i * step];
                // The first point, and the middle one of an even number, stand for themselves: real.
                row[0] = row[0].real();
                if (n % 2 == 0) row[static_cast<size_t>(n / 2)] = row[static_cast<size_t>(n / 2)].real();
                for (int64_t i = known; i < n; i++)
                    row[static_cast<size_t>(i)] = std::conj(row[static_cast<size_t>(n - i)]);
                fft.run(row.data(), result.data(), scratch);
                R* at = target + to[static_cast<size_t>(k)];
                for (int64_t i = 0; i < n; i++)
                    at[i * out_step] = result[static_cast<size_t>(i)].real() * static_cast<R>(factor);
            }
        });
    });
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
