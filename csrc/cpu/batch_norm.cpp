// Batch norm.
#include <vector>

#include "cpu/parameter_dtype.h"
#include "cpu/pieces.h"
#include "cpu/rows.h"

namespace mt {
namespace {

// [n, channels, places]; channels_last keeps the channels innermost.
struct Planes {
    int64_t n = 1, channels = 1, places = 1;
    bool last = false;
    int64_t count() const { return n * places; }
};
Planes planes_of(const Tensor& t) {
    Planes p;
    p.n = t.size(0);
    p.channels = t.size(1);
    for (int64_t d = 2; d < t.ndim; d++) p.places *= t.size(d);
    p.last = p.places == 1 ? p.channels > 1
                           : !t.is_contiguous() && t.is_non_overlapping_and_dense() && t.stride(1) == 1 &&
                                 (t.ndim == 4 ? is_channels_last(t)
                                              : t.ndim == 5 && is_contiguous_as(t, channels_last_strides(t.sizes())));
    return p;
}
Dims strides_of(const Planes& p, IntSpan sizes) {
    return p.last && p.places > 1 ? channels_last_strides(sizes) : contiguous_strides(sizes);
}
// `t` as `type` in the layout of the planes.
TensorRef laid_out(const Planes& p, const Tensor& t, DType type) {
    if (!p.last || p.places == 1) return contiguous(t, type);
    Dims strides = channels_last_strides(t.sizes());
    if (t.dtype == type && is_contiguous_as(t, strides)) return TensorRef::share(&t);
    TensorRef r = empty_strided(t.sizes(), strides, type);
    copy_into(*r, t);
    return r;
}
// An output in that layout: itself, or a stand-in to copy from.
class LaidOut {
  public:
    LaidOut(const Planes& p, Tensor& out, DType type) : out_(out) {
        Dims strides = strides_of(p, out.sizes());
        if (out.dtype != type || !is_contiguous_as(out, strides)) stand_in_ = empty_strided(out.sizes(), strides, type);
    }
    Tensor& tensor() { return stand_in_ ? *stand_in_ : out_; }
    void finish() {
        if (stand_in_) copy_into(out_, *stand_in_);
    }

