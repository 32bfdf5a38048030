// The rest of torch::nn in C++: what test_layers.py compares with torch.nn of Python. Compiled against our headers and,
// with --live, against PyTorch's, unchanged.
#include <torch/extension.h>

#include <sstream>

#include "expect.h"

namespace F = torch::nn::functional;
namespace nn = torch::nn;
using torch::Tensor;
using Tensors = std::vector<Tensor>;

static Tensors pools(const Tensor& x) {  // of sizes (2, 3, 8)
    const Tensor x2 = x.reshape({2, 3, 2, 4}), x3 = x.reshape({2, 3, 2, 2, 2});
    Tensors all;
    const auto both = [&](std::tuple<Tensor, Tensor> pair) {
        all.push_back(std::get<0>(pair));
        all.push_back(std::get<1>(pair));
    };
    all.push_back(nn::MaxPool1d(2)(x));
    all.push_back(nn::AvgPool2d(2)(x2));
    all.push_back(nn::MaxPool3d(2)(x3));
    both(nn::MaxPool1d(2)->forward_with_indices(x));
    both(F::max_pool2d_with_indices(x2, F::MaxPool2dFuncOptions({2, 1})));
    both(nn::AdaptiveMaxPool2d(nn::AdaptiveMaxPool2dOptions({1, 2}))->forward_with_indices(x2));
    all.push_back(nn::AdaptiveAvgPool2d(nn::AdaptiveAvgPool2dOptions({std::nullopt, 2}))(x2));
    all.push_back(nn::AdaptiveAvgPool1d(4)(x));
    all.push_back(nn::AdaptiveAvgPool3d(1)(x3));
    all.push_back(nn::LPPool1d(2, 2)(x));
    all.push_back(nn::LPPool2d(nn::LPPool2dOptions(4, 2).stride(1))(x2));
    all.push_back(F::lp_pool3d(x3.abs(), F::LPPool3dFuncOptions(1.5, 2)));
    const auto [top, places] = nn::MaxPool2d(2)->forward_with_indices(x2);
    all.push_back(nn::MaxUnpool2d(2)(top, places));
    all.push_back(nn::MaxUnpool2d(2)->forward(top, places, std::vector<int64_t>({2, 3, 2, 4})));
    const auto [line, where] = nn::MaxPool1d(2)->forward_with_indices(x);
    all.push_back(F::max_unpool1d(line, where, F::MaxUnpool1dFuncOptions(2)));
    const auto [cube, there] = nn::MaxPool3d(2)->forward_with_indices(x3);
    all.push_back(nn::MaxUnpool3d(2)(cube, there));
    const Tensor samples = torch::full({2, 3, 2}, 0.4, x.options());
    both(nn::FractionalMaxPool2d(nn::FractionalMaxPool2dOptions({1, 2})
                                     .output_size(torch::ExpandingArray<2>({2, 3}))
                                     ._random_samples(samples))
             ->forward_with_indices(x2));
    all.push_back(F::fractional_max_pool2d(x2, F::FractionalMaxPool2dFuncOptions({1, 2})
                                                   .output_ratio(torch::ExpandingArray<2, double>({0.5, 0.5}))
                                                   ._random_samples(samples)));
    all.push_back(nn::ConvTranspose1d(nn::ConvTranspose1dOptions(3, 1, 3).stride(2).bias(false))
                      ->forward(x.to(torch::kFloat), torch::IntArrayRef({18})));
    return all;
}

