// Layers of torch::nn: modules that hold the parameters of functions in torch::nn::functional, and how these begin.
#pragma once

#include <mindtorch/nn/functional.h>
#include <mindtorch/nn/module.h>
#include <mindtorch/nn/printing.h>

#include <cmath>

namespace torch {
namespace nn {

namespace init {
using FanModeType = std::variant<enumtype::kFanIn, enumtype::kFanOut>;
using NonlinearityType =
    std::variant<enumtype::kLinear, enumtype::kConv1D, enumtype::kConv2D, enumtype::kConv3D, enumtype::kConvTranspose1D,
                 enumtype::kConvTranspose2D, enumtype::kConvTranspose3D, enumtype::kSigmoid, enumtype::kTanh,
                 enumtype::kReLU, enumtype::kLeakyReLU>;

inline double calculate_gain(NonlinearityType f, double slope = 0.01) {
    if (std::holds_alternative<enumtype::kTanh>(f)) return 5.0 / 3.0;
    if (std::holds_alternative<enumtype::kReLU>(f)) return std::sqrt(2.0);
    if (std::holds_alternative<enumtype::kLeakyReLU>(f)) return std::sqrt(2.0 / (1 + slope * slope));
    return 1.0;
}
inline std::tuple<int64_t, int64_t> _calculate_fan_in_and_fan_out(const at::Tensor& t) {
    TORCH_CHECK(t.dim() >= 2, "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions");
    const int64_t field = t.dim() > 2 ? t[0][0].numel() : 1;
    return {t.size(1) * field, t.size(0) * field};
}
inline at::Tensor constant_(at::Tensor t, at::Scalar value) {
    c10::NoGradGuard guard;
    return t.fill_(value);
}
inline at::Tensor zeros_(at::Tensor t) { return constant_(std::move(t), 0); }
inline at::Tensor ones_(at::Tensor t) { return constant_(std::move(t), 1); }
inline at::Tensor uniform_(at::Tensor t, double low = 0, double high = 1) {
    c10::NoGradGuard guard;
    return t.uniform_(low, high);
}
inline at::Tensor normal_(at::Tensor t, double mean = 0, double std = 1) {
    c10::NoGradGuard guard;
    return t.normal_(mean, std);
}
inline at::Tensor eye_(at::Tensor t) {
    c10::NoGradGuard guard;
    TORCH_CHECK(t.dim() == 2, "Only tensors with 2 dimensions are supported");
    return t.copy_(at::eye(t.size(0), t.size(1)));
}
inline at::Tensor xavier_uniform_(at::Tensor t, double gain = 1.0) {
    const auto [in, out] = _calculate_fan_in_and_fan_out(t);
    const double bound = std::sqrt(3.0) * gain * std::sqrt(2.0 / static_cast<double>(in + out));
    return uniform_(std::move(t), -bound, bound);
}
inline at::Tensor xavier_normal_(at::Tensor t, double gain = 1.0) {
    const auto [in, out] = _calculate_fan_in_and_fan_out(t);
    return normal_(std::move(t), 0, gain * std::sqrt(2.0 / static_cast<double>(in + out)));
}
inline double kaiming_std(const at::Tensor& t, double a, const FanModeType& mode, const NonlinearityType& f) {
    const auto [in, out] = _calculate_fan_in_and_fan_out(t);
    const int64_t fan = std::holds_alternative<enumtype::kFanIn>(mode) ? in : out;
    return calculate_gain(f, a) / std::sqrt(static_cast<double>(fan));
}
inline at::Tensor kaiming_uniform_(at::Tensor t, double a = 0, FanModeType mode = kFanIn,
                                   NonlinearityType f = kLeakyReLU) {
    const double bound = std::sqrt(3.0) * kaiming_std(t, a, mode, f);
    return uniform_(std::move(t), -bound, bound);
}
inline at::Tensor kaiming_normal_(at::Tensor t, double a = 0, FanModeType mode = kFanIn,
                                  NonlinearityType f = kLeakyReLU) {
    const double std = kaiming_std(t, a, mode, f);
    return normal_(std::move(t), 0, std);
}
}  // namespace init

// A layer without parameters: its function of one tensor, with options.
#define MINDTORCH_FUNCTION_LAYER(Name, Options, call)                 \
    class Name##Impl : public Cloneable<Name##Impl> {                 \
      public:                                                         \
        explicit Name##Impl(const Options& given) : options(given) {} \
        void reset() override {}                                      \
        MINDTORCH_PRETTY_PRINT(Name)                                  \
        at::Tensor forward(const at::Tensor& x) { return call; }      \
        Options options;                                              \
    };                                                                \
    TORCH_MODULE(Name)
// The same of one whose options all have defaults.
#define MINDTORCH_DEFAULT_LAYER(Name, Options, call)                       \
    class Name##Impl : public Cloneable<Name##Impl> {                      \
      public:                                                              \
        explicit Name##Impl(const Options& given = {}) : options(given) {} \
        void reset() override {}                                           \
        MINDTORCH_PRETTY_PRINT(Name)                                       \
        at::Tensor forward(const at::Tensor& x) { return call; }           \
        Options options;                                                   \
    };                                                                     \
    TORCH_MODULE(Name)