  private:
    Tensor& out_;
    TensorRef stand_in_;
};

TensorRef as_type(const Tensor* t, DType type) { return t ? contiguous(*t, type) : TensorRef(); }

// As many elements of one input as are worked on together.
template <class X>
struct Piece {
    X items[1024];
};
template <class X>
constexpr int64_t kPiece = sizeof(Piece<X>) / sizeof(X);

// For each channel: sums of a and of b over all places. values(element, n, buffers) gives access to n adjacent elements
// of what is summed, and a(those, j, channel) what the one at j adds.
template <class X, class Values, class A, class B>
void channel_sums(const Planes& p, const Values& values, const A& a, const B& b, double* sum_a, double* sum_b) {
    if (!p.last) {
        parallel_for(p.channels, grain_for(p.count()), [&](int64_t first, int64_t end) {
            Piece<X> buffers[2];
            for (int64_t c = first; c < end; c++) {
                double ta = 0, tb = 0;
                for (int64_t i = 0; i < p.n; i++)
                    for (int64_t s = 0; s < p.places; s += kPiece<X>) {
                        const int64_t m = std::min(kPiece<X>, p.places - s);
                        auto v = values((i * p.channels + c) * p.places + s, m, buffers);
                        ta += lane_sum<X>(m, [&](int64_t j) { return a(v, j, c); });
                        tb += lane_sum<X>(m, [&](int64_t j) { return b(v, j, c); });
                    }
                sum_a[c] = ta;
                sum_b[c] = tb;
            }
        });
        return;
    }
    constexpr int64_t kWidth = 64;
    int64_t blocks = (p.channels + kWidth - 1) / kWidth;
    parallel_for(blocks, grain_for(p.count() * kWidth), [&](int64_t first, int64_t end) {
        Piece<X> buffers[2];
        for (int64_t k = first; k < end; k++) {
            int64_t c0 = k * kWidth, w = std::min(kWidth, p.channels - c0);
            for (int64_t j = 0; j < w; j++) sum_a[c0 + j] = sum_b[c0 + j] = 0;
            for (int64_t r0 = 0; r0 < p.count(); r0 += 128) {
                X la[kWidth] = {}, lb[kWidth] = {};
                for (int64_t r = r0; r < std::min(p.count(), r0 + 128); r++) {
                    auto v = values(r * p.channels + c0, w, buffers);
                    for (int64_t j = 0; j < w; j++) {
                        la[j] += a(v, j, c0 + j);
                        lb[j] += b(v, j, c0 + j);
                    }
                }
                for (int64_t j = 0; j < w; j++) {
                    sum_a[c0 + j] += la[j];
                    sum_b[c0 + j] += lb[j];
                }
            }
        }
    });
}

// f(values, j, channel) for every element, channel by channel or place by place, written to `out`.
template <class X, class Values, class F>
void for_planes(const Planes& p, const Values& values, const Tensor& out, const F& f) {
    const int64_t inner = p.last ? p.channels : p.places;
    const Writer<X> writer(out);
    parallel_for(p.last ? p.count() : p.n * p.channels, grain_for(inner), [&](int64_t first, int64_t end) {
        Piece<X> buffers[2], result;
        for (int64_t r = first; r < end; r++)
            for (int64_t s = 0; s < inner; s += kPiece<X>) {
                const int64_t at = r * inner + s, m = std::min(kPiece<X>, inner - s);
                auto v = values(at, m, buffers);
                X* to = writer.place(at, result.items);
                if (p.last)
                    for (int64_t j = 0; j < m; j++) to[j] = f(v, j, s + j);
                else
                    for (int64_t j = 0, c = r % p.channels; j < m; j++) to[j] = f(v, j, c);
                writer.done(at, m, to);
            }
    });
}

// Means and variances (not corrected) of the channels.
template <class X>
void channel_moments(const Planes& p, const Tensor& x, std::vector<double>& mean, std::vector<double>& variance) {
    size_t n = static_cast<size_t>(p.channels);
    std::vector<double> unused(n);
    mean.resize(n);
    variance.resize(n);
    const Reader<X> reader(x);
    auto values = [=](int64_t at, int64_t m, Piece<X>* buffers) { return reader.read(at, m, buffers->items); };
    auto nothing = [](const X*, int64_t, int64_t) { return X(0); };
    channel_sums<X>(
        p, values, [](const X* v, int64_t j, int64_t) { return v[j]; }, nothing, mean.data(), unused.data());
    double count = static_cast<double>(p.count());
    std::vector<X> centre(n);
    for (size_t c = 0; c < n; c++) {
        mean[c] /= count;
        centre[c] = static_cast<X>(mean[c]);
    }
    const X* centres = centre.data();
    channel_sums<X>(
        p, values,
        [=](const X* v, int64_t j, int64_t c) {
            X d = v[j] - centres[c];
            return d * d;
        },
        nothing, variance.data(), unused.data());
    for (size_t c = 0; c < n; c++) {
        double rounding = mean[c] - centre[c];
        double v = variance[c] / count - rounding * rounding;
        variance[c] = v < 0 ? 0 : v;
    }
}

void update_running(Tensor* running, const std::vector<double>& value, double momentum, double factor) {
    if (!running) return;
    TensorRef t = contiguous(*running, DType::Float64), r = clone(*t);
    for (int64_t c = 0; c < r->numel(); c++)
        r->data<double>()[c] =
            (1 - momentum) * t->data<double>()[c] + momentum * factor * value[static_cast<size_t>(c)];
    copy_into(*running, *r);
}

// ---- batch norm ----

// Where a row leaves `training` out, it is never.
void batch_norm_shape(ShapeCall& c, const Tensor& input, const Tensor* weight, std::optional<bool> given_training,
                      const Tensor* running_mean, const Tensor* running_var, const Tensor* bias) {
    MT_CHECK(input.ndim >= 2, "batch_norm: expected an input of at least two dimensions, got ", input.ndim);
    MT_CHECK_AS(NotImplemented, is_floating(input.dtype), "\"batch_norm\" not implemented for '",
                dtype_class_name(input.dtype), "'");
    bool training = given_training.value_or(false);
    MT_CHECK(!training || input.numel() > 0,
             "input tensor must have at least one element, but got input_sizes = ", input.sizes());
    MT_CHECK(training || running_mean, "running_mean must be defined in evaluation mode");
    MT_CHECK(training || running_var, "running_var must be defined in evaluation mode");
    MT_CHECK_VALUE(!running_mean == !running_var,
                   "running_mean and running_var must either both be None or neither be None");
    const std::pair<const Tensor*, const char*> of_channels[] = {
        {running_mean, "running_mean"}, {running_var, "running_var"}, {weight, "weight"}, {bias, "bias"}};
    for (const auto& [t, name] : of_channels)
        MT_CHECK(!t || t->numel() == input.size(1), name, " should contain ", input.size(1), " elements not ",
                 t ? t->numel() : 0);
    c.output_like(0, input);
    DType statistics =
        is_reduced_float(input.dtype) && weight && weight->dtype == DType::Float32 ? DType::Float32 : input.dtype;
    int64_t saved = training ? input.size(1) : 0;
    for (int i = 1; i < 3; i++) c.output(i, IntSpan(&saved, 1), statistics);
}

void batch_norm_into(Out out, const Tensor& input, const Tensor* given_weight, const Tensor* given_bias,
                     Tensor* running_mean, Tensor* running_var, bool training, double momentum, double eps) {
    check_parameter_dtypes(input, {given_weight, given_bias, running_mean, running_var});
    Planes p = planes_of(input);
    DType wide = broad_type(input.dtype);
    LaidOut result(p, out[0], input.dtype);
    TensorRef x = laid_out(p, input, input.dtype), weight = as_type(given_weight, wide),
              bias = as_type(given_bias, wide);
    const Tensor* per_channel[] = {weight.get(), bias.get(), running_mean, running_var};
    for (const Tensor* t : per_channel)
        MT_CHECK(!t || t->numel() == p.channels, "batch_norm: expected ", p.channels,
                 " elements for each channel's values, got ", t ? t->numel() : 0);
    std::vector<double> mean, variance, scale;
    visit(PlainFloatTypes{}, wide, "batch_norm", [&]<class X>() {
        if (training) {
            channel_moments<X>(p, *x, mean, variance);
            double count = static_cast<double>(p.count());
            update_running(running_mean, mean, momentum, 1);
            update_running(running_var, variance, momentum, count / (count - 1));
        } else {
            TensorRef m = contiguous(*running_mean, DType::Float64), v = contiguous(*running_var, DType::Float64);
            mean.assign(m->data<double>(), m->data<double>() + p.channels);
            variance.assign(v->data<double>(), v->data<double>() + p.channels);
        }
        std::vector<X> a(mean.size()), b(mean.size());
        std::vector<double> inverse(mean.size());
        for (size_t i = 0; i < mean.size(); i++) {
            inverse[i] = 1 / std::sqrt(variance[i] + eps);
            double factor = weight ? inverse[i] * weight->data<X>()[i] : inverse[i];
            a[i] = static_cast<X>(factor);
            b[i] = static_cast<X>((bias ? bias->data<X>()[i] : 0) - mean[i] * factor);
        }
        const Reader<X> reader(*x);
        const X *factor = a.data(), *shift = b.data();
        for_planes<X>(
            p, [=](int64_t at, int64_t m, Piece<X>* buffers) { return reader.read(at, m, buffers->items); },
            result.tensor(), [=](const X* v, int64_t j, int64_t ch) { return vec::fma(v[j], factor[ch], shift[ch]); });
        if (!training) return;
        Converted save_mean(out[1], DType::Float64), save_inverse(out[2], DType::Float64);
        std::copy(mean.begin(), mean.end(), save_mean.tensor().data<double>());
        std::copy(inverse.begin(), inverse.end(), save_inverse.tensor().data<double>());
        save_mean.finish();
        save_inverse.finish();
    });
    result.finish();
}

void native_batch_norm_cpu(Out out, const Tensor& input, const Tensor* weight, const Tensor* bias, Tensor* running_mean,
                           Tensor* running_var, bool training, double momentum, double eps) {
    batch_norm_into(out, input, weight, bias, running_mean, running_var, training, momentum, eps);
}
void batch_norm_no_stats_cpu(Out out, const Tensor& input, const Tensor* weight, const Tensor* bias, bool training,
                             double momentum, double eps) {
    batch_norm_into(out, input, weight, bias, nullptr, nullptr, training, momentum, eps);
}
void batch_norm_no_training_cpu(Out out, const Tensor& input, const Tensor* weight, const Tensor* bias,
                                const Tensor& running_mean, const Tensor& running_var, double momentum, double eps) {
    batch_norm_into(out, input, weight, bias, const_cast<Tensor*>(&running_mean), const_cast<Tensor*>(&running_var),
                    false, momentum, eps);
}

template <class X>
struct Pair {
    const X *grad, *input;
};

void native_batch_norm_backward_cpu(Out out, const Tensor& grad_out, const Tensor& input, const Tensor* given_weight,
                                    const Tensor* running_mean, const Tensor* running_var, const Tensor* save_mean,
                                    const Tensor* save_invstd, bool train, double eps, Span<bool> output_mask) {
    Planes p = planes_of(input);
    DType wide = broad_type(input.dtype);
    TensorRef g = laid_out(p, grad_out, input.dtype), x = laid_out(p, input, input.dtype),
              weight = as_type(given_weight, wide);
    Tensor *dx = out.or_null(0), *dweight = out.or_null(1), *dbias = out.or_null(2);
    const Tensor *mean = train ? save_mean : running_mean, *deviation = train ? save_invstd : running_var;
    MT_CHECK(mean && deviation,
             "batch_norm_backward: ", train ? "save_mean and save_invstd" : "running_mean and running_var",
             " are needed in ", train ? "training" : "evaluation");
    TensorRef m = contiguous(*mean, DType::Float64), v = contiguous(*deviation, DType::Float64);
    MT_CHECK(m->numel() == p.channels && v->numel() == p.channels, "batch_norm_backward: statistics should contain ",
             p.channels, " elements");
    size_t n = static_cast<size_t>(p.channels);
    visit(PlainFloatTypes{}, wide, "batch_norm_backward", [&]<class X>() {
        const Reader<X> grads(*g), inputs(*x);
        auto values = [=](int64_t at, int64_t count, Piece<X>* buffers) {
            return Pair<X>{grads.read(at, count, buffers[0].items), inputs.read(at, count, buffers[1].items)};
        };
        std::vector<X> centre(n), grad_factor(n), along(n), level(n);
        std::vector<double> inverse(n), sum(n), dot(n);
        for (size_t i = 0; i < n; i++) {
            centre[i] = static_cast<X>(m->data<double>()[i]);
            inverse[i] = train ? v->data<double>()[i] : 1 / std::sqrt(v->data<double>()[i] + eps);
        }
        const X* mu = centre.data();
        channel_sums<X>(
            p, values, [](const Pair<X>& v, int64_t j, int64_t) { return v.grad[j]; },
            [=](const Pair<X>& v, int64_t j, int64_t ch) { return v.grad[j] * (v.input[j] - mu[ch]); }, sum.data(),
            dot.data());
        double count = static_cast<double>(p.count());
        for (size_t i = 0; i < n; i++) {
            double factor = inverse[i] * (weight ? weight->data<X>()[i] : X(1));
            grad_factor[i] = static_cast<X>(factor);
            along[i] = train ? static_cast<X>(-factor * dot[i] * inverse[i] * inverse[i] / count) : X(0);
            level[i] = train ? static_cast<X>(-factor * sum[i] / count) : X(0);
        }
        if (dx) {
            LaidOut result(p, *dx, input.dtype);
            const X *gf = grad_factor.data(), *al = along.data(), *lv = level.data();
            for_planes<X>(p, values, result.tensor(), [=](const Pair<X>& v, int64_t j, int64_t ch) {
                return vec::fma(gf[ch], v.grad[j], vec::fma(al[ch], v.input[j] - mu[ch], lv[ch]));
            });
            result.finish();
        }
        for (size_t i = 0; i < n; i++) dot[i] *= inverse[i];
        for (auto [out, from_sums] : {std::pair(dweight, &dot), std::pair(dbias, &sum)}) {
            if (!out) continue;
            Converted result(*out, DType::Float64);
            std::copy(from_sums->begin(), from_sums->end(), result.tensor().data<double>());
            result.finish();
        }
    });
}

// Words: input, output_mask, weight, grad_out. Weight and bias gradients have one element a channel, weight or not.
void channel_norm_backward_shape(ShapeCall& c, const Tensor& input, Span<bool> mask, const Tensor* weight,
                                 const Tensor& grad_out) {
    MT_CHECK(input.ndim >= 2 && mask.size == 3, c.name(),
             ": expected an input of at least two dimensions and three flags");
    int64_t channels = input.size(1);
    MT_CHECK(grad_out.sizes() == input.sizes(), c.name(), ": the gradient's sizes ", grad_out.sizes(),
             " are not the input's, ", input.sizes());
    MT_CHECK(!weight || weight->numel() == channels, c.name(), ": weight should contain ", channels, " elements");
    mask[0] ? c.output_like(0, input) : c.output_none(0);
    for (int i = 1; i < 3; i++)
        mask[i] ? c.output(i, IntSpan(&channels, 1), weight ? weight->dtype : input.dtype) : c.output_none(i);
}

}  // namespace

KERNELS
{
    shape<batch_norm_shape>("batch_norm");
    shape<channel_norm_backward_shape>("channel_norm_backward");
    structured<native_batch_norm_cpu>("native_batch_norm");
    structured<native_batch_norm_cpu>("_native_batch_norm_legit");
    structured<batch_norm_no_stats_cpu>("_native_batch_norm_legit.no_stats");
    structured<batch_norm_no_training_cpu>("_native_batch_norm_legit_no_training");
    structured<native_batch_norm_backward_cpu>("native_batch_norm_backward");
}

}  // namespace mt