static Tensors losses(const Tensor& a, const Tensor& b, const Tensor& c) {  // of sizes (4, 5)
    const Tensor side = torch::tensor({1.0, -1.0, 1.0, -1.0}, a.options());
    const Tensor classes = torch::tensor({0, 4, 2, 1}), sides = c.sign();
    const Tensor labels = torch::tensor({{3, 1, -1, 0, 0}, {0, -1, 1, 1, 1}, {1, 2, 3, 4, 0}, {-1, 0, 0, 0, 0}});
    const Tensor weight = torch::arange(1.0, 6.0, a.options());
    Tensors all;
    all.push_back(nn::HingeEmbeddingLoss(nn::HingeEmbeddingLossOptions().margin(2))(a, sides));
    all.push_back(nn::MultiMarginLoss(nn::MultiMarginLossOptions().p(2).margin(0.5).weight(weight))(a, classes));
    all.push_back(nn::MultiLabelMarginLoss(torch::kSum)(a, labels));
    all.push_back(nn::MultiLabelSoftMarginLoss(nn::MultiLabelSoftMarginLossOptions().weight(weight))(a, (b > 0).to(a)));
    all.push_back(nn::SoftMarginLoss(torch::kNone)(a, sides));
    all.push_back(nn::PoissonNLLLoss(nn::PoissonNLLLossOptions().log_input(false).full(true))(a.abs(), 3 * b.abs()));
    all.push_back(nn::CosineEmbeddingLoss(nn::CosineEmbeddingLossOptions().margin(0.1))(a, b, side));
    all.push_back(F::margin_ranking_loss(a, b, sides, F::MarginRankingLossFuncOptions().margin(0.3)));
    all.push_back(nn::TripletMarginLoss(nn::TripletMarginLossOptions().p(1).swap(true))(a, b, c));
    all.push_back(
        nn::TripletMarginWithDistanceLoss(nn::TripletMarginWithDistanceLossOptions().reduction(torch::kSum))(a, b, c));
    all.push_back(nn::TripletMarginWithDistanceLoss(
        nn::TripletMarginWithDistanceLossOptions().swap(true).margin(3).distance_function(
            [](const Tensor& u, const Tensor& v) { return (u - v).abs().amax(-1); }))(a, b, c));
    const Tensor steps = torch::stack({a, b, c}).log_softmax(-1);
    const Tensor lengths = torch::full({4}, 3, torch::kLong);
    all.push_back(nn::CTCLoss(nn::CTCLossOptions().reduction(torch::kSum))(
        steps, torch::tensor({{1, 2}, {3, 4}, {2, 0}, {4, 1}}), lengths, torch::tensor({2, 2, 1, 2})));
    return all;
}

static Tensors layers(const Tensor& x) {  // of sizes (2, 4, 6)
    const Tensor image = x.reshape({2, 4, 2, 3});
    Tensors all;
    all.push_back(nn::Hardshrink(0.3)(x));
    all.push_back(nn::Softshrink(nn::SoftshrinkOptions(0.2))(x));
    all.push_back(F::hardshrink(x));
    all.push_back(F::softshrink(x, 0.4));
    all.push_back(F::threshold(x, F::ThresholdFuncOptions(0.1, 20)));
    nn::RReLU rrelu(nn::RReLUOptions().lower(0.1).upper(0.3));
    rrelu->eval();
    all.push_back(rrelu(x));
    nn::AlphaDropout drop(0.3);
    drop->eval();
    all.push_back(drop(x));
    all.push_back(F::feature_alpha_dropout(x));
    all.push_back(nn::LocalResponseNorm(2)(x));
    all.push_back(nn::LocalResponseNorm(nn::LocalResponseNormOptions(3).alpha(0.5).k(2))(image));
    all.push_back(nn::CrossMapLRN2d(nn::CrossMapLRN2dOptions(3).alpha(0.5).beta(0.6).k(2))(image));
    all.push_back(nn::CrossMapLRN2d(nn::CrossMapLRN2dOptions(4).alpha(0.5))(image));
    all.push_back(F::instance_norm(x, F::InstanceNormFuncOptions().eps(0.1)));
    all.push_back(F::pixel_unshuffle(x.reshape({1, 2, 4, 6}), 2));
    all.push_back(F::pdist(x.reshape({8, 6}), 1));
    all.push_back(nn::Unfold(2)(image));
    all.push_back(nn::Fold(torch::ExpandingArray<2>({3, 4}), torch::ExpandingArray<2>(2))(x));
    Tensor into = torch::empty_like(x);
    F::normalize(x, F::NormalizeFuncOptions().dim(2).out(into));
    all.push_back(into);
    return all;
}

