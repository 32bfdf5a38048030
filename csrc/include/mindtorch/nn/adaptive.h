// The adaptive softmax of torch::nn: frequent classes directly, others in clusters of smaller width.
#pragma once

#include <mindtorch/nn/containers.h>
#include <mindtorch/nn/layers.h>

namespace torch {
namespace nn {

struct AdaptiveLogSoftmaxWithLossOptions {
    AdaptiveLogSoftmaxWithLossOptions(int64_t in_features, int64_t n_classes, std::vector<int64_t> cutoffs)
        : in_features_(in_features), n_classes_(n_classes), cutoffs_(std::move(cutoffs)) {}
    TORCH_ARG(int64_t, in_features);
    TORCH_ARG(int64_t, n_classes);
    TORCH_ARG(std::vector<int64_t>, cutoffs);
    TORCH_ARG(double, div_value) = 4.;
    TORCH_ARG(bool, head_bias) = false;
};
struct ASMoutput {
    ASMoutput(at::Tensor output_, double loss_) : output(std::move(output_)), loss(loss_) {}
    at::Tensor output;
    double loss;
};
class AdaptiveLogSoftmaxWithLossImpl : public Cloneable<AdaptiveLogSoftmaxWithLossImpl> {
  public:
    AdaptiveLogSoftmaxWithLossImpl(int64_t in_features, int64_t n_classes, std::vector<int64_t> cutoffs)
        : AdaptiveLogSoftmaxWithLossImpl(
              AdaptiveLogSoftmaxWithLossOptions(in_features, n_classes, std::move(cutoffs))) {}
    explicit AdaptiveLogSoftmaxWithLossImpl(AdaptiveLogSoftmaxWithLossOptions given) : options(std::move(given)) {
        AdaptiveLogSoftmaxWithLossImpl::reset();
    }
    void reset() override {
        cutoffs = options.cutoffs();
        int64_t last = 0;
        for (int64_t cutoff : cutoffs) {
            TORCH_CHECK(cutoff > last && cutoff < options.n_classes(),
                        "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, ",
                        "where each value is between 1 and n_classes-1");
            last = cutoff;
        }
        TORCH_CHECK(!cutoffs.empty(), "cutoffs should be a sequence of unique, positive integers, got none");
        cutoffs.push_back(options.n_classes());
        shortlist_size = cutoffs[0];
        n_clusters = static_cast<int64_t>(cutoffs.size()) - 1;
        head_size = shortlist_size + n_clusters;
        head =
            register_module("head", Linear(LinearOptions(options.in_features(), head_size).bias(options.head_bias())));
        tail = register_module("tail", ModuleList());
        for (int64_t i = 0; i < n_clusters; i++) {
            const auto width = static_cast<int64_t>(static_cast<double>(options.in_features()) /
                                                    std::pow(options.div_value(), static_cast<double>(i + 1)));
            tail->push_back(Sequential(Linear(LinearOptions(options.in_features(), width).bias(false)),
                                       Linear(LinearOptions(width, cutoffs[i + 1] - cutoffs[i]).bias(false))));
        }
    }
    void reset_parameters() {
        head->reset_parameters();
        for (const auto& cluster : *tail)
            for (const auto& layer : cluster->children()) layer->as<LinearImpl>()->reset_parameters();
    }
    void pretty_print(std::ostream& stream) const override { stream << "torch::nn::AdaptiveLogSoftmaxWithLoss"; }
    // The logarithm of the probability of each target, and the mean of these, negated.
    ASMoutput forward(const at::Tensor& input, const at::Tensor& target) {
        TORCH_CHECK(input.size(0) == target.size(0),
                    "Input and target should have the same size in the batch dimension");
        TORCH_CHECK(target.numel() == 0 ||
                        (target.min().item<int64_t>() >= 0 && target.max().item<int64_t>() < options.n_classes()),
                    "Target values should be in [0, n_classes - 1], but values in range [",
                    target.numel() ? target.min().item<int64_t>() : 0, ", ",
                    target.numel() ? target.max().item<int64_t>() : 0, "] were found. ");
        const at::Tensor output = log_prob(input).gather(1, target.unsqueeze(1)).squeeze(1);
        return ASMoutput(output, (-output).mean().item<double>());
    }
    at::Tensor _get_full_log_prob(const at::Tensor& input, const at::Tensor& head_output) {
        const at::Tensor first = at::log_softmax(head_output, 1);
        std::vector<at::Tensor> parts{first.slice(1, 0, shortlist_size)};
        for (int64_t i = 0; i < n_clusters; i++) {
            const at::Tensor within = at::log_softmax(tail[i]->as<SequentialImpl>()->forward(input), 1);
            parts.push_back(within + first.select(1, shortlist_size + i).unsqueeze(1));
        }
        return at::cat(parts, 1);
    }
    at::Tensor log_prob(const at::Tensor& input) { return _get_full_log_prob(input, head(input)); }
    // The most probable class of each row.
    at::Tensor predict(const at::Tensor& input) { return log_prob(input).argmax(1); }

    AdaptiveLogSoftmaxWithLossOptions options;
    std::vector<int64_t> cutoffs;
    int64_t shortlist_size = 0, n_clusters = 0, head_size = 0;
    Linear head = nullptr;
    ModuleList tail = nullptr;
};
TORCH_MODULE(AdaptiveLogSoftmaxWithLoss);

}  // namespace nn
}  // namespace torch
