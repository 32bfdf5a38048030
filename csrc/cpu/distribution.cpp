// Random numbers whose distribution differs by element: multinomial, Poisson, binomial, gamma, Dirichlet.
#include <cmath>
#include <limits>
#include <vector>

#include "core/generator.h"
#include "cpu/strided_walk.h"

namespace mt {
namespace {

// ---- multinomial ----

// rule("multinomial", "self", "num_samples")
void multinomial_shape(ShapeCall& c, const Tensor& self, int64_t samples, bool replacement) {
    MT_CHECK(is_floating(self.dtype),
             "multinomial only supports floating-point dtypes for input, got: ", dtype_class_name(self.dtype));
    MT_CHECK(self.dim() == 1 || self.dim() == 2, "prob_dist must be 1 or 2 dim");
    MT_CHECK(self.size(self.dim() - 1) < (int64_t(1) << 24), "number of categories cannot exceed 2^24");
    MT_CHECK(samples > 0, "cannot sample n_sample <= 0 samples");
    MT_CHECK(replacement || samples <= self.size(self.dim() - 1),
             "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
    Dims sizes(self.sizes());
    sizes[self.dim() - 1] = samples;
    c.output(0, sizes, DType::Int64);
}

template <class T>
void check_weights(const T* p, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const double v = static_cast<double>(static_cast<opmath_t<T>>(p[i]));
        MT_CHECK(v >= 0 && std::isfinite(v), "probability tensor contains either `inf`, `nan` or element < 0");
    }
}

// Without replacement, or one sample: the largest quotients weight / exponential number (the exponential race). The
// numbers are drawn in the order in which the given weights lay in memory: column by column where `turned`.
template <class T>
void multinomial_race(const T* weights, int64_t rows, int64_t categories, int64_t samples, bool turned, int64_t* out,
                      Generator& g) {
    using Acc = opmath_t<T>;
    std::vector<Acc> key(static_cast<size_t>(rows * categories));
    for (int64_t i = 0; i < rows * categories; i++)
        key[static_cast<size_t>(turned ? i % rows * categories + i / rows : i)] =
            static_cast<Acc>(T(static_cast<Acc>(-std::log1p(-uniform_double(g.engine)))));
    std::vector<int64_t> order(static_cast<size_t>(categories));
    for (int64_t r = 0; r < rows; r++) {
        const T* w = weights + r * categories;
        Acc* k = key.data() + r * categories;
        Acc total = 0;
        for (int64_t j = 0; j < categories; j++) {
            total += static_cast<Acc>(w[j]);
            k[j] = static_cast<Acc>(T(static_cast<Acc>(w[j]) / k[j]));
        }
        MT_CHECK(total > 0, "invalid multinomial distribution (sum of probabilities <= 0)");
        for (int64_t j = 0; j < categories; j++) order[static_cast<size_t>(j)] = j;
        auto before = [&](int64_t a, int64_t b) { return k[a] > k[b]; };
        if (samples == 1) {
            out[r] = *std::min_element(order.begin(), order.end(), before);
            continue;
        }
        std::partial_sort(order.begin(), order.begin() + samples, order.end(), before);
        std::copy(order.begin(), order.begin() + samples, out + r * samples);
    }
}

// With replacement: a uniform number looked up in the running sums.
template <class T>
void multinomial_lookup(const T* weights, int64_t rows, int64_t categories, int64_t samples, int64_t* out,
                        Generator& g) {
    using Acc = opmath_t<T>;
    std::vector<T> sums(static_cast<size_t>(categories));
    for (int64_t r = 0; r < rows; r++) {
        const T* w = weights + r * categories;
        Acc total = 0;
        for (int64_t j = 0; j < categories; j++) {
            const Acc weight = static_cast<Acc>(w[j]);
            MT_CHECK(weight >= 0, "invalid multinomial distribution (encountering probability entry < 0)");
            MT_CHECK(std::isfinite(static_cast<double>(weight)),
                     "invalid multinomial distribution (encountering probability entry = infinity or NaN)");
            total += weight;
            sums[static_cast<size_t>(j)] = T(total);
        }
        MT_CHECK(total > 0, "invalid multinomial distribution (sum of probabilities <= 0)");
        if (total != Acc(1))
            for (T& s : sums) s = T(static_cast<Acc>(s) / total);
        sums.back() = T(Acc(1));
        for (int64_t k = 0; k < samples; k++) {
            double u = uniform_double(g.engine);
            int64_t low = 0, high = categories;
            while (low < high) {
                int64_t middle = low + (high - low) / 2;
                if (static_cast<double>(static_cast<Acc>(sums[static_cast<size_t>(middle)])) < u)
                    low = middle + 1;
                else
                    high = middle;
            }
            out[r * samples + k] = low;
        }
    }
}

void multinomial_cpu(Out result, const Tensor& given_self, int64_t samples, bool replacement, Generator& g) {
    TensorRef self = contiguous(given_self);
    int64_t categories = self->size(self->dim() - 1), rows = self->dim() == 2 ? self->size(0) : 1;
    int64_t* out = result->data<int64_t>();
    if (result->numel() == 0) return;
    GeneratorLock lock(g);
    visit(FloatTypes{}, self->dtype, "multinomial", [&]<class T>() {
        if (!replacement || samples == 1) {
            check_weights(self->data<T>(), self->numel());
            const bool turned = rows > 1 && given_self.stride(0) < given_self.stride(1);
            multinomial_race(self->data<T>(), rows, categories, samples, turned, out, g);
        } else {
            multinomial_lookup(self->data<T>(), rows, categories, samples, out, g);
        }
    });
}

// ---- Poisson ----

// Small rates: multiply uniforms (Knuth). Large ones: transformed rejection (Hörmann 1993, PTRS).
int64_t sample_poisson(double rate, Mt19937& e) {
    MT_CHECK(rate >= 0, "invalid Poisson rate, expected rate to be non-negative");
    if (rate >= 10) {
        double slam = std::sqrt(rate), loglam = std::log(rate);
        double b = 0.931 + 2.53 * slam, a = -0.059 + 0.02483 * b;
        double inverse = 1.1239 + 1.1328 / (b - 3.4), vr = 0.9277 - 3.6224 / (b - 2);
        while (true) {
            double u = uniform_double(e) - 0.5, v = uniform_double(e);
            double us = 0.5 - std::fabs(u);
            int64_t k = static_cast<int64_t>(std::floor((2 * a / us + b) * u + rate + 0.43));
            if (us >= 0.07 && v <= vr) return k;
            if (k < 0 || (us < 0.013 && v > us)) continue;
            double kd = static_cast<double>(k);
            if (std::log(v) + std::log(inverse) - std::log(a / (us * us) + b) <=
                -rate + kd * loglam - std::lgamma(kd + 1))
                return k;
        }
    }
    if (rate == 0) return 0;
    double limit = std::exp(-rate), product = 1;
    int64_t k = 0;
    while (true) {
        product *= uniform_double(e);
        if (product <= limit) return k;
        k++;
    }
}

template <class T, class Sample>
void each_element(Tensor& out, const Tensor& in, Sample&& sample) {
    StridedWalk<2> walk(in.sizes(), {out.strides(), in.strides()});
    const T* from = in.data<T>();
    T* to = out.data<T>();
    walk.run([&](const auto& at, int64_t n, const auto& steps) {
        for (int64_t i = 0; i < n; i++)
            to[at[0] + i * steps[0]] = T(static_cast<opmath_t<T>>(
                sample(static_cast<double>(static_cast<opmath_t<T>>(from[at[1] + i * steps[1]])))));
    });
}

void poisson_cpu(Out out, const Tensor& self, Generator& g) {
    GeneratorLock lock(g);
    visit(FloatTypes{}, self.dtype, "poisson_cpu", [&]<class T>() {
        each_element<T>(out, self, [&](double rate) { return static_cast<double>(sample_poisson(rate, g.engine)); });
    });
}

// ---- binomial ----

template <class R>
R stirling_tail(R k) {
    static const R table[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
                              0.0166446911898211,  0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
                              0.00925546218271273, 0.00833056343336287};
    if (k <= 9) return table[static_cast<size_t>(k)];
    R square = (k + 1) * (k + 1);
    return static_cast<R>((1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1));
}

// Computed in the tensor's own precision, as PyTorch does: the borders between the methods depend on it.
template <class R>
R binomial_inversion(R count, R p, Mt19937& e) {
    R sum = 0, successes = 0, logp = std::log1p(-p);
    while (true) {
        R u = static_cast<R>(uniform_double(e));
        sum += std::ceil(std::log(u) / logp);
        if (sum > count) return successes;
        successes++;
    }
}

// Transformed rejection (Hörmann 1993, BTRS).
template <class R>
R binomial_rejection(R count, R p, Mt19937& e) {
    R deviation = std::sqrt(count * p * (1 - p));
    R b = static_cast<R>(1.15 + 2.53 * deviation), a = static_cast<R>(-0.0873 + 0.0248 * b + 0.01 * p),
      center = static_cast<R>(count * p + 0.5);
    R vr = static_cast<R>(0.92 - 4.2 / b), ratio = p / (1 - p), alpha = static_cast<R>((2.83 + 5.1 / b) * deviation),
      m = std::floor((count + 1) * p);
    while (true) {
        R u = static_cast<R>(uniform_double(e) - 0.5), v = static_cast<R>(uniform_double(e));
        R us = static_cast<R>(0.5 - std::fabs(u)), k = std::floor((2 * a / us + b) * u + center);
        if (us >= 0.07 && v <= vr) return k;
        if (k < 0 || k > count) continue;
        v = std::log(v * alpha / (a / (us * us) + b));
        R bound = static_cast<R>((m + 0.5) * std::log((m + 1) / (ratio * (count - m + 1))) +
                                 (count + 1) * std::log((count - m + 1) / (count - k + 1)) +
                                 (k + 0.5) * std::log(ratio * (count - k + 1) / (k + 1)) + stirling_tail(m) +
                                 stirling_tail(count - m) - stirling_tail(k) - stirling_tail(count - k));
        if (v <= bound) return k;
    }
}

template <class R>
R sample_binomial(R count, R p, Mt19937& e) {
    // PyTorch's never ends for a count that is not a number, and gives NaN or infinity for one that is infinite.
    if (std::isnan(count)) return count;
    if (count <= 0 || p <= 0) return 0;
    if (p >= 1) return count;
    if (p <= 0.5) return count * p >= 10 ? binomial_rejection(count, p, e) : binomial_inversion(count, p, e);
    if (p > 0.5) {
        R q = 1 - p;
        return count - (count * q >= 10 ? binomial_rejection(count, q, e) : binomial_inversion(count, q, e));
    }
    return std::numeric_limits<R>::quiet_NaN();
}

void binomial_shape(ShapeCall& c, const Tensor& count, const Tensor& prob) {
    MT_CHECK_VALUE(count.dtype == prob.dtype, "binomial: count and prob must have the same dtype");
    c.output(0, broadcast_sizes(count.sizes(), prob.sizes()), count.dtype);
}

void binomial_cpu(Out out, const Tensor& counts, const Tensor& prob, Generator& g) {
    Dims for_count = broadcast_strides(counts, out->dim()), for_p = broadcast_strides(prob, out->dim());
    GeneratorLock lock(g);
    StridedWalk<3> walk(out->sizes(), {out->strides(), IntSpan(for_count), IntSpan(for_p)});
    visit(FloatTypes{}, out->dtype, "binomial_cpu", [&]<class T>() {
        using Acc = opmath_t<T>;
        const T *count = counts.data<T>(), *p = prob.data<T>();
        T* to = out->data<T>();
        walk.run([&](const auto& at, int64_t n, const auto& steps) {
            for (int64_t i = 0; i < n; i++)
                to[at[0] + i * steps[0]] = T(sample_binomial<Acc>(static_cast<Acc>(count[at[1] + i * steps[1]]),
                                                                  static_cast<Acc>(p[at[2] + i * steps[2]]), g.engine));
        });
    });
}

// ---- gamma and Dirichlet ----

// Marsaglia and Tsang 2000; shapes below one are boosted. A third is a float32 and float32 shapes are lessened by it as
// such: PyTorch's samples follow from that.
template <class T>
double sample_gamma(T alpha, Generator& g) {
    double scale = 1;
    if (alpha < 1) {
        if (alpha == 0) return 0;
        scale *= std::pow(1 - uniform_double(g.engine), T(1) / alpha);
        alpha += 1;
    }
    double d = alpha - 1.0f / 3, k = 1.0 / std::sqrt(9.0 * d);
    while (true) {
        double x, y;
        do {
            x = next_normal(g);
            y = 1.0 + k * x;
        } while (y <= 0);
        double v = y * y * y, u = 1 - uniform_double(g.engine), xx = x * x;
        if (u < 1.0 - 0.0331 * xx * xx) return scale * d * v;
        if (std::log(u) < 0.5 * xx + d * (1.0 - v + std::log(v))) return scale * d * v;
    }
}

template <class T>
double smallest() {
    if constexpr (std::is_same_v<T, Half>)
        return 6.103515625e-05;
    else if constexpr (std::is_same_v<T, BFloat16>)
        return 1.1754943508222875e-38;
    else
        return static_cast<double>(std::numeric_limits<T>::min());
}

void standard_gamma_cpu(Out out, const Tensor& self, Generator& g) {
    GeneratorLock lock(g);
    visit(FloatTypes{}, self.dtype, "gamma_cpu", [&]<class T>() {
        each_element<T>(out, self, [&](opmath_t<T> alpha) { return std::max(smallest<T>(), sample_gamma(alpha, g)); });
    });
}

void dirichlet_cpu(Out out, const Tensor& self, Generator& g) {
    TensorRef alpha = contiguous(self);
    GeneratorLock lock(g);
    int64_t width = alpha->dim() ? alpha->size(alpha->dim() - 1) : 1, rows = width ? alpha->numel() / width : 0;
    visit(FloatTypes{}, alpha->dtype, "dirichlet", [&]<class T>() {
        std::vector<double> gammas(static_cast<size_t>(alpha->numel()));
        for (int64_t i = 0; i < alpha->numel(); i++)
            gammas[static_cast<size_t>(i)] =
                sample_gamma(static_cast<double>(static_cast<opmath_t<T>>(alpha->data<T>()[i])), g);
        for (int64_t r = 0; r < rows; r++) {
            double sum = 0;
            for (int64_t j = 0; j < width; j++) sum += gammas[static_cast<size_t>(r * width + j)];
            for (int64_t j = 0; j < width; j++) {
                double v = gammas[static_cast<size_t>(r * width + j)] / sum;
                double largest = 1 - (std::is_same_v<T, double> ? 0x1p-53 : 0x1p-24);
                out->data<T>()[r * width + j] =
                    T(static_cast<opmath_t<T>>(std::min(largest, std::max(smallest<T>(), v))));
            }
        }
    });
}

double digamma_of_positive(double v) {
    double shift = 0;
    while (v < 10) shift -= 1 / v++;
    double f = 1 / (v * v);
    return shift + std::log(v) - 0.5 / v -
           f * (1.0 / 12 - f * (1.0 / 120 - f * (1.0 / 252 - f * (1.0 / 240 - f / 132))));
}

// d sample / d alpha of a standard gamma number, at fixed probability: -(dF/dalpha) / (dF/dx), with F from its power
// series and the derivative of its terms; beyond the series' reach, from the normal approximation of the cube root.
double gamma_slope(double alpha, double x) {
    if (x <= 0) return 0;
    double log_x = std::log(x);
    if (x < alpha + 30 && x < 700) {
        // F = sum over n of x^(alpha+n) e^-x / Gamma(alpha+n+1); the slope of a term is term * (log x -
        // psi(alpha+n+1)).
        double psi = digamma_of_positive(alpha + 1), sum = 0, largest = 0;
        // Terms relative to the density x^(alpha-1) e^-x / Gamma(alpha).
        double term = x / alpha;
        for (int n = 0; n < 20000; n++) {
            double part = term * (log_x - psi);
            sum += part;
            largest = std::max(largest, std::fabs(part));
            if (n > x && std::fabs(part) < 1e-17 * largest) break;
            psi += 1 / (alpha + n + 1);
            term *= x / (alpha + n + 1);
        }
        return -sum;
    }
    // Wilson and Hilferty: x = alpha (1 - 1/(9 alpha) + z / (3 sqrt(alpha)))^3 with z fixed.
    double root = std::cbrt(x / alpha), z = (root - 1 + 1 / (9 * alpha)) * 3 * std::sqrt(alpha);
    return root * root * root +
           3 * alpha * root * root * (1 / (9 * alpha * alpha) - z / (6 * alpha * std::sqrt(alpha)));
}

// The slope of the regularised incomplete beta function I_x(a, b) by a (or by b), over the density of Beta(a, b) at x.
// I = sum over n of x^(a+n) (1-x)^b (a+b)(a+b+1)... / (a+1)(a+2)... / (a B(a, b)), every term differentiated.
double beta_slope(double x, double a, double b, bool by_first) {
    if (x > (a + 1) / (a + b + 2)) return -beta_slope(1 - x, b, a, !by_first);  // I_x(a, b) = 1 - I_(1-x)(b, a)
    double both = digamma_of_positive(a + b);
    double slope =
        by_first ? std::log(x) - 1 / a - digamma_of_positive(a) + both : std::log1p(-x) - digamma_of_positive(b) + both;
    double term = x * (1 - x) / a, sum = 0, largest = 0;
    for (int n = 0; n < 100000; n++) {
        double part = term * slope;
        sum += part;
        largest = std::max(largest, std::fabs(part));
        if (std::fabs(part) < 1e-17 * largest && term < 1e-17) break;
        term *= x * (a + b + n) / (a + 1 + n);
        slope += 1 / (a + b + n) - (by_first ? 1 / (a + 1 + n) : 0);
    }
    return sum;
}

void dirichlet_grad_cpu(Out out, const Tensor& given_x, const Tensor& given_alpha, const Tensor& given_total) {
    visit(PlainFloatTypes{}, out->dtype, "_dirichlet_grad_cpu", [&]<class T>() {
        const Tensor &x = given_x, &alpha = given_alpha, &total = given_total;
        MT_CHECK(alpha.sizes() == x.sizes() && total.sizes() == x.sizes() && alpha.dtype == x.dtype &&
                     total.dtype == x.dtype,
                 "_dirichlet_grad: x, alpha and total must have the same sizes and dtype");
        StridedWalk<4> walk(out->sizes(), {out->strides(), x.strides(), alpha.strides(), total.strides()});
        walk.run([&](const auto& at, int64_t n, const auto& steps) {
            for (int64_t i = 0; i < n; i++) {
                double v = x.data<T>()[at[1] + i * steps[1]], a = alpha.data<T>()[at[2] + i * steps[2]];
                double b = total.data<T>()[at[3] + i * steps[3]] - a;
                bool inside = v > 0 && v < 1 && a > 0 && b > 0;
                out->data<T>()[at[0] + i * steps[0]] =
                    static_cast<T>(inside ? -beta_slope(v, a, b, true) / (1 - v) : 0.0);
            }
        });
    });
}

// (self, output): the output has been drawn for self.
void standard_gamma_grad_shape(ShapeCall& c, const Tensor& alpha, const Tensor& sample) {
    MT_CHECK(alpha.sizes() == sample.sizes(), "_standard_gamma_grad(): expected an output of size ", alpha.sizes(),
             ", but got ", sample.sizes());
    MT_CHECK(alpha.dtype == sample.dtype, "expected scalar type ", dtype_class_name(alpha.dtype), " but found ",
             dtype_class_name(sample.dtype));
    c.output(0, alpha.sizes(), alpha.dtype);
}

void standard_gamma_grad_cpu(Out out, const Tensor& alpha, const Tensor& output) {
    TensorRef dense = contiguous(alpha), sample = contiguous(output);
    visit(FloatTypes{}, alpha.dtype, "_standard_gamma_grad_cpu", [&]<class T>() {
        using Acc = opmath_t<T>;
        for (int64_t i = 0; i < alpha.numel(); i++)
            out->data<T>()[i] =
                T(static_cast<Acc>(gamma_slope(static_cast<double>(static_cast<Acc>(dense->data<T>()[i])),
                                               static_cast<double>(static_cast<Acc>(sample->data<T>()[i])))));
    });
}

KERNELS
{
    shape<multinomial_shape>("multinomial");
    structured<multinomial_cpu>("multinomial", kContiguousOutputs);
    structured<poisson_cpu>("poisson");
    shape<binomial_shape>("binomial");
    structured<binomial_cpu>("binomial");
    structured<standard_gamma_cpu>("_standard_gamma");
    shape<standard_gamma_grad_shape>("standard_gamma_grad");
    structured<standard_gamma_grad_cpu>("_standard_gamma_grad", kContiguousOutputs);
    structured<dirichlet_grad_cpu>("_dirichlet_grad");
    structured<dirichlet_cpu>("_sample_dirichlet", kContiguousOutputs);
}

}  // namespace
}  // namespace mt