static Tensors bags(const Tensor& table) {  // of sizes (5, 3)
    const Tensor rows = torch::tensor({{0, 2}, {4, 4}, {1, 3}}), line = torch::tensor({0, 2, 4, 1, 2});
    const Tensor starts = torch::tensor({0, 2, 4});
    Tensors all;
    nn::EmbeddingBag own(nn::EmbeddingBagOptions(5, 3).padding_idx(-1).mode(torch::kSum));
    EXPECT(own->options.padding_idx() == 4);
    all.push_back(own->weight.detach());
    all.push_back(nn::EmbeddingBag::from_pretrained(table)(rows));
    all.push_back(nn::EmbeddingBag::from_pretrained(table, nn::EmbeddingBagFromPretrainedOptions().mode(torch::kMax))(
        line, starts));
    all.push_back(F::embedding_bag(
        rows, table, F::EmbeddingBagFuncOptions().mode(torch::kSum).per_sample_weights(torch::ones({3, 2}) * 0.5)));
    EXPECT_THROW(F::embedding_bag(rows, table, F::EmbeddingBagFuncOptions().offsets(starts)), c10::Error,
                 "If input is 2D, then offsets has to be null");
    EXPECT_THROW(F::embedding_bag(line, table), c10::Error, "offsets has to be a 1D Tensor but got null");
    EXPECT_THROW(F::embedding_bag(rows, table, F::EmbeddingBagFuncOptions().mode(torch::kMax).sparse(true)), c10::Error,
                 "max mode does not support sparse weights");
    return all;
}

// Gives a module the values of another's parameters, by their names.
static void take(nn::Module& module, const std::map<std::string, Tensor>& state) {
    torch::NoGradGuard guard;
    auto named = module.named_parameters();
    EXPECT(named.size() == state.size());
    for (auto& p : named) p.value().copy_(state.at(p.key()));
}

static Tensors attention(const std::map<std::string, Tensor>& state, const Tensor& query, const Tensor& key,
                         const Tensor& value, std::optional<Tensor> padding_given, std::optional<Tensor> mask_given,
                         bool kv, bool zero) {
    const Tensor padding = padding_given.value_or(Tensor()), mask = mask_given.value_or(Tensor());
    nn::MultiheadAttention layer(nn::MultiheadAttentionOptions(query.size(2), 2)
                                     .kdim(key.size(2))
                                     .vdim(value.size(2))
                                     .add_bias_kv(kv)
                                     .add_zero_attn(zero));
    take(*layer, state);
    const auto [result, weights] = layer(query, key, value, padding, true, mask);
    EXPECT(!std::get<1>(layer(query, key, value, padding, false)).defined());
    const auto [same, each] = layer(query, key, value, padding, true, mask, false);
    EXPECT(torch::allclose(same, result) &&
           each.sizes() == torch::IntArrayRef({query.size(1), 2, query.size(0), weights.size(2)}));
    return {result, weights};
}

static Tensor transformer(const std::map<std::string, Tensor>& state, const Tensor& src, const Tensor& tgt,
                          const Tensor& padding, bool gelu) {
    nn::TransformerOptions options(4, 2, 2, 1);
    options.dim_feedforward(8).dropout(0.0);
    if (gelu) options.activation(torch::kGELU);
    nn::Transformer net(options);
    take(*net, state);
    const Tensor mask = nn::TransformerImpl::generate_square_subsequent_mask(tgt.size(0)).to(tgt);
    return net(src, tgt, Tensor(), mask, Tensor(), padding);
}

static Tensors adaptive(const std::map<std::string, Tensor>& state, const Tensor& x, const Tensor& target) {
    nn::AdaptiveLogSoftmaxWithLoss layer(
        nn::AdaptiveLogSoftmaxWithLossOptions(x.size(1), 10, {3, 6}).div_value(2.0).head_bias(true));
    take(*layer, state);
    const auto found = layer(x, target);
    EXPECT_THROW(nn::AdaptiveLogSoftmaxWithLoss(4, 10, std::vector<int64_t>({6, 3})), c10::Error,
                 "cutoffs should be a sequence of unique");
    return {found.output, torch::tensor(found.loss), layer->log_prob(x), layer->predict(x)};
}

