// torch::nn::functional: functions of layers with their options.
#pragma once

#include <mindtorch/keys.h>
#include <mindtorch/nn/options.h>

namespace torch {
namespace nn {

using reduction_t = std::variant<enumtype::kNone, enumtype::kMean, enumtype::kSum>;

// The number that operators take for a reduction.
template <class Reduction>
int64_t number_of_reduction(const Reduction& reduction) {
    if (std::holds_alternative<enumtype::kNone>(reduction)) return 0;
    return std::holds_alternative<enumtype::kSum>(reduction) ? 2 : 1;
}

struct SoftmaxOptions {
    SoftmaxOptions(int64_t dim) : dim_(dim) {}
    TORCH_ARG(int64_t, dim);
};
using LogSoftmaxOptions = SoftmaxOptions;
using SoftminOptions = SoftmaxOptions;

#define MINDTORCH_INPLACE(Name)                          \
    struct Name##Options {                               \
        Name##Options(bool on = false) : inplace_(on) {} \
        TORCH_ARG(bool, inplace);                        \
    }
MINDTORCH_INPLACE(ReLU);
MINDTORCH_INPLACE(ReLU6);
MINDTORCH_INPLACE(SELU);
#undef MINDTORCH_INPLACE
struct ELUOptions {
    TORCH_ARG(double, alpha) = 1.0;
    TORCH_ARG(bool, inplace) = false;
};
struct CELUOptions {
    TORCH_ARG(double, alpha) = 1.0;
    TORCH_ARG(bool, inplace) = false;
};
struct LeakyReLUOptions {
    TORCH_ARG(double, negative_slope) = 1e-2;
    TORCH_ARG(bool, inplace) = false;
};
struct HardtanhOptions {
    TORCH_ARG(double, min_val) = -1.0;
    TORCH_ARG(double, max_val) = 1.0;
    TORCH_ARG(bool, inplace) = false;
};
struct SoftplusOptions {
    TORCH_ARG(double, beta) = 1.0;
    TORCH_ARG(double, threshold) = 20.0;
};
struct GELUOptions {
    TORCH_ARG(std::string, approximate) = "none";
};
struct GLUOptions {
    GLUOptions(int64_t dim = -1) : dim_(dim) {}
    TORCH_ARG(int64_t, dim);
};
struct HardshrinkOptions {
    HardshrinkOptions(double lambda = 0.5) : lambda_(lambda) {}
    TORCH_ARG(double, lambda);
};
struct SoftshrinkOptions {
    SoftshrinkOptions(double lambda = 0.5) : lambda_(lambda) {}
    TORCH_ARG(double, lambda);
};
struct RReLUOptions {
    TORCH_ARG(double, lower) = 1.0 / 8.0;
    TORCH_ARG(double, upper) = 1.0 / 3.0;
    TORCH_ARG(bool, inplace) = false;
};
struct ThresholdOptions {
    ThresholdOptions(double threshold, double value) : threshold_(threshold), value_(value) {}
    TORCH_ARG(double, threshold);
    TORCH_ARG(double, value);
    TORCH_ARG(bool, inplace) = false;
};
#define MINDTORCH_PIXELS(Name, argument)                       \
    struct Name##Options {                                     \
        Name##Options(int64_t factor) : argument##_(factor) {} \
        TORCH_ARG(int64_t, argument);                          \
    }
MINDTORCH_PIXELS(PixelShuffle, upscale_factor);
MINDTORCH_PIXELS(PixelUnshuffle, downscale_factor);
#undef MINDTORCH_PIXELS
struct DropoutOptions {
    DropoutOptions(double p = 0.5) : p_(p) {}
    TORCH_ARG(double, p);
    TORCH_ARG(bool, inplace) = false;
};