struct NoOptions {};
using SoftminOptions = SoftmaxOptions;
class ThresholdImpl : public Cloneable<ThresholdImpl> {
  public:
    ThresholdImpl(double threshold, double value) : ThresholdImpl(ThresholdOptions(threshold, value)) {}
    explicit ThresholdImpl(const ThresholdOptions& given) : options(given) {}
    void reset() override {}
    MINDTORCH_PRETTY_PRINT(Threshold)
    at::Tensor forward(at::Tensor x) { return functional::threshold(std::move(x), options); }
    ThresholdOptions options;
};
TORCH_MODULE(Threshold);
struct PReLUOptions {
    TORCH_ARG(int64_t, num_parameters) = 1;
    TORCH_ARG(double, init) = 0.25;
};
class PReLUImpl : public Cloneable<PReLUImpl> {
  public:
    explicit PReLUImpl(const PReLUOptions& given = {}) : options(given) { PReLUImpl::reset(); }
    void reset() override {
        weight = register_parameter("weight", at::full({options.num_parameters()}, options.init()));
    }
    void pretty_print(std::ostream& stream) const override {
        stream << "torch::nn::PReLU(num_parameters=" << options.num_parameters() << ")";
    }
    at::Tensor forward(const at::Tensor& x) { return at::prelu(x, weight); }
    PReLUOptions options;
    at::Tensor weight;
};
TORCH_MODULE(PReLU);
MINDTORCH_DEFAULT_LAYER(ReLU, ReLUOptions, functional::relu(x, options));
MINDTORCH_DEFAULT_LAYER(ReLU6, ReLU6Options, functional::relu6(x, options));
MINDTORCH_DEFAULT_LAYER(SELU, SELUOptions, functional::selu(x, options));
MINDTORCH_DEFAULT_LAYER(ELU, ELUOptions, functional::elu(x, options));
MINDTORCH_DEFAULT_LAYER(CELU, CELUOptions, functional::celu(x, options));
MINDTORCH_DEFAULT_LAYER(LeakyReLU, LeakyReLUOptions, functional::leaky_relu(x, options));
MINDTORCH_DEFAULT_LAYER(Hardtanh, HardtanhOptions, functional::hardtanh(x, options));
MINDTORCH_DEFAULT_LAYER(Softplus, SoftplusOptions, functional::softplus(x, options));
MINDTORCH_DEFAULT_LAYER(GELU, GELUOptions, functional::gelu(x, options));
MINDTORCH_DEFAULT_LAYER(GLU, GLUOptions, functional::glu(x, options));
MINDTORCH_DEFAULT_LAYER(Hardshrink, HardshrinkOptions, functional::hardshrink(x, options));
MINDTORCH_DEFAULT_LAYER(Softshrink, SoftshrinkOptions, functional::softshrink(x, options));
MINDTORCH_DEFAULT_LAYER(RReLU, RReLUOptions,
                        functional::rrelu(x, functional::RReLUFuncOptions()
                                                 .lower(options.lower())
                                                 .upper(options.upper())
                                                 .training(is_training())
                                                 .inplace(options.inplace())));
