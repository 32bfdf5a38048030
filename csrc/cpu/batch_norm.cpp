// Batch norm and group norm.
#include <vector>

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
template <class X>
const X* data_or_null(const TensorRef& t) {
    return t ? t->data<X>() : nullptr;
}
Tensor* out_or_null(const Call& c, int i) { return c.rets[i].tag == Tag::Tensor ? c.rets[i].t : nullptr; }

// For each channel: sums over all places of value(x) pairs. a and b are the two things that are summed.
// f(channel) gives a functor (index of element) -> pair contribution; worked in two lane sums.
template <class X, class A, class B>
void channel_sums(const Planes& p, const A& a, const B& b, double* sum_a, double* sum_b) {
    if (!p.last) {
        parallel_for(p.channels, grain_for(p.count()), [&](int64_t first, int64_t end) {
            for (int64_t c = first; c < end; c++) {
                double ta = 0, tb = 0;
                for (int64_t i = 0; i < p.n; i++)
                    for (int64_t s = 0; s < p.places; s += kFoldBlock) {
                        int64_t base = (i * p.channels + c) * p.places + s, m = std::min(kFoldBlock, p.places - s);
                        ta += lane_sum<X>(m, [&](int64_t j) { return a(base + j, c); });
                        tb += lane_sum<X>(m, [&](int64_t j) { return b(base + j, c); });
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
        for (int64_t k = first; k < end; k++) {
            int64_t c0 = k * kWidth, w = std::min(kWidth, p.channels - c0);
            for (int64_t j = 0; j < w; j++) sum_a[c0 + j] = sum_b[c0 + j] = 0;
            for (int64_t r0 = 0; r0 < p.count(); r0 += 128) {
                X la[kWidth] = {}, lb[kWidth] = {};
                for (int64_t r = r0; r < std::min(p.count(), r0 + 128); r++)
                    for (int64_t j = 0; j < w; j++) {
                        int64_t at = r * p.channels + c0 + j;
                        la[j] += a(at, c0 + j);
                        lb[j] += b(at, c0 + j);
                    }
                for (int64_t j = 0; j < w; j++) {
                    sum_a[c0 + j] += la[j];
                    sum_b[c0 + j] += lb[j];
                }
            }
        }
    });
}

// f(index of element, channel) over everything, channel by channel or place by place.
template <class F>
void for_planes(const Planes& p, const F& f) {
    int64_t inner = p.last ? p.channels : p.places;
    parallel_for(p.last ? p.count() : p.n * p.channels, grain_for(inner), [&](int64_t first, int64_t end) {
        for (int64_t r = first; r < end; r++) {
            int64_t base = r * inner;
            if (p.last)
                for (int64_t j = 0; j < inner; j++) f(base + j, j);
            else
                for (int64_t j = 0, c = r % p.channels; j < inner; j++) f(base + j, c);
        }
    });
}

// Means and variances (not corrected) of the channels.
template <class X>
void channel_moments(const Planes& p, const X* x, std::vector<double>& mean, std::vector<double>& variance) {
    size_t n = static_cast<size_t>(p.channels);
    std::vector<double> unused(n);
    mean.resize(n);
    variance.resize(n);
    channel_sums<X>(
        p, [=](int64_t i, int64_t) { return x[i]; }, [](int64_t, int64_t) { return X(0); }, mean.data(), unused.data());
    double count = static_cast<double>(p.count());
    std::vector<X> centre(n);
    for (size_t c = 0; c < n; c++) {
        mean[c] /= count;
        centre[c] = static_cast<X>(mean[c]);
    }
    const X* m = centre.data();
    channel_sums<X>(
        p,
        [=](int64_t i, int64_t c) {
            X d = x[i] - m[c];
            return d * d;
        },
        [](int64_t, int64_t) { return X(0); }, variance.data(), unused.data());
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

// Words: input, weight, training (missing: never), running_mean.
void batch_norm_shape(ShapeCall& c) {
    const Tensor& input = c.tensor(c.param(0));
    MT_CHECK(input.ndim >= 2, "batch_norm: expected an input of at least two dimensions, got ", input.ndim);
    MT_CHECK_AS(NotImplemented, is_floating(input.dtype), "\"batch_norm\" not implemented for '",
                dtype_class_name(input.dtype), "'");
    const Tensor* weight = c.tensor_or_null(c.param(1));
    bool training = c.param(2) >= 0 && c.boolean(c.param(2));
    MT_CHECK(!training || input.numel() > 0,
             "input tensor must have at least one element, but got input_sizes = ", input.sizes());
    for (int k : {1, 3, 4, 5}) {
        const Tensor* t = c.param(k) >= 0 ? c.tensor_or_null(c.param(k)) : nullptr;
        const char* names[] = {"", "weight", "", "running_mean", "running_var", "bias"};
        MT_CHECK(!t || t->numel() == input.size(1), names[k], " should contain ", input.size(1), " elements not ",
                 t ? t->numel() : 0);
    }
    c.output_like(0, input);
    DType statistics =
        is_reduced_float(input.dtype) && weight && weight->dtype == DType::Float32 ? DType::Float32 : input.dtype;
    int64_t saved = training ? input.size(1) : 0;
    for (int i = 1; i < 3; i++) c.output(i, IntSpan(&saved, 1), statistics);
}

void batch_norm_into(Call& c, Tensor* running_mean, Tensor* running_var, bool training, double momentum, double eps) {
    const Tensor& input = c.tensor(0);
    Planes p = planes_of(input);
    DType wide = broad_type(input.dtype);
    LaidOut result(p, c.out(0), wide);
    TensorRef x = laid_out(p, input, wide), weight = as_type(c.tensor_or_null(1), wide),
              bias = as_type(c.tensor_or_null(2), wide);
    MT_CHECK(training || (running_mean && running_var),
             "batch_norm: running_mean and running_var are needed in evaluation");
    const Tensor* per_channel[] = {weight.get(), bias.get(), running_mean, running_var};
    for (const Tensor* t : per_channel)
        MT_CHECK(!t || t->numel() == p.channels, "batch_norm: expected ", p.channels,
                 " elements for each channel's values, got ", t ? t->numel() : 0);
    std::vector<double> mean, variance, scale;
    visit(PlainFloatTypes{}, wide, "batch_norm", [&]<class X>() {
        if (training) {
            channel_moments(p, x->data<X>(), mean, variance);
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
        const X *from = x->data<X>(), *f = a.data(), *s = b.data();
        X* to = result.tensor().data<X>();
        for_planes(p, [=](int64_t i, int64_t ch) { to[i] = vec::fma(from[i], f[ch], s[ch]); });
        if (!training) return;
        Converted save_mean(c.out(1), DType::Float64), save_inverse(c.out(2), DType::Float64);
        std::copy(mean.begin(), mean.end(), save_mean.tensor().data<double>());
        std::copy(inverse.begin(), inverse.end(), save_inverse.tensor().data<double>());
        save_mean.finish();
        save_inverse.finish();
    });
    result.finish();
}

Tensor* mutable_or_null(const Call& c, int i) { return const_cast<Tensor*>(c.tensor_or_null(i)); }

// native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)
void native_batch_norm_cpu(Call& c) {
    batch_norm_into(c, mutable_or_null(c, 3), mutable_or_null(c, 4), c.boolean(5), c.real(6), c.real(7));
}
// _native_batch_norm_legit.no_stats(input, weight, bias, training, momentum, eps)
void batch_norm_no_stats_cpu(Call& c) { batch_norm_into(c, nullptr, nullptr, c.boolean(3), c.real(4), c.real(5)); }
// _native_batch_norm_legit_no_training(input, weight, bias, running_mean, running_var, momentum, eps)
void batch_norm_no_training_cpu(Call& c) {
    batch_norm_into(c, mutable_or_null(c, 3), mutable_or_null(c, 4), false, c.real(5), c.real(6));
}

// native_batch_norm_backward(grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps,
// output_mask)
void native_batch_norm_backward_cpu(Call& c) {
    const Tensor& input = c.tensor(1);
    Planes p = planes_of(input);
    DType wide = broad_type(input.dtype);
    bool train = c.boolean(7);
    double eps = c.real(8);
    TensorRef g = laid_out(p, c.tensor(0), wide), x = laid_out(p, input, wide),
              weight = as_type(c.tensor_or_null(2), wide);
    Tensor *dx = out_or_null(c, 0), *dweight = out_or_null(c, 1), *dbias = out_or_null(c, 2);
    TensorRef m = contiguous(c.tensor(train ? 5 : 3), DType::Float64),
              v = contiguous(c.tensor(train ? 6 : 4), DType::Float64);
    MT_CHECK(m->numel() == p.channels && v->numel() == p.channels, "batch_norm_backward: statistics should contain ",
             p.channels, " elements");
    size_t n = static_cast<size_t>(p.channels);
    visit(PlainFloatTypes{}, wide, "batch_norm_backward", [&]<class X>() {
        const X *grad = g->data<X>(), *from = x->data<X>();
        std::vector<X> centre(n), grad_factor(n), along(n), level(n);
        std::vector<double> inverse(n), sum(n), dot(n);
        for (size_t i = 0; i < n; i++) {
            centre[i] = static_cast<X>(m->data<double>()[i]);
            inverse[i] = train ? v->data<double>()[i] : 1 / std::sqrt(v->data<double>()[i] + eps);
        }
        const X* mu = centre.data();
        channel_sums<X>(
            p, [=](int64_t i, int64_t) { return grad[i]; },
            [=](int64_t i, int64_t ch) { return grad[i] * (from[i] - mu[ch]); }, sum.data(), dot.data());
        double count = static_cast<double>(p.count());
        for (size_t i = 0; i < n; i++) {
            double factor = inverse[i] * (weight ? weight->data<X>()[i] : X(1));
            grad_factor[i] = static_cast<X>(factor);
            along[i] = train ? static_cast<X>(-factor * dot[i] * inverse[i] * inverse[i] / count) : X(0);
            level[i] = train ? static_cast<X>(-factor * sum[i] / count) : X(0);
        }
        if (dx) {
            LaidOut result(p, *dx, wide);
            X* to = result.tensor().data<X>();
            const X *gf = grad_factor.data(), *al = along.data(), *lv = level.data();
            for_planes(p, [=](int64_t i, int64_t ch) {
                to[i] = vec::fma(gf[ch], grad[i], vec::fma(al[ch], from[i] - mu[ch], lv[ch]));
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
void channel_norm_backward_shape(ShapeCall& c) {
    const Tensor& input = c.tensor(c.param(0));
    const Tensor* weight = c.tensor_or_null(c.param(2));
    Span<bool> mask = c.bools(c.param(1));
    MT_CHECK(input.ndim >= 2 && mask.size == 3, c.name(),
             ": expected an input of at least two dimensions and three flags");
    int64_t channels = input.size(1);
    MT_CHECK(c.tensor(c.param(3)).sizes() == input.sizes(), c.name(), ": the gradient's sizes ",
             c.tensor(c.param(3)).sizes(), " are not the input's, ", input.sizes());
    MT_CHECK(!weight || weight->numel() == channels, c.name(), ": weight should contain ", channels, " elements");
    mask[0] ? c.output_like(0, input) : c.output_none(0);
    for (int i = 1; i < 3; i++)
        mask[i] ? c.output(i, IntSpan(&channels, 1), weight ? weight->dtype : input.dtype) : c.output_none(i);
}

// ---- group norm: rows of one sample's group ----

// Words: input, weight, N, C, HxW, group, bias.
void group_norm_shape(ShapeCall& c) {
    const Tensor& input = c.tensor(c.param(0));
    const Tensor* weight = c.tensor_or_null(c.param(1));
    int64_t n = c.integer(c.param(2)), channels = c.integer(c.param(3)), group = c.integer(c.param(5));
    MT_CHECK(group > 0, "Expected num groups to be greater than 0, got ", group);
    MT_CHECK(channels % group == 0,
             "Expected number of channels in input to be divisible by num_groups, but got input of shape ",
             input.sizes(), " and num_groups=", group);
    MT_CHECK_AS(NotImplemented, is_floating(input.dtype), "\"GroupNormKernelImpl\" not implemented for '",
                dtype_class_name(input.dtype), "'");
    MT_CHECK(n >= 0 && channels >= 0 && input.numel() == n * channels * c.integer(c.param(4)), "Expected input of ", n,
             " x ", channels, " x ", c.integer(c.param(4)), " elements, but got shape ", input.sizes());
    for (int k : {1, 6}) {
        const Tensor* t = c.param(k) >= 0 ? c.tensor_or_null(c.param(k)) : nullptr;
        MT_CHECK(!t || t->numel() == channels, "Expected ", k == 1 ? "weight" : "bias",
                 " to be a vector of size equal to the number of channels in input, but got ",
                 k == 1 ? "weight" : "bias", " of shape ", t ? t->sizes() : IntSpan(), " and input of shape ",
                 input.sizes());
    }
    DType statistics =
        is_reduced_float(input.dtype) && weight && weight->dtype == DType::Float32 ? DType::Float32 : input.dtype;
    c.output_like(0, input);
    for (int i = 1; i < 3; i++) c.output(i, {n, group}, statistics);
}

// The sizes come as numbers beside the input: what they promise must be there.
void check_group_norm(const Tensor& input, const Tensor* weight, int64_t samples, int64_t channels, int64_t places,
                      int64_t groups) {
    MT_CHECK(groups > 0 && channels >= 0 && channels % groups == 0,
             "Expected number of channels in input to be divisible by num_groups, ", "but got C = ", channels,
             " and num_groups = ", groups);
    MT_CHECK(samples >= 0 && places >= 0 && input.numel_ == samples * channels * places,
             "Expected an input of N * C * HxW = ", samples, " * ", channels, " * ", places,
             " elements, but got one of shape ", input.sizes());
    MT_CHECK(!weight || weight->numel_ == channels,
             "Expected weight to be a vector of size equal to the number of channels in input, ",
             "but got weight of shape ", weight ? weight->sizes() : IntSpan(), " and C = ", channels);
}

// native_group_norm(input, weight, bias, N, C, HxW, group, eps)
void native_group_norm_cpu(Call& c) {
    const Tensor& input = c.tensor(0);
    DType wide = broad_type(input.dtype);
    int64_t samples = c.integer(3), channels = c.integer(4), places = c.integer(5), groups = c.integer(6);
    check_group_norm(input, c.tensor_or_null(1), samples, channels, places, groups);
    check_group_norm(input, c.tensor_or_null(2), samples, channels, places, groups);
    double eps = c.real(7);
    int64_t width = groups ? channels / groups : 0, rows = samples * groups, n = width * places;
    Converted result(c.out(0), wide), mean(c.out(1), wide), rstd(c.out(2), wide);
    TensorRef x = contiguous(input, wide), weight = as_type(c.tensor_or_null(1), wide),
              bias = as_type(c.tensor_or_null(2), wide);
    visit(PlainFloatTypes{}, wide, "GroupNormKernelImpl", [&]<class X>() {
        const X *w = data_or_null<X>(weight), *b = data_or_null<X>(bias);
        parallel_for(rows, grain_for(n), [&](int64_t first, int64_t end) {
            for (int64_t r = first; r < end; r++) {
                const X* from = x->data<X>() + r * n;
                X* to = result.tensor().data<X>() + r * n;
                double count = static_cast<double>(n), centre = fold_row(SumOp<X>(), from, n) / count, spread = 0;
                X m = static_cast<X>(centre);
                for (int64_t i = 0; i < n; i += kFoldBlock) {
                    const X* part = from + i;
                    spread += lane_sum<X>(std::min(kFoldBlock, n - i), [=](int64_t j) {
                        X d = part[j] - m;
                        return d * d;
                    });
                }
                X k = static_cast<X>(1 / std::sqrt(spread / count + eps));
                mean.tensor().data<X>()[r] = m;
                rstd.tensor().data<X>()[r] = k;
                for (int64_t ch = 0; ch < width; ch++) {
                    int64_t at = r % groups * width + ch;
                    X f = w ? k * w[at] : k, s = (b ? b[at] : X(0)) - m * f;
                    for (int64_t i = ch * places; i < (ch + 1) * places; i++) to[i] = vec::fma(from[i], f, s);
                }
            }
        });
    });
    result.finish();
    mean.finish();
    rstd.finish();
}

// native_group_norm_backward(grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask)
void native_group_norm_backward_cpu(Call& c) {
    const Tensor& input = c.tensor(1);
    DType wide = broad_type(input.dtype);
    int64_t samples = c.integer(5), channels = c.integer(6), places = c.integer(7), groups = c.integer(8);
    check_group_norm(input, c.tensor_or_null(4), samples, channels, places, groups);
    check_group_norm(c.tensor(0), nullptr, samples, channels, places, groups);
    MT_CHECK(c.tensor(2).numel_ == samples * groups && c.tensor(3).numel_ == samples * groups,
             "Expected mean and rstd of N * group elements");
    MT_CHECK(groups > 0 && channels % groups == 0 && input.numel() == samples * channels * places &&
                 input.size(1) == channels,
             "group_norm_backward: N, C, HxW and group do not fit an input of shape ", input.sizes());
    int64_t width = channels / groups, planes = samples * channels;
    MT_CHECK(c.tensor(2).numel() == samples * groups && c.tensor(3).numel() == samples * groups,
             "group_norm_backward: statistics should contain ", samples * groups, " elements");
    TensorRef g = contiguous(c.tensor(0), wide), x = contiguous(input, wide), mean = contiguous(c.tensor(2), wide);
    TensorRef rstd = contiguous(c.tensor(3), wide), weight = as_type(c.tensor_or_null(4), wide);
    Tensor *dx = out_or_null(c, 0), *dweight = out_or_null(c, 1), *dbias = out_or_null(c, 2);
    visit(PlainFloatTypes{}, wide, "GroupNormBackwardKernelImpl", [&]<class X>() {
        const X *grad = g->data<X>(), *from = x->data<X>(), *m = mean->data<X>(), *k = rstd->data<X>(),
                *w = data_or_null<X>(weight);
        // Of each sample's channel: the sum of the gradient, and of gradient times input about the group's mean.
        std::vector<double> sum(static_cast<size_t>(planes)), dot(static_cast<size_t>(planes));
        parallel_for(planes, grain_for(places), [&](int64_t first, int64_t end) {
            for (int64_t q = first; q < end; q++) {
                const X *gq = grad + q * places, *xq = from + q * places;
                X centre = m[q / width];
                double a = 0, b = 0;
                for (int64_t i = 0; i < places; i += kFoldBlock) {
                    int64_t count = std::min(kFoldBlock, places - i);
                    a += lane_sum<X>(count, [=](int64_t j) { return gq[i + j]; });
                    b += lane_sum<X>(count, [=](int64_t j) { return gq[i + j] * (xq[i + j] - centre); });
                }
                sum[static_cast<size_t>(q)] = a;
                dot[static_cast<size_t>(q)] = b;
            }
        });
        if (dx) {
            Converted result(*dx, wide);
            X* to = result.tensor().data<X>();
            double count = static_cast<double>(width * places);
            parallel_for(samples * groups, grain_for(width * places), [&](int64_t first, int64_t end) {
                for (int64_t r = first; r < end; r++) {
                    double level = 0, along = 0;
                    for (int64_t ch = 0; ch < width; ch++) {
                        size_t q = static_cast<size_t>(r * width + ch);
                        double f = w ? w[r % groups * width + ch] : X(1);
                        level += f * sum[q];
                        along += f * dot[q];
                    }
                    X s = k[r], p = static_cast<X>(-along * s * s * s / count), o = static_cast<X>(-level * s / count),
                      mu = m[r];
                    for (int64_t ch = 0; ch < width; ch++) {
                        X f = w ? s * w[r % groups * width + ch] : s;
                        int64_t at = (r * width + ch) * places;
                        for (int64_t i = at; i < at + places; i++)
                            to[i] = vec::fma(f, grad[i], vec::fma(p, from[i] - mu, o));
                    }
                }
            });
            result.finish();
        }
        for (bool of_weight : {true, false}) {
            Tensor* out = of_weight ? dweight : dbias;
            if (!out) continue;
            Converted result(*out, DType::Float64);
            double* to = result.tensor().data<double>();
            for (int64_t ch = 0; ch < channels; ch++) {
                double total = 0;
                for (int64_t i = 0; i < samples; i++) {
                    int64_t q = i * channels + ch;
                    total += of_weight ? dot[static_cast<size_t>(q)] * k[q / width] : sum[static_cast<size_t>(q)];
                }
                to[ch] = total;
            }
            result.finish();
        }
    });
}

}  // namespace

KERNELS
{
    shape("batch_norm", batch_norm_shape);
    shape("group_norm", group_norm_shape);
    shape("channel_norm_backward", channel_norm_backward_shape);
    structured("native_batch_norm", native_batch_norm_cpu);
    structured("_native_batch_norm_legit", native_batch_norm_cpu);
    structured("_native_batch_norm_legit.no_stats", batch_norm_no_stats_cpu);
    structured("_native_batch_norm_legit_no_training", batch_norm_no_training_cpu);
    structured("native_batch_norm_backward", native_batch_norm_backward_cpu);
    structured("native_group_norm", native_group_norm_cpu, kContiguousOutputs);
    structured("native_group_norm_backward", native_group_norm_backward_cpu, kContiguousOutputs);
}

}  // namespace mt