template <size_t D>
struct MaxPoolOptions {
    MaxPoolOptions(ExpandingArray<D> size) : kernel_size_(size), stride_(size) {}
    TORCH_ARG(ExpandingArray<D>, kernel_size);
    TORCH_ARG(ExpandingArray<D>, stride);
    TORCH_ARG(ExpandingArray<D>, padding) = 0;
    TORCH_ARG(ExpandingArray<D>, dilation) = 1;
    TORCH_ARG(bool, ceil_mode) = false;
};
template <size_t D>
struct AvgPoolOptions {
    AvgPoolOptions(ExpandingArray<D> size) : kernel_size_(size), stride_(size) {}
    TORCH_ARG(ExpandingArray<D>, kernel_size);
    TORCH_ARG(ExpandingArray<D>, stride);
    TORCH_ARG(ExpandingArray<D>, padding) = 0;
    TORCH_ARG(bool, ceil_mode) = false;
    TORCH_ARG(bool, count_include_pad) = true;
    TORCH_ARG(std::optional<int64_t>, divisor_override) = std::nullopt;
};
// Of the sizes of an adaptive pool, those of the input may be kept by leaving them out; one dimension has none to keep.
template <size_t D>
struct AdaptivePoolOptions {
    using Size = std::conditional_t<D == 1, ExpandingArray<D>, ExpandingArrayWithOptionalElem<D>>;
    AdaptivePoolOptions(Size size) : output_size_(size) {}
    TORCH_ARG(Size, output_size);
};
struct FoldOptions {
    FoldOptions(ExpandingArray<2> output_size, ExpandingArray<2> kernel_size)
        : output_size_(output_size), kernel_size_(kernel_size) {}
    TORCH_ARG(ExpandingArray<2>, output_size);
    TORCH_ARG(ExpandingArray<2>, kernel_size);
    TORCH_ARG(ExpandingArray<2>, dilation) = 1;
    TORCH_ARG(ExpandingArray<2>, padding) = 0;
    TORCH_ARG(ExpandingArray<2>, stride) = 1;
};
struct UnfoldOptions {
    UnfoldOptions(ExpandingArray<2> kernel_size) : kernel_size_(kernel_size) {}
    TORCH_ARG(ExpandingArray<2>, kernel_size);
    TORCH_ARG(ExpandingArray<2>, dilation) = 1;
    TORCH_ARG(ExpandingArray<2>, padding) = 0;
    TORCH_ARG(ExpandingArray<2>, stride) = 1;
};
struct CosineSimilarityOptions {
    TORCH_ARG(int64_t, dim) = 1;
    TORCH_ARG(double, eps) = 1e-8;
};
struct PairwiseDistanceOptions {
    TORCH_ARG(double, p) = 2.0;
    TORCH_ARG(double, eps) = 1e-6;
    TORCH_ARG(bool, keepdim) = false;
};
#define MINDTORCH_LOSS(Name)                                         \
    struct Name##Options {                                           \
        Name##Options() = default;                                   \
        MINDTORCH_FROM_CHOICE(Name##Options, reduction_t, reduction) \
        TORCH_ARG(reduction_t, reduction) = kMean;                   \
    }
MINDTORCH_LOSS(L1Loss);
MINDTORCH_LOSS(MSELoss);
MINDTORCH_LOSS(SoftMarginLoss);
MINDTORCH_LOSS(MultiLabelMarginLoss);
#undef MINDTORCH_LOSS
struct KLDivLossOptions {
    using reduction_t = std::variant<enumtype::kNone, enumtype::kBatchMean, enumtype::kSum, enumtype::kMean>;
    KLDivLossOptions() = default;
    MINDTORCH_FROM_CHOICE(KLDivLossOptions, reduction_t, reduction)
    TORCH_ARG(reduction_t, reduction) = kMean;
    TORCH_ARG(bool, log_target) = false;
};
struct SmoothL1LossOptions {
    SmoothL1LossOptions() = default;
    MINDTORCH_FROM_CHOICE(SmoothL1LossOptions, reduction_t, reduction)
    TORCH_ARG(reduction_t, reduction) = kMean;
    TORCH_ARG(std::optional<double>, beta) = std::nullopt;
};
struct HuberLossOptions {
    HuberLossOptions() = default;
    MINDTORCH_FROM_CHOICE(HuberLossOptions, reduction_t, reduction)
    TORCH_ARG(reduction_t, reduction) = kMean;
    TORCH_ARG(double, delta) = 1.0;
};
struct BCELossOptions {
    TORCH_ARG(at::Tensor, weight) = {};
    TORCH_ARG(reduction_t, reduction) = kMean;
};
struct BCEWithLogitsLossOptions {
    TORCH_ARG(at::Tensor, weight) = {};
    TORCH_ARG(reduction_t, reduction) = kMean;
    TORCH_ARG(at::Tensor, pos_weight) = {};
};
struct NLLLossOptions {
    TORCH_ARG(at::Tensor, weight) = {};
    TORCH_ARG(int64_t, ignore_index) = -100;
    TORCH_ARG(reduction_t, reduction) = kMean;
};
struct CrossEntropyLossOptions {
    TORCH_ARG(at::Tensor, weight) = {};
    TORCH_ARG(int64_t, ignore_index) = -100;
    TORCH_ARG(reduction_t, reduction) = kMean;
    TORCH_ARG(double, label_smoothing) = 0.0;
};

