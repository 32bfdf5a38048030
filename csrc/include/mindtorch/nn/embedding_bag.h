// Rows of a table that are put together in bags: sums, means or largest numbers.
#pragma once

#include <mindtorch/nn/layers.h>

namespace torch {
namespace nn {

using EmbeddingBagMode = std::variant<enumtype::kSum, enumtype::kMean, enumtype::kMax>;

struct EmbeddingBagOptions {
    EmbeddingBagOptions(int64_t num_embeddings, int64_t embedding_dim)
        : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
    TORCH_ARG(int64_t, num_embeddings);
    TORCH_ARG(int64_t, embedding_dim);
    TORCH_ARG(std::optional<double>, max_norm) = std::nullopt;
    TORCH_ARG(double, norm_type) = 2.;
    TORCH_ARG(bool, scale_grad_by_freq) = false;
    TORCH_ARG(EmbeddingBagMode, mode) = kMean;
    TORCH_ARG(bool, sparse) = false;
    TORCH_ARG(at::Tensor, _weight) = {};
    TORCH_ARG(bool, include_last_offset) = false;
    TORCH_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
};
struct EmbeddingBagFromPretrainedOptions {
    TORCH_ARG(bool, freeze) = true;
    TORCH_ARG(std::optional<double>, max_norm) = std::nullopt;
    TORCH_ARG(double, norm_type) = 2.;
    TORCH_ARG(bool, scale_grad_by_freq) = false;
    TORCH_ARG(EmbeddingBagMode, mode) = kMean;
    TORCH_ARG(bool, sparse) = false;
    TORCH_ARG(bool, include_last_offset) = false;
    TORCH_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
};

namespace functional {

struct EmbeddingBagFuncOptions {
    TORCH_ARG(at::Tensor, offsets) = {};
    TORCH_ARG(std::optional<double>, max_norm) = std::nullopt;
    TORCH_ARG(double, norm_type) = 2.;
    TORCH_ARG(bool, scale_grad_by_freq) = false;
    TORCH_ARG(EmbeddingBagMode, mode) = kMean;
    TORCH_ARG(bool, sparse) = false;
    TORCH_ARG(at::Tensor, per_sample_weights) = {};
    TORCH_ARG(bool, include_last_offset) = false;
    TORCH_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
};
inline at::Tensor embedding_bag(const at::Tensor& input, const at::Tensor& weight,
                                const EmbeddingBagFuncOptions& o = {}) {
    at::Tensor rows = input, offsets = o.offsets(), factors = o.per_sample_weights(), table = weight;
    TORCH_CHECK(!factors.defined() || rows.sizes() == factors.sizes(), "embedding_bag: If per_sample_weights (",
                factors.defined() ? factors.sizes() : at::IntArrayRef(),
                ") is not null, then it must have the same shape as the input (", rows.sizes(), ")");
    if (rows.dim() == 2) {
        TORCH_CHECK(!offsets.defined(),
                    "If input is 2D, then offsets has to be null, as input is treated is a mini-batch of fixed length "
                    "sequences. However, found offsets of type Tensor");
        offsets = at::arange(0, rows.numel(), rows.size(1), at::TensorOptions().dtype(at::kLong).device(rows.device()));
        rows = rows.reshape({-1});
        if (factors.defined()) factors = factors.reshape({-1});
    } else {
        TORCH_CHECK(rows.dim() == 1, "input has to be 1D or 2D Tensor, but got Tensor of dimension ", rows.dim());
        TORCH_CHECK(offsets.defined(), "offsets has to be a 1D Tensor but got null");
        TORCH_CHECK(offsets.dim() == 1, "offsets has to be a 1D Tensor");
    }
    if (std::holds_alternative<enumtype::kMax>(o.mode())) {
        TORCH_CHECK(!o.scale_grad_by_freq(), "max mode does not support scaling the gradient by the frequency");
        TORCH_CHECK(!o.sparse(), "max mode does not support sparse weights");
    }
    if (o.max_norm()) {
        c10::NoGradGuard guard;
        at::embedding_renorm_(table, rows, *o.max_norm(), o.norm_type());
    }
    TORCH_CHECK(!factors.defined() || std::holds_alternative<enumtype::kSum>(o.mode()),
                "embedding_bag: per_sample_weights was not null. per_sample_weights is only supported for mode='kSum' "
                "(got mode='",
                enumtype::get_enum_name(o.mode()), "').Please open a feature request on GitHub.");
    return std::get<0>(at::embedding_bag(table, rows, offsets, o.scale_grad_by_freq(),
                                         static_cast<int64_t>(o.mode().index()), o.sparse(), given(factors),
                                         o.include_last_offset(), o.padding_idx()));
}

}  // namespace functional

class EmbeddingBagImpl : public Cloneable<EmbeddingBagImpl> {
  public:
    EmbeddingBagImpl(int64_t rows, int64_t columns) : EmbeddingBagImpl(EmbeddingBagOptions(rows, columns)) {}
    explicit EmbeddingBagImpl(EmbeddingBagOptions given) : options(std::move(given)) { EmbeddingBagImpl::reset(); }
    void reset() override {
        options.padding_idx(place_in_table(options.padding_idx(), options.num_embeddings()));
        weight = register_table(*this, options);
        if (!options._weight().defined()) reset_parameters();
    }
    void reset_parameters() { start_table(weight, options.padding_idx()); }
    void pretty_print(std::ostream& stream) const override {
        Printed p(stream, "EmbeddingBag");
        show_table(p, options, std::nullopt);
        if (options.mode().index() != 1) p.field("mode") << enumtype::get_enum_name(options.mode());
        p.if_on("include_last_offset", options.include_last_offset()).if_given("padding_idx", options.padding_idx());
    }
    at::Tensor forward(const at::Tensor& input, const at::Tensor& offsets = {},
                       const at::Tensor& per_sample_weights = {}) {
        return functional::embedding_bag(input, weight,
                                         functional::EmbeddingBagFuncOptions()
                                             .offsets(offsets)
                                             .max_norm(options.max_norm())
                                             .norm_type(options.norm_type())
                                             .scale_grad_by_freq(options.scale_grad_by_freq())
                                             .mode(options.mode())
                                             .sparse(options.sparse())
                                             .per_sample_weights(per_sample_weights)
                                             .include_last_offset(options.include_last_offset())
                                             .padding_idx(options.padding_idx()));
    }
    EmbeddingBagOptions options;
    at::Tensor weight;

  protected:
    FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(at::Tensor())}, {2, AnyValue(at::Tensor())})
};
class EmbeddingBag : public ModuleHolder<EmbeddingBagImpl> {
  public:
    using ModuleHolder<EmbeddingBagImpl>::ModuleHolder;
    static EmbeddingBag from_pretrained(const at::Tensor& table, const EmbeddingBagFromPretrainedOptions& o = {}) {
        TORCH_CHECK(table.dim() == 2, "Embeddings parameter is expected to be 2-dimensional");
        EmbeddingBag made(EmbeddingBagOptions(table.size(0), table.size(1))
                              ._weight(table)
                              .max_norm(o.max_norm())
                              .norm_type(o.norm_type())
                              .scale_grad_by_freq(o.scale_grad_by_freq())
                              .mode(o.mode())
                              .sparse(o.sparse())
                              .include_last_offset(o.include_last_offset())
                              .padding_idx(o.padding_idx()));
        made->weight.requires_grad_(!o.freeze());
        return made;
    }
};

}  // namespace nn
}  // namespace torch