static void defaults() {
    nn::AnyModule layer(nn::TransformerEncoderLayer(nn::TransformerEncoderLayerOptions(4, 2).dim_feedforward(4)));
    EXPECT(layer.forward(torch::ones({3, 1, 4})).size(2) == 4);
    EXPECT(layer.any_forward(torch::ones({3, 1, 4}), Tensor()).get<Tensor>().size(0) == 3);
    EXPECT_THROW(layer.forward(), c10::Error,
                 "expects at least 1 argument(s) and at most 3 argument(s), but received 0");
    EXPECT_THROW(layer.any_forward(torch::ones({3, 1, 4})).get<int>(), c10::Error, "Attempted to cast AnyValue to int");
    nn::AnyValue value(5);
    EXPECT(value.get<int>() == 5 && value.try_get<double>() == nullptr && value.type_info() == typeid(int));
    nn::Sequential net(nn::Linear(4, 4), nn::TransformerEncoderLayer(nn::TransformerEncoderLayerOptions(4, 2)));
    EXPECT(net->forward(torch::ones({3, 1, 4})).size(0) == 3);
    nn::TransformerEncoder stack(nn::TransformerEncoderOptions(nn::TransformerEncoderLayerOptions(4, 2), 2)
                                     .norm(nn::AnyModule(nn::LayerNorm(nn::LayerNormOptions({4})))));
    EXPECT(stack->layers->size() == 2 && stack->named_parameters().contains("norm.weight"));
    auto copy = std::dynamic_pointer_cast<nn::TransformerEncoderImpl>(stack->clone());
    EXPECT(copy->named_parameters().size() == stack->named_parameters().size());
    {
        torch::NoGradGuard guard;
        for (auto& p : copy->parameters()) p.zero_();
    }
    EXPECT(stack->norm.ptr()->parameters()[0].sum().item<double>() == 4);
    EXPECT(copy->forward(torch::ones({3, 1, 4})).abs().sum().item<double>() == 0);
    nn::AnyModule pair(nn::Bilinear(2, 2, 1));
    EXPECT_THROW(pair.forward(torch::ones({1, 2})), c10::Error,
                 "declared with a corresponding `FORWARD_HAS_DEFAULT_ARGS`");
    const Tensor drawn = F::gumbel_softmax(torch::randn({6, 3}), F::GumbelSoftmaxFuncOptions().hard(true).dim(-1));
    EXPECT(torch::allclose(drawn.sum(-1), torch::ones({6})) && torch::allclose(drawn.amax(-1), torch::ones({6})));
    EXPECT_THROW(nn::FractionalMaxPool2d(3), c10::Error, "requires specifying either an output size");
    EXPECT_THROW(nn::MaxUnpool1d(2)->forward(torch::ones({1, 1, 2}), torch::zeros({1, 1, 2}, torch::kLong),
                                             std::vector<int64_t>({9})),
                 c10::Error, "output_size");
    EXPECT(F::DropoutFuncOptions().training() && !F::AlphaDropoutFuncOptions().training());
}