namespace functional {

// The weight or bias that an option leaves out.
inline std::optional<at::Tensor> given(const at::Tensor& t) {
    return t.defined() ? std::optional<at::Tensor>(t) : std::nullopt;
}

struct PadFuncOptions {
    using mode_t = std::variant<enumtype::kConstant, enumtype::kReflect, enumtype::kReplicate, enumtype::kCircular>;
    PadFuncOptions(std::vector<int64_t> pad) : pad_(std::move(pad)) {}
    TORCH_ARG(std::vector<int64_t>, pad);
    TORCH_ARG(mode_t, mode) = kConstant;
    TORCH_ARG(double, value) = 0;
};
inline at::Tensor pad(const at::Tensor& input, const PadFuncOptions& o) {
    static constexpr const char* names[] = {"constant", "reflect", "replicate", "circular"};
    const bool constant = o.mode().index() == 0;
    return at::pad(input, o.pad(), names[o.mode().index()], constant ? std::optional<double>(o.value()) : std::nullopt);
}

struct InterpolateFuncOptions {
    using mode_t = std::variant<enumtype::kNearest, enumtype::kLinear, enumtype::kBilinear, enumtype::kBicubic,
                                enumtype::kTrilinear, enumtype::kArea, enumtype::kNearestExact>;
    TORCH_ARG(std::optional<std::vector<int64_t>>, size) = std::nullopt;
    TORCH_ARG(std::optional<std::vector<double>>, scale_factor) = std::nullopt;
    TORCH_ARG(mode_t, mode) = kNearest;
    TORCH_ARG(std::optional<bool>, align_corners) = std::nullopt;
    TORCH_ARG(std::optional<bool>, recompute_scale_factor) = std::nullopt;
    TORCH_ARG(bool, antialias) = false;
};
inline at::Tensor interpolate(const at::Tensor& input, const InterpolateFuncOptions& o = {}) {
    const int64_t dims = input.dim() - 2;
    TORCH_CHECK(dims >= 1 && dims <= 3, "Input Error: Only 3D, 4D and 5D input Tensors supported (got ", input.dim(),
                "D) for the modes: nearest | linear | bilinear | bicubic | trilinear (got ",
                enumtype::get_enum_name(o.mode()), ")");
    TORCH_CHECK(o.size().has_value() != o.scale_factor().has_value(),
                o.size() ? "only one of size or scale_factor should be defined"
                         : "either size or scale_factor should be defined");
    std::vector<int64_t> size = o.size().value_or(std::vector<int64_t>());
    std::vector<std::optional<double>> scale(dims);
    if (!o.size()) {
        TORCH_CHECK(static_cast<int64_t>(o.scale_factor()->size()) == dims,
                    "scale_factor shape must match input shape");
        for (int64_t i = 0; i < dims; i++) {
            const double s = (*o.scale_factor())[i];
            size.push_back(static_cast<int64_t>(std::floor(static_cast<double>(input.size(i + 2)) * s)));
            if (!o.recompute_scale_factor().value_or(false)) scale[i] = s;
        }
    }
    TORCH_CHECK(static_cast<int64_t>(size.size()) == dims, "size shape must match input shape");
    const bool align = o.align_corners().value_or(false);
    const auto mode = o.mode();
    const auto is = [&](auto choice) { return std::holds_alternative<decltype(choice)>(mode); };
    if (is(enumtype::kArea())) {
        if (dims == 1) return at::adaptive_avg_pool1d(input, size);
        return dims == 2 ? at::adaptive_avg_pool2d(input, size) : at::adaptive_avg_pool3d(input, size);
    }
    if (is(enumtype::kNearest())) {
        if (dims == 1) return at::upsample_nearest1d(input, size, scale[0]);
        if (dims == 2) return at::upsample_nearest2d(input, size, scale[0], scale[1]);
        return at::upsample_nearest3d(input, size, scale[0], scale[1], scale[2]);
    }
    if (is(enumtype::kNearestExact())) {
        if (dims == 1) return at::_upsample_nearest_exact1d(input, size, scale[0]);
        if (dims == 2) return at::_upsample_nearest_exact2d(input, size, scale[0], scale[1]);
        return at::_upsample_nearest_exact3d(input, size, scale[0], scale[1], scale[2]);
    }
    if (is(enumtype::kLinear()) && dims == 1) return at::upsample_linear1d(input, size, align, scale[0]);
    if (is(enumtype::kBilinear()) && dims == 2)
        return o.antialias() ? at::_upsample_bilinear2d_aa(input, size, align, scale[0], scale[1])
                             : at::upsample_bilinear2d(input, size, align, scale[0], scale[1]);
    if (is(enumtype::kBicubic()) && dims == 2)
        return o.antialias() ? at::_upsample_bicubic2d_aa(input, size, align, scale[0], scale[1])
                             : at::upsample_bicubic2d(input, size, align, scale[0], scale[1]);
    if (is(enumtype::kTrilinear()) && dims == 3)
        return at::upsample_trilinear3d(input, size, align, scale[0], scale[1], scale[2]);
    TORCH_CHECK_NOT_IMPLEMENTED(false, "Got ", input.dim(), "D input, but ", enumtype::get_enum_name(mode),
                                " mode needs another number of dimensions");
}

struct GridSampleFuncOptions {
    using mode_t = std::variant<enumtype::kBilinear, enumtype::kNearest, enumtype::kBicubic>;
    using padding_mode_t = std::variant<enumtype::kZeros, enumtype::kBorder, enumtype::kReflection>;
    TORCH_ARG(mode_t, mode) = kBilinear;
    TORCH_ARG(padding_mode_t, padding_mode) = kZeros;
    TORCH_ARG(std::optional<bool>, align_corners) = std::nullopt;
};
inline at::Tensor grid_sample(const at::Tensor& input, const at::Tensor& grid, const GridSampleFuncOptions& o = {}) {
    return at::grid_sampler(input, grid, static_cast<int64_t>(o.mode().index()),
                            static_cast<int64_t>(o.padding_mode().index()), o.align_corners().value_or(false));
}
inline at::Tensor affine_grid(const at::Tensor& theta, at::IntArrayRef size, bool align_corners = false) {
    return at::affine_grid_generator(theta, size, align_corners);
}

struct SoftmaxFuncOptions {
    SoftmaxFuncOptions(int64_t dim) : dim_(dim) {}
    TORCH_ARG(int64_t, dim);
    TORCH_ARG(std::optional<at::ScalarType>, dtype) = std::nullopt;
};
using LogSoftmaxFuncOptions = SoftmaxFuncOptions;
using SoftminFuncOptions = SoftmaxFuncOptions;
inline at::Tensor softmax(const at::Tensor& x, const SoftmaxFuncOptions& o) {
    return at::softmax(x, o.dim(), o.dtype());
}
inline at::Tensor softmin(const at::Tensor& x, const SoftminFuncOptions& o) {
    return at::softmax(-x, o.dim(), o.dtype());
}
inline at::Tensor log_softmax(const at::Tensor& x, const LogSoftmaxFuncOptions& o) {
    return at::log_softmax(x, o.dim(), o.dtype());
}

using ReLUFuncOptions = ReLUOptions;
using ReLU6FuncOptions = ReLU6Options;
using SELUFuncOptions = SELUOptions;
using ELUFuncOptions = ELUOptions;
using CELUFuncOptions = CELUOptions;
using LeakyReLUFuncOptions = LeakyReLUOptions;
using HardtanhFuncOptions = HardtanhOptions;
using SoftplusFuncOptions = SoftplusOptions;
using GELUFuncOptions = GELUOptions;
using GLUFuncOptions = GLUOptions;
inline at::Tensor relu(at::Tensor x, const ReLUFuncOptions& o = {}) { return o.inplace() ? at::relu_(x) : at::relu(x); }
inline at::Tensor relu6(at::Tensor x, const ReLU6FuncOptions& o = {}) {
    return o.inplace() ? at::hardtanh_(x, 0, 6) : at::hardtanh(x, 0, 6);
}
inline at::Tensor selu(at::Tensor x, const SELUFuncOptions& o = {}) { return o.inplace() ? at::selu_(x) : at::selu(x); }
inline at::Tensor elu(at::Tensor x, const ELUFuncOptions& o = {}) {
    return o.inplace() ? at::elu_(x, o.alpha()) : at::elu(x, o.alpha());
}
inline at::Tensor celu(at::Tensor x, const CELUFuncOptions& o = {}) {
    return o.inplace() ? at::celu_(x, o.alpha()) : at::celu(x, o.alpha());
}
inline at::Tensor leaky_relu(at::Tensor x, const LeakyReLUFuncOptions& o = {}) {
    return o.inplace() ? at::leaky_relu_(x, o.negative_slope()) : at::leaky_relu(x, o.negative_slope());
}
inline at::Tensor hardtanh(at::Tensor x, const HardtanhFuncOptions& o = {}) {
    return o.inplace() ? at::hardtanh_(x, o.min_val(), o.max_val()) : at::hardtanh(x, o.min_val(), o.max_val());
}
inline at::Tensor softplus(const at::Tensor& x, const SoftplusFuncOptions& o = {}) {
    return at::softplus(x, o.beta(), o.threshold());
}
inline at::Tensor gelu(const at::Tensor& x, const GELUFuncOptions& o = {}) { return at::gelu(x, o.approximate()); }
inline at::Tensor glu(const at::Tensor& x, const GLUFuncOptions& o = {}) { return at::glu(x, o.dim()); }
inline at::Tensor silu(const at::Tensor& x) { return at::silu(x); }
inline at::Tensor mish(const at::Tensor& x) { return at::mish(x); }
inline at::Tensor logsigmoid(const at::Tensor& x) { return at::log_sigmoid(x); }
inline at::Tensor softsign(const at::Tensor& x) { return x / (x.abs() + 1); }
inline at::Tensor tanhshrink(const at::Tensor& x) { return x - x.tanh(); }
inline at::Tensor prelu(const at::Tensor& x, const at::Tensor& weight) { return at::prelu(x, weight); }
using HardshrinkFuncOptions = HardshrinkOptions;
using SoftshrinkFuncOptions = SoftshrinkOptions;
using ThresholdFuncOptions = ThresholdOptions;
inline at::Tensor hardshrink(const at::Tensor& x, const HardshrinkFuncOptions& o = {}) {
    return at::hardshrink(x, o.lambda());
}
inline at::Tensor softshrink(const at::Tensor& x, const SoftshrinkFuncOptions& o = {}) {
    return at::softshrink(x, o.lambda());
}
inline at::Tensor threshold(at::Tensor x, const ThresholdFuncOptions& o) {
    return o.inplace() ? at::threshold_(x, o.threshold(), o.value()) : at::threshold(x, o.threshold(), o.value());
}
struct RReLUFuncOptions {
    TORCH_ARG(double, lower) = 1.0 / 8.0;
    TORCH_ARG(double, upper) = 1.0 / 3.0;
    TORCH_ARG(bool, training) = false;
    TORCH_ARG(bool, inplace) = false;
};
inline at::Tensor rrelu(at::Tensor x, const RReLUFuncOptions& o = {}) {
    return o.inplace() ? at::rrelu_(x, o.lower(), o.upper(), o.training())
                       : at::rrelu(x, o.lower(), o.upper(), o.training());
}
struct GumbelSoftmaxFuncOptions {
    TORCH_ARG(double, tau) = 1.0;
    TORCH_ARG(bool, hard) = false;
    TORCH_ARG(int, dim) = -1;
};
// Softmax of logits with noise added; `hard` gives ones and zeros with the gradient of the soft values.
inline at::Tensor gumbel_softmax(const at::Tensor& logits, const GumbelSoftmaxFuncOptions& o = {}) {
    const at::Tensor noise = -at::empty_like(logits).exponential_().log();
    const at::Tensor soft = ((logits + noise) / o.tau()).softmax(o.dim());
    if (!o.hard()) return soft;
    const at::Tensor place = std::get<1>(soft.max(o.dim(), true));
    return at::zeros_like(soft).scatter_(o.dim(), place, 1.0) - soft.detach() + soft;
}

struct DropoutFuncOptions {
    TORCH_ARG(double, p) = 0.5;
    TORCH_ARG(bool, training) = true;
    TORCH_ARG(bool, inplace) = false;
};
using Dropout2dFuncOptions = DropoutFuncOptions;
using Dropout3dFuncOptions = DropoutFuncOptions;
inline void check_probability(double p) {
    TORCH_CHECK(p >= 0. && p <= 1., "dropout probability has to be between 0 and 1, but got ", p);
}
inline at::Tensor dropout(at::Tensor x, const DropoutFuncOptions& o = {}) {
    check_probability(o.p());
    return o.inplace() ? at::dropout_(x, o.p(), o.training()) : at::dropout(x, o.p(), o.training());
}
inline at::Tensor dropout2d(at::Tensor x, const Dropout2dFuncOptions& o = {}) {
    check_probability(o.p());
    return o.inplace() ? at::feature_dropout_(x, o.p(), o.training()) : at::feature_dropout(x, o.p(), o.training());
}
inline at::Tensor dropout3d(at::Tensor x, const Dropout3dFuncOptions& o = {}) { return dropout2d(std::move(x), o); }
struct AlphaDropoutFuncOptions {
    TORCH_ARG(double, p) = 0.5;
    TORCH_ARG(bool, training) = false;
    TORCH_ARG(bool, inplace) = false;
};
struct FeatureAlphaDropoutFuncOptions {
    TORCH_ARG(double, p) = 0.5;
    TORCH_ARG(bool, training) = false;
    TORCH_ARG(bool, inplace) = false;
};
inline at::Tensor alpha_dropout(at::Tensor x, const AlphaDropoutFuncOptions& o = {}) {
    check_probability(o.p());
    return o.inplace() ? at::alpha_dropout_(x, o.p(), o.training()) : at::alpha_dropout(x, o.p(), o.training());
}
inline at::Tensor feature_alpha_dropout(at::Tensor x, const FeatureAlphaDropoutFuncOptions& o = {}) {
    check_probability(o.p());
    return o.inplace() ? at::feature_alpha_dropout_(x, o.p(), o.training())
                       : at::feature_alpha_dropout(x, o.p(), o.training());
}

inline at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {}) {
    return at::linear(x, weight, given(bias));
}
inline at::Tensor bilinear(const at::Tensor& a, const at::Tensor& b, const at::Tensor& weight,
                           const at::Tensor& bias = {}) {
    return at::bilinear(a, b, weight, given(bias));
}
inline at::Tensor one_hot(const at::Tensor& x, int64_t num_classes = -1) { return at::one_hot(x, num_classes); }