MINDTORCH_DEFAULT_LAYER(SiLU, NoOptions, at::silu(x));
MINDTORCH_DEFAULT_LAYER(Mish, NoOptions, at::mish(x));
MINDTORCH_DEFAULT_LAYER(Sigmoid, NoOptions, at::sigmoid(x));
MINDTORCH_DEFAULT_LAYER(LogSigmoid, NoOptions, at::log_sigmoid(x));
MINDTORCH_DEFAULT_LAYER(Tanh, NoOptions, at::tanh(x));
MINDTORCH_DEFAULT_LAYER(Softsign, NoOptions, functional::softsign(x));
MINDTORCH_FUNCTION_LAYER(Softmax, SoftmaxOptions, at::softmax(x, options.dim()));
MINDTORCH_FUNCTION_LAYER(LogSoftmax, LogSoftmaxOptions, at::log_softmax(x, options.dim()));
MINDTORCH_FUNCTION_LAYER(Softmin, SoftminOptions, at::softmax(-x, options.dim()));
MINDTORCH_DEFAULT_LAYER(Softmax2d, NoOptions, at::softmax(x, -3));
MINDTORCH_DEFAULT_LAYER(Tanhshrink, NoOptions, functional::tanhshrink(x));
// A layer of a window: its options from the sizes that they need.
#define MINDTORCH_WINDOW_LAYER(Name, Options, Size, call, more)                          \
    class Name##Impl : public Cloneable<Name##Impl> {                                    \
      public:                                                                            \
        Name##Impl(Size size) : Name##Impl(Options(size)) {}                             \
        explicit Name##Impl(const Options& given) : options(given) {}                    \
        void reset() override {}                                                         \
        MINDTORCH_PRETTY_PRINT(Name)                                                     \
        at::Tensor forward(const at::Tensor& x) { return functional::call(x, options); } \
        more Options options;                                                            \
    };                                                                                   \
    TORCH_MODULE(Name)
#define MINDTORCH_WITH_INDICES(call)                                               \
    std::tuple<at::Tensor, at::Tensor> forward_with_indices(const at::Tensor& x) { \
        return functional::call##_with_indices(x, options);                        \
    }