// Each layer as it is printed, in lines.
static std::string printed() {
    std::ostringstream text;
    const auto add = [&](const auto&... layers) { ((text << layers << '\n'), ...); };
    add(nn::MaxPool2d(nn::MaxPool2dOptions(2).stride(1)), nn::AvgPool1d(3), nn::AdaptiveAvgPool2d(2),
        nn::AdaptiveMaxPool3d(nn::AdaptiveMaxPool3dOptions({1, 2, 3})), nn::AdaptiveAvgPool1d(4), nn::LPPool2d(1.5, 2),
        nn::MaxUnpool2d(2), nn::FractionalMaxPool2d(nn::FractionalMaxPool2dOptions(2).output_size(2)));
    add(nn::Conv2d(nn::Conv2dOptions(4, 6, 3).padding(1).dilation(2).groups(2).bias(false)),
        nn::Conv1d(nn::Conv1dOptions(1, 2, 3).padding(torch::kSame).padding_mode(torch::kCircular)),
        nn::ConvTranspose3d(nn::ConvTranspose3dOptions(1, 2, 3).stride(2).output_padding(1)), nn::Linear(1, 2),
        nn::Bilinear(1, 2, 3), nn::Identity(), nn::Flatten(), nn::Unflatten(1, std::vector<int64_t>({2, 3})),
        nn::Embedding(nn::EmbeddingOptions(4, 3).padding_idx(1).max_norm(2).sparse(true)),
        nn::EmbeddingBag(nn::EmbeddingBagOptions(4, 3).max_norm(2).mode(torch::kSum)));
    add(nn::BatchNorm1d(nn::BatchNormOptions(3).momentum(0.5)), nn::InstanceNorm3d(3),
        nn::LayerNorm(nn::LayerNormOptions({2, 3}).eps(0.1)), nn::GroupNorm(2, 4), nn::LocalResponseNorm(2),
        nn::CrossMapLRN2d(3));
    add(nn::Dropout(0.3), nn::Dropout2d(nn::Dropout2dOptions().inplace(true)), nn::Dropout3d(), nn::AlphaDropout(),
        nn::FeatureAlphaDropout(0.1), nn::Softmax(1), nn::Softmin(1), nn::LogSoftmax(1), nn::Softmax2d(),
        nn::ReLU(nn::ReLUOptions(true)), nn::ReLU(), nn::ReLU6(nn::ReLU6Options(true)), nn::SELU(),
        nn::SELU(nn::SELUOptions(true)), nn::ELU(nn::ELUOptions().alpha(0.5).inplace(true)),
        nn::CELU(nn::CELUOptions().alpha(0.5)), nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.2).inplace(true)),
        nn::RReLU(nn::RReLUOptions().inplace(true)), nn::Hardtanh(nn::HardtanhOptions().min_val(-2).inplace(true)),
        nn::PReLU(), nn::GLU(1), nn::GELU(), nn::SiLU(), nn::Mish(), nn::Sigmoid(), nn::LogSigmoid(), nn::Tanh(),
        nn::Tanhshrink(), nn::Softsign(), nn::Softplus(nn::SoftplusOptions().beta(0.2)), nn::Hardshrink(0.3),
        nn::Softshrink(0.3), nn::Threshold(nn::ThresholdOptions(1, 2).inplace(true)));
    add(nn::ReflectionPad1d(1), nn::ReplicationPad2d(2), nn::ZeroPad2d(1), nn::ConstantPad3d(1, 3.5), nn::Fold(4, 2),
        nn::Unfold(nn::UnfoldOptions(2).padding(1)), nn::PixelShuffle(2), nn::PixelUnshuffle(3),
        nn::Upsample(nn::UpsampleOptions().scale_factor(std::vector<double>({2}))),
        nn::Upsample(nn::UpsampleOptions().size(std::vector<int64_t>({2, 3})).mode(torch::kBilinear)),
        nn::CosineSimilarity(), nn::PairwiseDistance(nn::PairwiseDistanceOptions().p(1)));
    add(nn::L1Loss(), nn::MSELoss(), nn::KLDivLoss(), nn::BCELoss(), nn::BCEWithLogitsLoss(), nn::NLLLoss(),
        nn::CrossEntropyLoss(), nn::SmoothL1Loss(), nn::HuberLoss(), nn::HingeEmbeddingLoss(), nn::MultiMarginLoss(),
        nn::CosineEmbeddingLoss(), nn::MultiLabelMarginLoss(), nn::SoftMarginLoss(), nn::MultiLabelSoftMarginLoss(),
        nn::TripletMarginLoss(), nn::TripletMarginWithDistanceLoss(), nn::CTCLoss(), nn::PoissonNLLLoss(),
        nn::MarginRankingLoss());
    add(nn::RNN(nn::RNNOptions(2, 3).num_layers(2)), nn::LSTM(nn::LSTMOptions(2, 3).proj_size(1)), nn::GRU(2, 3),
        nn::RNNCell(2, 3), nn::LSTMCell(nn::LSTMCellOptions(2, 3).bias(false)), nn::GRUCell(2, 3),
        nn::MultiheadAttention(4, 2), nn::AdaptiveLogSoftmaxWithLoss(8, 10, std::vector<int64_t>({3})),
        nn::TransformerEncoder(nn::TransformerEncoderOptions(nn::TransformerEncoderLayerOptions(4, 2).dropout(0), 1)),
        nn::TransformerDecoderLayer(4, 2), nn::Sequential(nn::Linear(1, 2), nn::ReLU()),
        nn::ModuleList(nn::Linear(1, 2)), nn::Functional(torch::relu));
    return text.str();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("pools", &pools);
    m.def("losses", &losses);
    m.def("layers", &layers);
    m.def("bags", &bags);
    m.def("attention", &attention);
    m.def("transformer", &transformer);
    m.def("adaptive", &adaptive);
    m.def("defaults", &defaults);
    m.def("printed", &printed);
}