struct EmbeddingFuncOptions {
    TORCH_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
    TORCH_ARG(std::optional<double>, max_norm) = std::nullopt;
    TORCH_ARG(double, norm_type) = 2.;
    TORCH_ARG(bool, scale_grad_by_freq) = false;
    TORCH_ARG(bool, sparse) = false;
};
inline at::Tensor embedding(const at::Tensor& x, const at::Tensor& weight, const EmbeddingFuncOptions& o = {}) {
    int64_t padding = o.padding_idx().value_or(-1);
    if (o.padding_idx()) {
        TORCH_CHECK(padding < weight.size(0) && padding >= -weight.size(0),
                    "Padding_idx must be within num_embeddings");
        if (padding < 0) padding += weight.size(0);
    }
    at::Tensor table = weight;
    if (o.max_norm()) {
        c10::NoGradGuard guard;
        at::embedding_renorm_(table, x.contiguous(), *o.max_norm(), o.norm_type());
    }
    return at::embedding(table, x, padding, o.scale_grad_by_freq(), o.sparse());
}

template <size_t D>
struct ConvFuncOptions {
    using padding_t = std::variant<ExpandingArray<D>, enumtype::kValid, enumtype::kSame>;
    TORCH_ARG(at::Tensor, bias) = {};
    TORCH_ARG(ExpandingArray<D>, stride) = 1;
    TORCH_ARG(padding_t, padding) = ExpandingArray<D>(0);
    TORCH_ARG(ExpandingArray<D>, dilation) = 1;
    TORCH_ARG(int64_t, groups) = 1;
};
template <size_t D>
struct ConvTransposeFuncOptions {
    TORCH_ARG(at::Tensor, bias) = {};
    TORCH_ARG(ExpandingArray<D>, stride) = 1;
    TORCH_ARG(ExpandingArray<D>, padding) = 0;
    TORCH_ARG(ExpandingArray<D>, output_padding) = 0;
    TORCH_ARG(int64_t, groups) = 1;
    TORCH_ARG(ExpandingArray<D>, dilation) = 1;
};
// The last sizes of a result: where one is left out, the input's.
template <size_t D>
std::array<int64_t, D> sizes_or_own(const at::Tensor& x, const std::array<std::optional<int64_t>, D>& asked) {
    std::array<int64_t, D> sizes{};
    for (size_t d = 0; d < D; d++)
        sizes[d] = asked[d] ? *asked[d] : x.size(static_cast<int64_t>(d) - static_cast<int64_t>(D));
    return sizes;
}
inline std::array<int64_t, 1> sizes_or_own(const at::Tensor&, const std::array<int64_t, 1>& asked) { return asked; }
#define MINDTORCH_CONV(D)                                                                                              \
    using Conv##D##dFuncOptions = ConvFuncOptions<D>;                                                                  \
    inline at::Tensor conv##D##d(const at::Tensor& x, const at::Tensor& weight, const Conv##D##dFuncOptions& o = {}) { \
        if (const auto* sizes = std::get_if<ExpandingArray<D>>(&o.padding()))                                          \
            return at::conv##D##d(x, weight, given(o.bias()), at::IntArrayRef(o.stride()), at::IntArrayRef(*sizes),    \
                                  at::IntArrayRef(o.dilation()), o.groups());                                          \
        const bool same = std::holds_alternative<enumtype::kSame>(o.padding());                                        \
        return at::conv##D##d(x, weight, given(o.bias()), at::IntArrayRef(o.stride()),                                 \
                              std::string_view(same ? "same" : "valid"), at::IntArrayRef(o.dilation()), o.groups());   \
    }                                                                                                                  \
    using ConvTranspose##D##dFuncOptions = ConvTransposeFuncOptions<D>;                                                \
    inline at::Tensor conv_transpose##D##d(const at::Tensor& x, const at::Tensor& weight,                              \
                                           const ConvTranspose##D##dFuncOptions& o = {}) {                             \
        return at::conv_transpose##D##d(x, weight, given(o.bias()), o.stride(), o.padding(), o.output_padding(),       \
                                        o.groups(), o.dilation());                                                     \
    }                                                                                                                  \
    using MaxPool##D##dFuncOptions = MaxPoolOptions<D>;                                                                \
    inline at::Tensor max_pool##D##d(const at::Tensor& x, const MaxPool##D##dFuncOptions& o) {                         \
        return at::max_pool##D##d(x, o.kernel_size(), o.stride(), o.padding(), o.dilation(), o.ceil_mode());           \
    }                                                                                                                  \
    inline std::tuple<at::Tensor, at::Tensor> max_pool##D##d_with_indices(const at::Tensor& x,                         \
                                                                          const MaxPool##D##dFuncOptions& o) {         \
        return at::max_pool##D##d_with_indices(x, o.kernel_size(), o.stride(), o.padding(), o.dilation(),              \
                                               o.ceil_mode());                                                         \
    }                                                                                                                  \
    using AvgPool##D##dFuncOptions = AvgPoolOptions<D>;                                                                \
    using AdaptiveAvgPool##D##dFuncOptions = AdaptivePoolOptions<D>;                                                   \
    inline at::Tensor adaptive_avg_pool##D##d(const at::Tensor& x, const AdaptiveAvgPool##D##dFuncOptions& o) {        \
        return at::adaptive_avg_pool##D##d(x, sizes_or_own(x, *o.output_size()));                                      \
    }                                                                                                                  \
    using AdaptiveMaxPool##D##dFuncOptions = AdaptivePoolOptions<D>;                                                   \
    inline std::tuple<at::Tensor, at::Tensor> adaptive_max_pool##D##d_with_indices(                                    \
        const at::Tensor& x, const AdaptiveMaxPool##D##dFuncOptions& o) {                                              \
        return at::adaptive_max_pool##D##d(x, sizes_or_own(x, *o.output_size()));                                      \
    }                                                                                                                  \
    inline at::Tensor adaptive_max_pool##D##d(const at::Tensor& x, const AdaptiveMaxPool##D##dFuncOptions& o) {        \
        return std::get<0>(adaptive_max_pool##D##d_with_indices(x, o));                                                \
    }
