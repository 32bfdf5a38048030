// Losses of torch::nn by margins, of sequences and of counts; those of one distance are with the layers.
#pragma once

#include <mindtorch/nn/functional.h>
#include <mindtorch/nn/module.h>
#include <mindtorch/nn/printing.h>

namespace torch {
namespace nn {

struct HingeEmbeddingLossOptions {
    using reduction_t = nn::reduction_t;
    TORCH_ARG(double, margin) = 1.0;
    TORCH_ARG(reduction_t, reduction) = kMean;
};
struct MultiMarginLossOptions {
    using reduction_t = nn::reduction_t;
    TORCH_ARG(int64_t, p) = 1;
    TORCH_ARG(double, margin) = 1.0;
    TORCH_ARG(at::Tensor, weight) = {};
    TORCH_ARG(reduction_t, reduction) = kMean;
};
struct MultiLabelSoftMarginLossOptions {
    using reduction_t = nn::reduction_t;
    TORCH_ARG(at::Tensor, weight) = {};
    TORCH_ARG(reduction_t, reduction) = kMean;
};
struct CosineEmbeddingLossOptions {
    using reduction_t = nn::reduction_t;
    TORCH_ARG(double, margin) = 0.0;
    TORCH_ARG(reduction_t, reduction) = kMean;
};
struct MarginRankingLossOptions {
    using reduction_t = nn::reduction_t;
    TORCH_ARG(double, margin) = 0.0;
    TORCH_ARG(reduction_t, reduction) = kMean;
};
struct TripletMarginLossOptions {
    using reduction_t = nn::reduction_t;
    TORCH_ARG(double, margin) = 1.0;
    TORCH_ARG(double, p) = 2.0;
    TORCH_ARG(double, eps) = 1e-6;
    TORCH_ARG(bool, swap) = false;
    TORCH_ARG(reduction_t, reduction) = kMean;
};
struct TripletMarginWithDistanceLossOptions {
    using reduction_t = nn::reduction_t;
    using distance_function_t = std::function<at::Tensor(const at::Tensor&, const at::Tensor&)>;
    TORCH_ARG(std::optional<distance_function_t>, distance_function) = std::nullopt;
    TORCH_ARG(double, margin) = 1.0;
    TORCH_ARG(bool, swap) = false;
    TORCH_ARG(reduction_t, reduction) = kMean;
};
struct PoissonNLLLossOptions {
    using reduction_t = nn::reduction_t;
    TORCH_ARG(bool, log_input) = true;
    TORCH_ARG(bool, full) = false;
    TORCH_ARG(double, eps) = 1e-8;
    TORCH_ARG(reduction_t, reduction) = kMean;
};
struct CTCLossOptions {
    using reduction_t = nn::reduction_t;
    TORCH_ARG(int64_t, blank) = 0;
    TORCH_ARG(reduction_t, reduction) = kMean;
    TORCH_ARG(bool, zero_infinity) = false;
};

namespace functional {

using SoftMarginLossFuncOptions = SoftMarginLossOptions;
using MultilabelMarginLossFuncOptions = MultiLabelMarginLossOptions;
using MultilabelSoftMarginLossFuncOptions = MultiLabelSoftMarginLossOptions;
using HingeEmbeddingLossFuncOptions = HingeEmbeddingLossOptions;
using MultiMarginLossFuncOptions = MultiMarginLossOptions;
using CosineEmbeddingLossFuncOptions = CosineEmbeddingLossOptions;
using MarginRankingLossFuncOptions = MarginRankingLossOptions;
using TripletMarginLossFuncOptions = TripletMarginLossOptions;
using TripletMarginWithDistanceLossFuncOptions = TripletMarginWithDistanceLossOptions;
using PoissonNLLLossFuncOptions = PoissonNLLLossOptions;
using CTCLossFuncOptions = CTCLossOptions;

inline at::Tensor soft_margin_loss(const at::Tensor& x, const at::Tensor& y, const SoftMarginLossFuncOptions& o = {}) {
    return at::soft_margin_loss(x, y, number_of_reduction(o.reduction()));
}
inline at::Tensor multilabel_margin_loss(const at::Tensor& x, const at::Tensor& y,
                                         const MultilabelMarginLossFuncOptions& o = {}) {
    return at::multilabel_margin_loss(x, y, number_of_reduction(o.reduction()));
}
inline at::Tensor hinge_embedding_loss(const at::Tensor& x, const at::Tensor& y,
                                       const HingeEmbeddingLossFuncOptions& o = {}) {
    return at::hinge_embedding_loss(x, y, o.margin(), number_of_reduction(o.reduction()));
}
inline at::Tensor multi_margin_loss(const at::Tensor& x, const at::Tensor& y,
                                    const MultiMarginLossFuncOptions& o = {}) {
    TORCH_CHECK(o.p() == 1 || o.p() == 2, "only p == 1 and p == 2 supported");
    if (o.weight().defined()) TORCH_CHECK(o.weight().dim() == 1, "weight must be one-dimensional");
    return at::multi_margin_loss(x, y, o.p(), o.margin(), given(o.weight()), number_of_reduction(o.reduction()));
}
// What is left of losses of single elements.
inline at::Tensor reduced(const at::Tensor& losses, const reduction_t& reduction) {
    const int64_t number = number_of_reduction(reduction);
    return number == 0 ? losses : number == 1 ? losses.mean() : losses.sum();
}
inline at::Tensor multilabel_soft_margin_loss(const at::Tensor& x, const at::Tensor& y,
                                              const MultilabelSoftMarginLossFuncOptions& o = {}) {
    at::Tensor losses = -(y * at::log_sigmoid(x) + (1 - y) * at::log_sigmoid(-x));
    if (o.weight().defined()) losses = losses * o.weight();
    return reduced(losses.mean(-1), o.reduction());
}
inline at::Tensor cosine_embedding_loss(const at::Tensor& a, const at::Tensor& b, const at::Tensor& y,
                                        const CosineEmbeddingLossFuncOptions& o = {}) {
    return at::cosine_embedding_loss(a, b, y, o.margin(), number_of_reduction(o.reduction()));
}
inline at::Tensor margin_ranking_loss(const at::Tensor& a, const at::Tensor& b, const at::Tensor& y,
                                      const MarginRankingLossFuncOptions& o = {}) {
    TORCH_CHECK(a.dim() == b.dim() && a.dim() == y.dim(),
                "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: ", a.sizes(),
                ", input2: ", b.sizes(), ", target: ", y.sizes());
    return at::margin_ranking_loss(a, b, y, o.margin(), number_of_reduction(o.reduction()));
}
inline at::Tensor triplet_margin_loss(const at::Tensor& anchor, const at::Tensor& positive, const at::Tensor& negative,
                                      const TripletMarginLossFuncOptions& o = {}) {
    return at::triplet_margin_loss(anchor, positive, negative, o.margin(), o.p(), o.eps(), o.swap(),
                                   number_of_reduction(o.reduction()));
}
inline at::Tensor triplet_margin_with_distance_loss(const at::Tensor& anchor, const at::Tensor& positive,
                                                    const at::Tensor& negative,
                                                    const TripletMarginWithDistanceLossFuncOptions& o = {}) {
    const auto distance = [&](const at::Tensor& a, const at::Tensor& b) {
        return o.distance_function() ? (*o.distance_function())(a, b) : functional::pairwise_distance(a, b);
    };
    const at::Tensor near = distance(anchor, positive);
    at::Tensor far = distance(anchor, negative);
    if (o.swap()) far = at::minimum(far, distance(positive, negative));
    return reduced((near - far + o.margin()).clamp_min(0), o.reduction());
}
inline at::Tensor poisson_nll_loss(const at::Tensor& x, const at::Tensor& y, const PoissonNLLLossFuncOptions& o = {}) {
    return at::poisson_nll_loss(x, y, o.log_input(), o.full(), o.eps(), number_of_reduction(o.reduction()));
}
inline at::Tensor ctc_loss(const at::Tensor& log_probs, const at::Tensor& targets, const at::Tensor& input_lengths,
                           const at::Tensor& target_lengths, const CTCLossFuncOptions& o = {}) {
    return at::ctc_loss(log_probs, targets, input_lengths, target_lengths, o.blank(),
                        number_of_reduction(o.reduction()), o.zero_infinity());
}

}  // namespace functional

inline void show(Printed& p, const HingeEmbeddingLossOptions& o) { p.add("margin", o.margin()); }
inline void show(Printed& p, const CosineEmbeddingLossOptions& o) { p.add("margin", o.margin()); }
inline void show(Printed& p, const MultiMarginLossOptions& o) {
    p.add("p", o.p()).add("margin", o.margin()).field("weight") << o.weight();
    p.field("reduction") << enumtype::get_enum_name(o.reduction());
}
inline void show(Printed& p, const TripletMarginLossOptions& o) {
    p.add("margin", o.margin()).add("p", o.p()).add("eps", o.eps()).add("swap", o.swap());
}
inline void show(Printed& p, const TripletMarginWithDistanceLossOptions& o) {
    p.add("margin", o.margin()).add("swap", o.swap());
}

// A loss as a layer: the parameters of its forward in brackets, and what they are called.
#define MINDTORCH_LOSS_LAYER(Name, parameters, call)                                 \
    class Name##Impl : public Cloneable<Name##Impl> {                                \
      public:                                                                        \
        explicit Name##Impl(Name##Options given = {}) : options(std::move(given)) {} \
        void reset() override {}                                                     \
        MINDTORCH_PRETTY_PRINT(Name)                                                 \
        at::Tensor forward parameters { return functional::call; }                   \
        Name##Options options;                                                       \
    };                                                                               \
    TORCH_MODULE(Name)
#define MINDTORCH_TWO (const at::Tensor& x, const at::Tensor& y)
#define MINDTORCH_THREE (const at::Tensor& x, const at::Tensor& y, const at::Tensor& z)
#define MINDTORCH_FOUR (const at::Tensor& x, const at::Tensor& y, const at::Tensor& n, const at::Tensor& m)
MINDTORCH_LOSS_LAYER(SoftMarginLoss, MINDTORCH_TWO, soft_margin_loss(x, y, options));
MINDTORCH_LOSS_LAYER(MultiLabelMarginLoss, MINDTORCH_TWO, multilabel_margin_loss(x, y, options));
MINDTORCH_LOSS_LAYER(MultiLabelSoftMarginLoss, MINDTORCH_TWO, multilabel_soft_margin_loss(x, y, options));
MINDTORCH_LOSS_LAYER(HingeEmbeddingLoss, MINDTORCH_TWO, hinge_embedding_loss(x, y, options));
MINDTORCH_LOSS_LAYER(MultiMarginLoss, MINDTORCH_TWO, multi_margin_loss(x, y, options));
MINDTORCH_LOSS_LAYER(PoissonNLLLoss, MINDTORCH_TWO, poisson_nll_loss(x, y, options));
MINDTORCH_LOSS_LAYER(CosineEmbeddingLoss, MINDTORCH_THREE, cosine_embedding_loss(x, y, z, options));
MINDTORCH_LOSS_LAYER(MarginRankingLoss, MINDTORCH_THREE, margin_ranking_loss(x, y, z, options));
MINDTORCH_LOSS_LAYER(TripletMarginLoss, MINDTORCH_THREE, triplet_margin_loss(x, y, z, options));
MINDTORCH_LOSS_LAYER(TripletMarginWithDistanceLoss, MINDTORCH_THREE,
                     triplet_margin_with_distance_loss(x, y, z, options));
MINDTORCH_LOSS_LAYER(CTCLoss, MINDTORCH_FOUR, ctc_loss(x, y, n, m, options));
#undef MINDTORCH_TWO
#undef MINDTORCH_THREE
#undef MINDTORCH_FOUR
#undef MINDTORCH_LOSS_LAYER

}  // namespace nn
}  // namespace torch
