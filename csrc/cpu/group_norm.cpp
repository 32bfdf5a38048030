// Group norm: rows of one sample's group.
#include <vector>

#include "cpu/parameter_dtype.h"
#include "cpu/pieces.h"
#include "cpu/rows.h"

namespace mt {
namespace {

TensorRef as_type(const Tensor* t, DType type) { return t ? contiguous(*t, type) : TensorRef(); }
template <class X>
const X* data_or_null(const TensorRef& t) {
    return t ? t->data<X>() : nullptr;
}

// Words: input, weight, N, C, HxW, group, bias.
void group_norm_shape(ShapeCall& c, const Tensor& input, const Tensor* weight, int64_t n, int64_t channels,
                      int64_t places, int64_t group, const Tensor* bias) {
    MT_CHECK(group > 0, "Expected num groups to be greater than 0, got ", group);
    MT_CHECK(channels % group == 0,
             "Expected number of channels in input to be divisible by num_groups, but got input of shape ",
             input.sizes(), " and num_groups=", group);
    MT_CHECK_AS(NotImplemented, is_floating(input.dtype), "\"GroupNormKernelImpl\" not implemented for '",
                dtype_class_name(input.dtype), "'");
    MT_CHECK(n >= 0 && channels >= 0 && input.numel() == n * channels * places, "Expected input of ", n, " x ",
             channels, " x ", places, " elements, but got shape ", input.sizes());
    for (const auto& [t, name] : {std::pair(weight, "weight"), std::pair(bias, "bias")})
        MT_CHECK(!t || t->numel() == channels, "Expected ", name,
                 " to be a vector of size equal to the number of channels in input, but got ", name, " of shape ",
                 t ? t->sizes() : IntSpan(), " and input of shape ", input.sizes());
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

void native_group_norm_cpu(Out out, const Tensor& input, const Tensor* given_weight, const Tensor* given_bias,
                           int64_t samples, int64_t channels, int64_t places, int64_t groups, double eps) {
    DType wide = broad_type(input.dtype);
    check_group_norm(input, given_weight, samples, channels, places, groups);
    check_group_norm(input, given_bias, samples, channels, places, groups);
    check_parameter_dtypes(input, {given_weight, given_bias});
    int64_t width = groups ? channels / groups : 0, rows = samples * groups, n = width * places;
    Converted mean(out[1], wide), rstd(out[2], wide);
    TensorRef x = contiguous(input), weight = as_type(given_weight, wide), bias = as_type(given_bias, wide);
    visit(PlainFloatTypes{}, wide, "GroupNormKernelImpl", [&]<class X>() {
        const X *w = data_or_null<X>(weight), *b = data_or_null<X>(bias);
        const Reader<X> reader(*x);
        const Writer<X> writer(out[0]);
        parallel_for(rows, grain_for(n), [&](int64_t first, int64_t end) {
            auto in_buffer = piece_buffer<X>(*x, n), out_buffer = piece_buffer<X>(out[0], n);
            for (int64_t r = first; r < end; r++) {
                const X* from = reader.read(r * n, n, in_buffer.get());
                X* to = writer.place(r * n, out_buffer.get());
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
                writer.done(r * n, n, to);
            }
        });
    });
    mean.finish();
    rstd.finish();
}

void native_group_norm_backward_cpu(Out out, const Tensor& grad_out, const Tensor& input, const Tensor& given_mean,
                                    const Tensor& given_rstd, const Tensor* given_weight, int64_t samples,
                                    int64_t channels, int64_t places, int64_t groups, Span<bool> output_mask) {
    DType wide = broad_type(input.dtype);
    check_group_norm(input, given_weight, samples, channels, places, groups);
    check_group_norm(grad_out, nullptr, samples, channels, places, groups);
    MT_CHECK(given_mean.numel_ == samples * groups && given_rstd.numel_ == samples * groups,
             "Expected mean and rstd of N * group elements");
    MT_CHECK(groups > 0 && channels % groups == 0 && input.numel() == samples * channels * places &&
                 input.size(1) == channels,
             "group_norm_backward: N, C, HxW and group do not fit an input of shape ", input.sizes());
    int64_t width = channels / groups, planes = samples * channels;
    MT_CHECK(given_mean.numel() == samples * groups && given_rstd.numel() == samples * groups,
             "group_norm_backward: statistics should contain ", samples * groups, " elements");
    TensorRef g = contiguous(grad_out, input.dtype), x = contiguous(input), mean = contiguous(given_mean, wide);
    TensorRef rstd = contiguous(given_rstd, wide), weight = as_type(given_weight, wide);
    Tensor *dx = out.or_null(0), *dweight = out.or_null(1), *dbias = out.or_null(2);
    visit(PlainFloatTypes{}, wide, "GroupNormBackwardKernelImpl", [&]<class X>() {
        const Reader<X> grads(*g), inputs(*x);
        const X *m = mean->data<X>(), *k = rstd->data<X>(), *w = data_or_null<X>(weight);
        // Of each sample's channel: the sum of the gradient, and of gradient times input about the group's mean.
        std::vector<double> sum(static_cast<size_t>(planes)), dot(static_cast<size_t>(planes));
        parallel_for(planes, grain_for(places), [&](int64_t first, int64_t end) {
            auto g_buffer = piece_buffer<X>(*g, places), x_buffer = piece_buffer<X>(*x, places);
            for (int64_t q = first; q < end; q++) {
                const X* gq = grads.read(q * places, places, g_buffer.get());
                const X* xq = inputs.read(q * places, places, x_buffer.get());
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
            const Writer<X> writer(*dx);
            double count = static_cast<double>(width * places);
            parallel_for(samples * groups, grain_for(width * places), [&](int64_t first, int64_t end) {
                auto g_buffer = piece_buffer<X>(*g, places), x_buffer = piece_buffer<X>(*x, places),
                     out_buffer = piece_buffer<X>(*dx, places);
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
                        const X* gq = grads.read(at, places, g_buffer.get());
                        const X* xq = inputs.read(at, places, x_buffer.get());
                        X* to = writer.place(at, out_buffer.get());
                        for (int64_t i = 0; i < places; i++) to[i] = vec::fma(f, gq[i], vec::fma(p, xq[i] - mu, o));
                        writer.done(at, places, to);
                    }
                }
            });
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
    shape<group_norm_shape>("group_norm");
    structured<native_group_norm_cpu>("native_group_norm", kContiguousOutputs);
    structured<native_group_norm_backward_cpu>("native_group_norm_backward", kContiguousOutputs);
}

}  // namespace mt