MINDTORCH_CONV(1)
MINDTORCH_CONV(2)
MINDTORCH_CONV(3)
#undef MINDTORCH_CONV
inline at::Tensor avg_pool1d(const at::Tensor& x, const AvgPool1dFuncOptions& o) {
    return at::avg_pool1d(x, o.kernel_size(), o.stride(), o.padding(), o.ceil_mode(), o.count_include_pad());
}
inline at::Tensor avg_pool2d(const at::Tensor& x, const AvgPool2dFuncOptions& o) {
    return at::avg_pool2d(x, o.kernel_size(), o.stride(), o.padding(), o.ceil_mode(), o.count_include_pad(),
                          o.divisor_override());
}
inline at::Tensor avg_pool3d(const at::Tensor& x, const AvgPool3dFuncOptions& o) {
    return at::avg_pool3d(x, o.kernel_size(), o.stride(), o.padding(), o.ceil_mode(), o.count_include_pad(),
                          o.divisor_override());
}
using FoldFuncOptions = FoldOptions;
using UnfoldFuncOptions = UnfoldOptions;
inline at::Tensor fold(const at::Tensor& x, const FoldFuncOptions& o) {
    return at::col2im(x, o.output_size(), o.kernel_size(), o.dilation(), o.padding(), o.stride());
}
inline at::Tensor unfold(const at::Tensor& x, const UnfoldFuncOptions& o) {
    return at::im2col(x, o.kernel_size(), o.dilation(), o.padding(), o.stride());
}
using PixelShuffleFuncOptions = PixelShuffleOptions;
using PixelUnshuffleFuncOptions = PixelUnshuffleOptions;
inline at::Tensor pixel_shuffle(const at::Tensor& x, const PixelShuffleFuncOptions& o) {
    return at::pixel_shuffle(x, o.upscale_factor());
}
inline at::Tensor pixel_unshuffle(const at::Tensor& x, const PixelUnshuffleFuncOptions& o) {
    return at::pixel_unshuffle(x, o.downscale_factor());
}