class FoldImpl : public Cloneable<FoldImpl> {
  public:
    FoldImpl(ExpandingArray<2> output_size, ExpandingArray<2> kernel_size)
        : FoldImpl(FoldOptions(output_size, kernel_size)) {}
    explicit FoldImpl(const FoldOptions& given) : options(given) {}
    void reset() override {}
    MINDTORCH_PRETTY_PRINT(Fold)
    at::Tensor forward(const at::Tensor& x) { return functional::fold(x, options); }
    FoldOptions options;
};
TORCH_MODULE(Fold);
MINDTORCH_WINDOW_LAYER(Unfold, UnfoldOptions, ExpandingArray<2>, unfold, );
#define MINDTORCH_POOLS(D)                                                                              \
    using MaxPool##D##dOptions = MaxPoolOptions<D>;                                                     \
    using AvgPool##D##dOptions = AvgPoolOptions<D>;                                                     \
    using AdaptiveAvgPool##D##dOptions = AdaptivePoolOptions<D>;                                        \
    using AdaptiveMaxPool##D##dOptions = AdaptivePoolOptions<D>;                                        \
    MINDTORCH_WINDOW_LAYER(MaxPool##D##d, MaxPoolOptions<D>, ExpandingArray<D>, max_pool##D##d,         \
                           MINDTORCH_WITH_INDICES(max_pool##D##d));                                     \
    MINDTORCH_WINDOW_LAYER(AvgPool##D##d, AvgPoolOptions<D>, ExpandingArray<D>, avg_pool##D##d, );      \
    MINDTORCH_WINDOW_LAYER(AdaptiveAvgPool##D##d, AdaptivePoolOptions<D>, AdaptivePoolOptions<D>::Size, \
                           adaptive_avg_pool##D##d, );                                                  \
    MINDTORCH_WINDOW_LAYER(AdaptiveMaxPool##D##d, AdaptivePoolOptions<D>, AdaptivePoolOptions<D>::Size, \
                           adaptive_max_pool##D##d, MINDTORCH_WITH_INDICES(adaptive_max_pool##D##d))
MINDTORCH_POOLS(1);
MINDTORCH_POOLS(2);
MINDTORCH_POOLS(3);
#undef MINDTORCH_POOLS
#undef MINDTORCH_WITH_INDICES
#undef MINDTORCH_WINDOW_LAYER

using Dropout2dOptions = DropoutOptions;
using Dropout3dOptions = DropoutOptions;
using AlphaDropoutOptions = DropoutOptions;
using FeatureAlphaDropoutOptions = DropoutOptions;
#define MINDTORCH_DROPOUT_LAYER(Name, function) \
    MINDTORCH_DEFAULT_LAYER(                    \
        Name, DropoutOptions,                   \
        functional::function(                   \
            x, functional::Name##FuncOptions().p(options.p()).training(is_training()).inplace(options.inplace())))
MINDTORCH_DROPOUT_LAYER(Dropout, dropout);
MINDTORCH_DROPOUT_LAYER(Dropout2d, dropout2d);
MINDTORCH_DROPOUT_LAYER(Dropout3d, dropout3d);
MINDTORCH_DROPOUT_LAYER(AlphaDropout, alpha_dropout);
MINDTORCH_DROPOUT_LAYER(FeatureAlphaDropout, feature_alpha_dropout);
#undef MINDTORCH_DROPOUT_LAYER

struct FlattenOptions {
    TORCH_ARG(int64_t, start_dim) = 1;
    TORCH_ARG(int64_t, end_dim) = -1;
};
inline void show(Printed& p, const FlattenOptions& o) { p.add("start_dim", o.start_dim()).add("end_dim", o.end_dim()); }
MINDTORCH_DEFAULT_LAYER(Flatten, FlattenOptions, x.flatten(options.start_dim(), options.end_dim()));
#undef MINDTORCH_DEFAULT_LAYER
#undef MINDTORCH_FUNCTION_LAYER

class IdentityImpl : public Cloneable<IdentityImpl> {
  public:
    void reset() override {}
    void pretty_print(std::ostream& stream) const override { stream << "torch::nn::Identity()"; }
    at::Tensor forward(const at::Tensor& x) { return x; }
};
TORCH_MODULE(Identity);

// A loss of two tensors.
#define MINDTORCH_LOSS_LAYER(Name, function)                                                                         \
    class Name##Impl : public Cloneable<Name##Impl> {                                                                \
      public:                                                                                                        \
        explicit Name##Impl(Name##Options given = {}) : options(std::move(given)) {}                                 \
        void reset() override {}                                                                                     \
        MINDTORCH_PRETTY_PRINT(Name)                                                                                 \
        at::Tensor forward(const at::Tensor& x, const at::Tensor& y) { return functional::function(x, y, options); } \
        Name##Options options;                                                                                       \
    };                                                                                                               \
    TORCH_MODULE(Name)
MINDTORCH_LOSS_LAYER(L1Loss, l1_loss);
MINDTORCH_LOSS_LAYER(MSELoss, mse_loss);
MINDTORCH_LOSS_LAYER(KLDivLoss, kl_div);
MINDTORCH_LOSS_LAYER(SmoothL1Loss, smooth_l1_loss);
MINDTORCH_LOSS_LAYER(HuberLoss, huber_loss);
MINDTORCH_LOSS_LAYER(BCELoss, binary_cross_entropy);
MINDTORCH_LOSS_LAYER(BCEWithLogitsLoss, binary_cross_entropy_with_logits);
MINDTORCH_LOSS_LAYER(NLLLoss, nll_loss);
MINDTORCH_LOSS_LAYER(CrossEntropyLoss, cross_entropy);
MINDTORCH_LOSS_LAYER(CosineSimilarity, cosine_similarity);
MINDTORCH_LOSS_LAYER(PairwiseDistance, pairwise_distance);
#undef MINDTORCH_LOSS_LAYER

struct LinearOptions {
    LinearOptions(int64_t in_features, int64_t out_features) : in_features_(in_features), out_features_(out_features) {}
    TORCH_ARG(int64_t, in_features);
    TORCH_ARG(int64_t, out_features);
    TORCH_ARG(bool, bias) = true;
};
class LinearImpl : public Cloneable<LinearImpl> {
  public:
    LinearImpl(int64_t in, int64_t out) : LinearImpl(LinearOptions(in, out)) {}
    explicit LinearImpl(const LinearOptions& given) : options(given) { LinearImpl::reset(); }
    void reset() override {
        weight = register_parameter("weight", at::empty({options.out_features(), options.in_features()}));
        bias = register_parameter("bias", options.bias() ? at::empty({options.out_features()}) : at::Tensor());
        reset_parameters();
    }
    void reset_parameters() {
        init::kaiming_uniform_(weight, std::sqrt(5));
        if (bias.defined()) {
            const double bound = 1 / std::sqrt(static_cast<double>(options.in_features()));
            init::uniform_(bias, -bound, bound);
        }
    }
    void pretty_print(std::ostream& stream) const override {
        stream << std::boolalpha << "torch::nn::Linear(in_features=" << options.in_features()
               << ", out_features=" << options.out_features() << ", bias=" << options.bias() << ")";
    }
    at::Tensor forward(const at::Tensor& x) { return functional::linear(x, weight, bias); }
    LinearOptions options;
    at::Tensor weight, bias;
};
TORCH_MODULE(Linear);

struct BilinearOptions {
    BilinearOptions(int64_t in1, int64_t in2, int64_t out)
        : in1_features_(in1), in2_features_(in2), out_features_(out) {}
    TORCH_ARG(int64_t, in1_features);
    TORCH_ARG(int64_t, in2_features);
    TORCH_ARG(int64_t, out_features);
    TORCH_ARG(bool, bias) = true;
};
class BilinearImpl : public Cloneable<BilinearImpl> {
  public:
    BilinearImpl(int64_t in1, int64_t in2, int64_t out) : BilinearImpl(BilinearOptions(in1, in2, out)) {}
    explicit BilinearImpl(const BilinearOptions& given) : options(given) { BilinearImpl::reset(); }
    void reset() override {
        weight = register_parameter(
            "weight", at::empty({options.out_features(), options.in1_features(), options.in2_features()}));
        bias = register_parameter("bias", options.bias() ? at::empty({options.out_features()}) : at::Tensor());
        reset_parameters();
    }
    void reset_parameters() {
        const double bound = 1 / std::sqrt(static_cast<double>(weight.size(1)));
        init::uniform_(weight, -bound, bound);
        if (bias.defined()) init::uniform_(bias, -bound, bound);
    }
    void pretty_print(std::ostream& stream) const override {
        Printed p(stream, "Bilinear");
        p.add("in1_features", options.in1_features()).add("in2_features", options.in2_features());
        p.add("out_features", options.out_features()).add("bias", options.bias());
    }
    at::Tensor forward(const at::Tensor& a, const at::Tensor& b) { return functional::bilinear(a, b, weight, bias); }
    BilinearOptions options;
    at::Tensor weight, bias;
};
TORCH_MODULE(Bilinear);

struct EmbeddingFromPretrainedOptions {
    TORCH_ARG(bool, freeze) = true;
    TORCH_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
    TORCH_ARG(std::optional<double>, max_norm) = std::nullopt;
    TORCH_ARG(double, norm_type) = 2.;
    TORCH_ARG(bool, scale_grad_by_freq) = false;
    TORCH_ARG(bool, sparse) = false;
};
// Of a table of embeddings: the row that stays zero, counted from the start.
inline std::optional<int64_t> place_in_table(std::optional<int64_t> place, int64_t rows) {
    if (!place) return place;
    TORCH_CHECK(*place < rows && *place >= -rows, "Padding_idx must be within num_embeddings");
    return *place < 0 ? *place + rows : *place;
}
template <class Options>
at::Tensor register_table(Module& module, const Options& options) {
    const std::vector<int64_t> sizes{options.num_embeddings(), options.embedding_dim()};
    const at::Tensor& given = options._weight();
    TORCH_CHECK(!given.defined() || given.sizes() == at::IntArrayRef(sizes),
                "Shape of _weight does not match num_embeddings and embedding_dim");
    return module.register_parameter("weight", given.defined() ? given : at::empty(sizes));
}
template <class Options>
void show_table(Printed& p, const Options& o, std::optional<int64_t> padding) {
    p.add("num_embeddings", o.num_embeddings()).add("embedding_dim", o.embedding_dim());
    p.if_given("padding_idx", padding).if_given("max_norm", o.max_norm());
    if (o.norm_type() != 2) p.add("norm_type", o.norm_type());
    p.if_on("scale_grad_by_freq", o.scale_grad_by_freq()).if_on("sparse", o.sparse());
}
inline void start_table(at::Tensor weight, std::optional<int64_t> padding) {
    init::normal_(weight);
    c10::NoGradGuard guard;
    if (padding) weight[*padding].fill_(0);
}
struct EmbeddingOptions {
    EmbeddingOptions(int64_t num_embeddings, int64_t embedding_dim)
        : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
    TORCH_ARG(int64_t, num_embeddings);
    TORCH_ARG(int64_t, embedding_dim);
    TORCH_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
    TORCH_ARG(std::optional<double>, max_norm) = std::nullopt;
    TORCH_ARG(double, norm_type) = 2.;
    TORCH_ARG(bool, scale_grad_by_freq) = false;
    TORCH_ARG(bool, sparse) = false;
    TORCH_ARG(at::Tensor, _weight) = {};
};
class EmbeddingImpl : public Cloneable<EmbeddingImpl> {
  public:
    EmbeddingImpl(int64_t rows, int64_t columns) : EmbeddingImpl(EmbeddingOptions(rows, columns)) {}
    explicit EmbeddingImpl(EmbeddingOptions given) : options(std::move(given)) { EmbeddingImpl::reset(); }
    void reset() override {
        options.padding_idx(place_in_table(options.padding_idx(), options.num_embeddings()));
        weight = register_table(*this, options);
        if (!options._weight().defined()) reset_parameters();
    }
    void reset_parameters() { start_table(weight, options.padding_idx()); }
    void pretty_print(std::ostream& stream) const override {
        Printed p(stream, "Embedding");
        show_table(p, options, options.padding_idx());
    }
    at::Tensor forward(const at::Tensor& x) {
        return functional::embedding(x, weight,
                                     functional::EmbeddingFuncOptions()
                                         .padding_idx(options.padding_idx())
                                         .max_norm(options.max_norm())
                                         .norm_type(options.norm_type())
                                         .scale_grad_by_freq(options.scale_grad_by_freq())
                                         .sparse(options.sparse()));
    }
    EmbeddingOptions options;
    at::Tensor weight;
};
class Embedding : public ModuleHolder<EmbeddingImpl> {
  public:
    using ModuleHolder<EmbeddingImpl>::ModuleHolder;
    static Embedding from_pretrained(const at::Tensor& table, const EmbeddingFromPretrainedOptions& o = {}) {
        TORCH_CHECK(table.dim() == 2, "Embeddings parameter is expected to be 2-dimensional");
        Embedding made(EmbeddingOptions(table.size(0), table.size(1))
                           ._weight(table)
                           .padding_idx(o.padding_idx())
                           .max_norm(o.max_norm())
                           .norm_type(o.norm_type())
                           .scale_grad_by_freq(o.scale_grad_by_freq())
                           .sparse(o.sparse()));
        made->weight.requires_grad_(!o.freeze());
        return made;
    }
};

template <size_t D>
struct ConvOptions {
    using padding_mode_t =
        std::variant<enumtype::kZeros, enumtype::kReflect, enumtype::kReplicate, enumtype::kCircular>;
    using padding_t = typename functional::ConvFuncOptions<D>::padding_t;
    ConvOptions(int64_t in, int64_t out, ExpandingArray<D> size)
        : in_channels_(in), out_channels_(out), kernel_size_(size) {}
    TORCH_ARG(int64_t, in_channels);
    TORCH_ARG(int64_t, out_channels);
    TORCH_ARG(ExpandingArray<D>, kernel_size);
    TORCH_ARG(ExpandingArray<D>, stride) = 1;
    TORCH_ARG(padding_t, padding) = ExpandingArray<D>(0);
    TORCH_ARG(ExpandingArray<D>, dilation) = 1;
    TORCH_ARG(int64_t, groups) = 1;
    TORCH_ARG(bool, bias) = true;
    TORCH_ARG(padding_mode_t, padding_mode) = kZeros;

  public:
    static constexpr bool transposed = false;
};
template <size_t D>
struct ConvTransposeOptions {
    ConvTransposeOptions(int64_t in, int64_t out, ExpandingArray<D> size)
        : in_channels_(in), out_channels_(out), kernel_size_(size) {}
    TORCH_ARG(int64_t, in_channels);
    TORCH_ARG(int64_t, out_channels);
    TORCH_ARG(ExpandingArray<D>, kernel_size);
    TORCH_ARG(ExpandingArray<D>, stride) = 1;
    TORCH_ARG(ExpandingArray<D>, padding) = 0;
    TORCH_ARG(ExpandingArray<D>, output_padding) = 0;
    TORCH_ARG(int64_t, groups) = 1;
    TORCH_ARG(bool, bias) = true;
    TORCH_ARG(ExpandingArray<D>, dilation) = 1;
    TORCH_ARG(typename ConvOptions<D>::padding_mode_t, padding_mode) = kZeros;

  public:
    static constexpr bool transposed = true;
};

// The parameters of convolutions; Derived has the function.
template <class Derived, class Options>
class ConvBase : public Cloneable<Derived> {
  public:
    explicit ConvBase(Options given) : options(std::move(given)) { ConvBase::reset(); }
    void reset() override {
        TORCH_CHECK(options.in_channels() > 0 && options.groups() > 0 && options.out_channels() > 0,
                    "in_channels, groups and out_channels must be a positive integer.");
        TORCH_CHECK(options.in_channels() % options.groups() == 0, "in_channels must be divisible by groups");
        TORCH_CHECK(options.out_channels() % options.groups() == 0, "out_channels must be divisible by groups");
        int64_t first = options.out_channels(), second = options.in_channels();
        if (Options::transposed) std::swap(first, second);
        std::vector<int64_t> sizes{first, second / options.groups()};
        sizes.insert(sizes.end(), options.kernel_size()->begin(), options.kernel_size()->end());
        weight = this->register_parameter("weight", at::empty(sizes));
        bias = this->register_parameter("bias", options.bias() ? at::empty({options.out_channels()}) : at::Tensor());
        reset_parameters();
    }
    void reset_parameters() {
        init::kaiming_uniform_(weight, std::sqrt(5));
        if (bias.defined()) {
            const double bound =
                1 / std::sqrt(static_cast<double>(std::get<0>(init::_calculate_fan_in_and_fan_out(weight))));
            init::uniform_(bias, -bound, bound);
        }
    }
    void print_as(std::ostream& stream, const char* name) const {
        const Options& o = options;
        Printed p(stream, name);
        p.add(nullptr, o.in_channels()).add(nullptr, o.out_channels());
        p.add("kernel_size", o.kernel_size()).add("stride", o.stride());
        if constexpr (Options::transposed) {
            p.unless("padding", o.padding(), 0).unless("dilation", o.dilation(), 1);
            p.unless("output_padding", o.output_padding(), 0);
        } else {
            if (const auto* sizes = std::get_if<0>(&o.padding()))
                p.unless("padding", *sizes, 0);
            else
                p.field("padding") << (o.padding().index() == 1 ? "'valid'" : "'same'");
            p.unless("dilation", o.dilation(), 1);
        }
        if (o.groups() != 1) p.add("groups", o.groups());
        if (!o.bias()) p.add("bias", false);
        if (o.padding_mode().index() != 0) p.field("padding_mode") << enumtype::get_enum_name(o.padding_mode());
    }
    Options options;
    at::Tensor weight, bias;
};
#define MINDTORCH_CONV_LAYERS(D)                                                                                       \
    using Conv##D##dOptions = ConvOptions<D>;                                                                          \
    class Conv##D##dImpl : public ConvBase<Conv##D##dImpl, ConvOptions<D>> {                                           \
      public:                                                                                                          \
        Conv##D##dImpl(int64_t in, int64_t out, ExpandingArray<D> size) : ConvBase(ConvOptions<D>(in, out, size)) {}   \
        explicit Conv##D##dImpl(ConvOptions<D> given) : ConvBase(std::move(given)) {}                                  \
        void pretty_print(std::ostream& stream) const override { this->print_as(stream, "Conv" #D "d"); }              \
        at::Tensor forward(const at::Tensor& x) {                                                                      \
            functional::Conv##D##dFuncOptions o;                                                                       \
            o.bias(bias).stride(options.stride()).dilation(options.dilation()).groups(options.groups());               \
            const auto* sizes = std::get_if<ExpandingArray<D>>(&options.padding());                                    \
            if (std::holds_alternative<enumtype::kZeros>(options.padding_mode()))                                      \
                return functional::conv##D##d(x, weight, o.padding(options.padding()));                                \
            return functional::conv##D##d(padded<D>(x, sizes, options), weight, o);                                    \
        }                                                                                                              \
    };                                                                                                                 \
    TORCH_MODULE(Conv##D##d);                                                                                          \
    using ConvTranspose##D##dOptions = ConvTransposeOptions<D>;                                                        \
    class ConvTranspose##D##dImpl : public ConvBase<ConvTranspose##D##dImpl, ConvTransposeOptions<D>> {                \
      public:                                                                                                          \
        ConvTranspose##D##dImpl(int64_t in, int64_t out, ExpandingArray<D> size)                                       \
            : ConvBase(ConvTransposeOptions<D>(in, out, size)) {}                                                      \
        explicit ConvTranspose##D##dImpl(ConvTransposeOptions<D> given) : ConvBase(std::move(given)) {}                \
        void pretty_print(std::ostream& stream) const override { this->print_as(stream, "ConvTranspose" #D "d"); }     \
        at::Tensor forward(const at::Tensor& x, const std::optional<at::IntArrayRef>& output_size = std::nullopt) {    \
            TORCH_CHECK(std::holds_alternative<enumtype::kZeros>(options.padding_mode()),                              \
                        "Only `zeros` padding mode is supported for ConvTranspose" #D "d");                            \
            return at::conv_transpose##D##d(x, weight, functional::given(bias), options.stride(), options.padding(),   \
                                            added_for(x, output_size, options), options.groups(), options.dilation()); \
        }                                                                                                              \
                                                                                                                       \
      protected:                                                                                                       \
        FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(std::optional<at::IntArrayRef>())})                                      \
    };                                                                                                                 \
    TORCH_MODULE(ConvTranspose##D##d)

// The input of a convolution whose borders are not zeros.
template <size_t D>
at::Tensor padded(const at::Tensor& x, const ExpandingArray<D>* sizes, const ConvOptions<D>& o) {
    std::vector<int64_t> pad;
    for (size_t i = D; i-- > 0;) {
        int64_t before = sizes ? (*sizes)[i] : 0, after = before;
        if (std::holds_alternative<enumtype::kSame>(o.padding())) {
            const int64_t total = o.dilation()[i] * (o.kernel_size()[i] - 1);
            before = total / 2, after = total - before;
        }
        pad.push_back(before);
        pad.push_back(after);
    }
    static constexpr const char* names[] = {"constant", "reflect", "replicate", "circular"};
    return at::pad(x, pad, names[o.padding_mode().index()]);
}
// The rows that a transposed convolution adds at the ends, so that its result has the size asked for.
template <size_t D>
std::array<int64_t, D> added_for(const at::Tensor& x, const std::optional<at::IntArrayRef>& asked,
                                 const ConvTransposeOptions<D>& o) {
    if (!asked) return *o.output_padding();
    const bool whole = asked->size() == D + 2;
    TORCH_CHECK(whole || asked->size() == D, "output_size must have ", D, " or ", D + 2, " elements (got ",
                asked->size(), ")");
    std::array<int64_t, D> added{};
    for (size_t d = 0; d < D; d++) {
        const int64_t size = (*asked)[whole ? d + 2 : d];
        const int64_t least = (x.size(static_cast<int64_t>(d) - static_cast<int64_t>(D)) - 1) * o.stride()[d] -
                              2 * o.padding()[d] + o.dilation()[d] * (o.kernel_size()[d] - 1) + 1;
        TORCH_CHECK(size >= least && size <= least + o.stride()[d] - 1, "requested an output size of ", *asked,
                    ", but valid sizes in dimension ", d, " range from ", least, " to ", least + o.stride()[d] - 1,
                    " (for an input of ", x.sizes().slice(2), ")");
        added[d] = size - least;
    }
    return added;
}
MINDTORCH_CONV_LAYERS(1);
MINDTORCH_CONV_LAYERS(2);
MINDTORCH_CONV_LAYERS(3);
#undef MINDTORCH_CONV_LAYERS

}  // namespace nn
}  // namespace torch