struct LayerNormFuncOptions {
    LayerNormFuncOptions(std::vector<int64_t> shape) : normalized_shape_(std::move(shape)) {}
    TORCH_ARG(std::vector<int64_t>, normalized_shape);
    TORCH_ARG(at::Tensor, weight) = {};
    TORCH_ARG(at::Tensor, bias) = {};
    TORCH_ARG(double, eps) = 1e-5;
};
inline at::Tensor layer_norm(const at::Tensor& x, const LayerNormFuncOptions& o) {
    return at::layer_norm(x, o.normalized_shape(), given(o.weight()), given(o.bias()), o.eps());
}
struct GroupNormFuncOptions {
    GroupNormFuncOptions(int64_t groups) : num_groups_(groups) {}
    TORCH_ARG(int64_t, num_groups);
    TORCH_ARG(at::Tensor, weight) = {};
    TORCH_ARG(at::Tensor, bias) = {};
    TORCH_ARG(double, eps) = 1e-5;
};
inline at::Tensor group_norm(const at::Tensor& x, const GroupNormFuncOptions& o) {
    return at::group_norm(x, o.num_groups(), given(o.weight()), given(o.bias()), o.eps());
}
struct BatchNormFuncOptions {
    TORCH_ARG(at::Tensor, weight) = {};
    TORCH_ARG(at::Tensor, bias) = {};
    TORCH_ARG(bool, training) = false;
    TORCH_ARG(std::optional<double>, momentum) = 0.1;
    TORCH_ARG(double, eps) = 1e-5;
};
inline at::Tensor batch_norm(const at::Tensor& x, const at::Tensor& mean, const at::Tensor& var,
                             const BatchNormFuncOptions& o = {}) {
    return at::batch_norm(x, given(o.weight()), given(o.bias()), given(mean), given(var), o.training(),
                          o.momentum().value_or(0.0), o.eps(), false);
}
struct NormalizeFuncOptions {
    TORCH_ARG(double, p) = 2.0;
    TORCH_ARG(int64_t, dim) = 1;
    TORCH_ARG(double, eps) = 1e-12;
    TORCH_ARG(std::optional<at::Tensor>, out) = std::nullopt;
};
inline at::Tensor normalize(const at::Tensor& x, const NormalizeFuncOptions& o = {}) {
    const at::Tensor by = x.norm(at::Scalar(o.p()), at::IntArrayRef({o.dim()}), true).clamp_min(o.eps()).expand_as(x);
    if (!o.out()) return x / by;
    at::Tensor out = *o.out();
    return at::div_out(out, x, by);
}
using CosineSimilarityFuncOptions = CosineSimilarityOptions;
using PairwiseDistanceFuncOptions = PairwiseDistanceOptions;
inline at::Tensor cosine_similarity(const at::Tensor& a, const at::Tensor& b,
                                    const CosineSimilarityFuncOptions& o = {}) {
    return at::cosine_similarity(a, b, o.dim(), o.eps());
}
inline at::Tensor pdist(const at::Tensor& x, double p = 2.0) { return at::pdist(x, p); }
inline at::Tensor pairwise_distance(const at::Tensor& a, const at::Tensor& b,
                                    const PairwiseDistanceFuncOptions& o = {}) {
    return at::pairwise_distance(a, b, o.p(), o.eps(), o.keepdim());
}

using L1LossFuncOptions = L1LossOptions;
using MSELossFuncOptions = MSELossOptions;
using KLDivFuncOptions = KLDivLossOptions;
using SmoothL1LossFuncOptions = SmoothL1LossOptions;
using HuberLossFuncOptions = HuberLossOptions;
using BinaryCrossEntropyFuncOptions = BCELossOptions;
using BinaryCrossEntropyWithLogitsFuncOptions = BCEWithLogitsLossOptions;
using NLLLossFuncOptions = NLLLossOptions;
using CrossEntropyFuncOptions = CrossEntropyLossOptions;
inline at::Tensor l1_loss(const at::Tensor& x, const at::Tensor& y, const L1LossFuncOptions& o = {}) {
    return at::l1_loss(x, y, number_of_reduction(o.reduction()));
}
inline at::Tensor mse_loss(const at::Tensor& x, const at::Tensor& y, const MSELossFuncOptions& o = {}) {
    return at::mse_loss(x, y, number_of_reduction(o.reduction()));
}
inline at::Tensor kl_div(const at::Tensor& x, const at::Tensor& y, const KLDivFuncOptions& o = {}) {
    if (!std::holds_alternative<enumtype::kBatchMean>(o.reduction()))
        return at::kl_div(x, y, number_of_reduction(o.reduction()), o.log_target());
    const at::Tensor sum = at::kl_div(x, y, 2, o.log_target());
    return x.dim() == 0 ? sum : sum / x.size(0);
}
inline at::Tensor smooth_l1_loss(const at::Tensor& x, const at::Tensor& y, const SmoothL1LossFuncOptions& o = {}) {
    return at::smooth_l1_loss(x, y, number_of_reduction(o.reduction()), o.beta().value_or(1.0));
}
inline at::Tensor smooth_l1_loss(const at::Tensor& x, const at::Tensor& y, const SmoothL1LossFuncOptions& o,
                                 double beta) {
    return at::smooth_l1_loss(x, y, number_of_reduction(o.reduction()), beta);
}
inline at::Tensor huber_loss(const at::Tensor& x, const at::Tensor& y, const HuberLossFuncOptions& o = {}) {
    return at::huber_loss(x, y, number_of_reduction(o.reduction()), o.delta());
}
inline at::Tensor binary_cross_entropy(const at::Tensor& x, const at::Tensor& y,
                                       const BinaryCrossEntropyFuncOptions& o = {}) {
    return at::binary_cross_entropy(x, y, given(o.weight()), number_of_reduction(o.reduction()));
}
inline at::Tensor binary_cross_entropy_with_logits(const at::Tensor& x, const at::Tensor& y,
                                                   const BinaryCrossEntropyWithLogitsFuncOptions& o = {}) {
    return at::binary_cross_entropy_with_logits(x, y, given(o.weight()), given(o.pos_weight()),
                                                number_of_reduction(o.reduction()));
}
inline at::Tensor nll_loss(const at::Tensor& x, const at::Tensor& y, const NLLLossFuncOptions& o = {}) {
    return at::nll_loss_nd(x, y, given(o.weight()), number_of_reduction(o.reduction()), o.ignore_index());
}
inline at::Tensor cross_entropy(const at::Tensor& x, const at::Tensor& y, const CrossEntropyFuncOptions& o = {}) {
    return at::cross_entropy_loss(x, y, given(o.weight()), number_of_reduction(o.reduction()), o.ignore_index(),
                                  o.label_smoothing());
}

}  // namespace functional
}  // namespace nn
}  // namespace torch
