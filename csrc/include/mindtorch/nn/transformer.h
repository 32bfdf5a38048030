// Transformers of torch::nn: layers of an encoder and a decoder, stacks of them, and both together.
#pragma once

#include <mindtorch/nn/attention.h>
#include <mindtorch/nn/containers.h>
#include <mindtorch/nn/norms.h>

namespace torch {
namespace nn {

using activation_t = std::variant<enumtype::kReLU, enumtype::kGELU, std::function<at::Tensor(const at::Tensor&)>>;

#define MINDTORCH_CODER_LAYER(Name)                                                         \
    struct Name##Options {                                                                  \
        Name##Options(int64_t d_model, int64_t nhead) : d_model_(d_model), nhead_(nhead) {} \
        TORCH_ARG(int64_t, d_model);                                                        \
        TORCH_ARG(int64_t, nhead);                                                          \
        TORCH_ARG(int64_t, dim_feedforward) = 2048;                                         \
        TORCH_ARG(double, dropout) = 0.1;                                                   \
        TORCH_ARG(activation_t, activation) = kReLU;                                        \
    }
MINDTORCH_CODER_LAYER(TransformerEncoderLayer);
MINDTORCH_CODER_LAYER(TransformerDecoderLayer);
#undef MINDTORCH_CODER_LAYER

inline at::Tensor activated(const activation_t& activation, const at::Tensor& x) {
    if (std::holds_alternative<enumtype::kReLU>(activation)) return at::relu(x);
    if (std::holds_alternative<enumtype::kGELU>(activation)) return at::gelu(x);
    return std::get<2>(activation)(x);
}

class TransformerEncoderLayerImpl : public Cloneable<TransformerEncoderLayerImpl> {
  public:
    TransformerEncoderLayerImpl(int64_t d_model, int64_t nhead)
        : TransformerEncoderLayerImpl(TransformerEncoderLayerOptions(d_model, nhead)) {}
    explicit TransformerEncoderLayerImpl(TransformerEncoderLayerOptions given) : options(std::move(given)) {
        TransformerEncoderLayerImpl::reset();
    }
    void reset() override {
        const int64_t width = options.d_model();
        self_attn = register_module(
            "self_attn",
            MultiheadAttention(MultiheadAttentionOptions(width, options.nhead()).dropout(options.dropout())));
        linear1 = register_module("linear1", Linear(width, options.dim_feedforward()));
        dropout = register_module("dropout", Dropout(options.dropout()));
        linear2 = register_module("linear2", Linear(options.dim_feedforward(), width));
        norm1 = register_module("norm1", LayerNorm(std::vector<int64_t>{width}));
        norm2 = register_module("norm2", LayerNorm(std::vector<int64_t>{width}));
        dropout1 = register_module("dropout1", Dropout(options.dropout()));
        dropout2 = register_module("dropout2", Dropout(options.dropout()));
    }
    void reset_parameters() {}  // its layers have begun theirs
    at::Tensor forward(const at::Tensor& src, const at::Tensor& src_mask = {},
                       const at::Tensor& src_key_padding_mask = {}) {
        const at::Tensor attended =
            std::get<0>(self_attn->forward(src, src, src, src_key_padding_mask, false, src_mask));
        const at::Tensor x = norm1(src + dropout1(attended));
        return norm2(x + dropout2(linear2(dropout(activated(options.activation(), linear1(x))))));
    }
    TransformerEncoderLayerOptions options;
    MultiheadAttention self_attn = nullptr;
    Linear linear1 = nullptr;
    Dropout dropout = nullptr;
    Linear linear2 = nullptr;
    LayerNorm norm1 = nullptr, norm2 = nullptr;
    Dropout dropout1 = nullptr, dropout2 = nullptr;

  protected:
    FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(at::Tensor())}, {2, AnyValue(at::Tensor())})
};
TORCH_MODULE(TransformerEncoderLayer);

class TransformerDecoderLayerImpl : public Cloneable<TransformerDecoderLayerImpl> {
  public:
    TransformerDecoderLayerImpl(int64_t d_model, int64_t nhead)
        : TransformerDecoderLayerImpl(TransformerDecoderLayerOptions(d_model, nhead)) {}
    explicit TransformerDecoderLayerImpl(TransformerDecoderLayerOptions given) : options(std::move(given)) {
        TransformerDecoderLayerImpl::reset();
    }
    void reset() override {
        const int64_t width = options.d_model();
        const MultiheadAttentionOptions heads =
            MultiheadAttentionOptions(width, options.nhead()).dropout(options.dropout());
        self_attn = register_module("self_attn", MultiheadAttention(heads));
        multihead_attn = register_module("multihead_attn", MultiheadAttention(heads));
        linear1 = register_module("linear1", Linear(width, options.dim_feedforward()));
        dropout = register_module("dropout", Dropout(options.dropout()));
        linear2 = register_module("linear2", Linear(options.dim_feedforward(), width));
        norm1 = register_module("norm1", LayerNorm(std::vector<int64_t>{width}));
        norm2 = register_module("norm2", LayerNorm(std::vector<int64_t>{width}));
        norm3 = register_module("norm3", LayerNorm(std::vector<int64_t>{width}));
        dropout1 = register_module("dropout1", Dropout(options.dropout()));
        dropout2 = register_module("dropout2", Dropout(options.dropout()));
        dropout3 = register_module("dropout3", Dropout(options.dropout()));
    }
    void reset_parameters() {}  // its layers have begun theirs
    at::Tensor forward(at::Tensor tgt, const at::Tensor& memory, const at::Tensor& tgt_mask = {},
                       const at::Tensor& memory_mask = {}, const at::Tensor& tgt_key_padding_mask = {},
                       const at::Tensor& memory_key_padding_mask = {}) {
        const at::Tensor own = std::get<0>(self_attn->forward(tgt, tgt, tgt, tgt_key_padding_mask, false, tgt_mask));
        at::Tensor x = norm1(tgt + dropout1(own));
        const at::Tensor others =
            std::get<0>(multihead_attn->forward(x, memory, memory, memory_key_padding_mask, false, memory_mask));
        x = norm2(x + dropout2(others));
        return norm3(x + dropout3(linear2(dropout(activated(options.activation(), linear1(x))))));
    }
    TransformerDecoderLayerOptions options;
    MultiheadAttention self_attn = nullptr;
    Dropout dropout1 = nullptr;
    LayerNorm norm1 = nullptr;
    MultiheadAttention multihead_attn = nullptr;
    Dropout dropout2 = nullptr;
    LayerNorm norm2 = nullptr;
    Linear linear1 = nullptr;
    Dropout dropout = nullptr;
    Linear linear2 = nullptr;
    Dropout dropout3 = nullptr;
    LayerNorm norm3 = nullptr;

  protected:
    FORWARD_HAS_DEFAULT_ARGS({2, AnyValue(at::Tensor())}, {3, AnyValue(at::Tensor())}, {4, AnyValue(at::Tensor())},
                             {5, AnyValue(at::Tensor())})
};
TORCH_MODULE(TransformerDecoderLayer);

// A stack of copies of a layer, each with numbers of its own from then on, and a norm after the last one.
#define MINDTORCH_CODER(Name, layer_name)                                                                              \
    struct Name##Options {                                                                                             \
        Name##Options(Name##Layer layer, int64_t num_layers)                                                           \
            : layer_name##_(std::move(layer)), num_layers_(num_layers) {}                                              \
        Name##Options(const Name##LayerOptions& layer, int64_t num_layers)                                             \
            : Name##Options(Name##Layer(layer), num_layers) {}                                                         \
        TORCH_ARG(Name##Layer, layer_name) = nullptr;                                                                  \
        TORCH_ARG(int64_t, num_layers);                                                                                \
        TORCH_ARG(AnyModule, norm) = {};                                                                               \
    };                                                                                                                 \
    class Name##Impl : public Cloneable<Name##Impl> {                                                                  \
      public:                                                                                                          \
        Name##Impl(Name##Layer layer, int64_t num_layers) : Name##Impl(Name##Options(std::move(layer), num_layers)) {} \
        explicit Name##Impl(Name##Options given) : options(std::move(given)) { Name##Impl::reset(); }                  \
        void reset() override {                                                                                        \
            layers = register_module("layers", ModuleList());                                                          \
            for (int64_t i = 0; i < options.num_layers(); i++) layers->push_back(options.layer_name()->clone());       \
            if (options.norm().is_empty()) return;                                                                     \
            norm = options.norm().clone();                                                                             \
            register_module("norm", norm.ptr());                                                                       \
        }                                                                                                              \
        void reset_parameters() {                                                                                      \
            TORCH_CHECK(options.num_layers() > 0, #Name " should have at least one layer to be reset, but got ",       \
                        options.num_layers());                                                                         \
            for (const auto& layer : *layers) layer->as<Name##LayerImpl>()->reset_parameters();                        \
        }                                                                                                              \
        template <class... A>                                                                                          \
        at::Tensor through(at::Tensor x, const A&... a) {                                                              \
            TORCH_CHECK(!layers->is_empty(), #Name " should have at least one layer to be called");                    \
            for (const auto& layer : *layers) x = layer->as<Name##LayerImpl>()->forward(x, a...);                      \
            return norm.is_empty() ? x : norm.forward(x);                                                              \
        }                                                                                                              \
        Name##Options options;                                                                                         \
        ModuleList layers = nullptr;                                                                                   \
        AnyModule norm;

MINDTORCH_CODER(TransformerEncoder, encoder_layer)
at::Tensor forward(const at::Tensor& src, const at::Tensor& src_mask = {},
                   const at::Tensor& src_key_padding_mask = {}) {
    return through(src, src_mask, src_key_padding_mask);
}

protected:
FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(at::Tensor())}, {2, AnyValue(at::Tensor())})
};
TORCH_MODULE(TransformerEncoder);

MINDTORCH_CODER(TransformerDecoder, decoder_layer)
at::Tensor forward(const at::Tensor& tgt, const at::Tensor& memory, const at::Tensor& tgt_mask = {},
                   const at::Tensor& memory_mask = {}, const at::Tensor& tgt_key_padding_mask = {},
                   const at::Tensor& memory_key_padding_mask = {}) {
    return through(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask);
}

protected:
FORWARD_HAS_DEFAULT_ARGS({2, AnyValue(at::Tensor())}, {3, AnyValue(at::Tensor())}, {4, AnyValue(at::Tensor())},
                         {5, AnyValue(at::Tensor())})
};
TORCH_MODULE(TransformerDecoder);
#undef MINDTORCH_CODER

struct TransformerOptions {
    TransformerOptions() = default;
    TransformerOptions(int64_t d_model, int64_t nhead) : d_model_(d_model), nhead_(nhead) {}
    TransformerOptions(int64_t d_model, int64_t nhead, int64_t num_encoder_layers, int64_t num_decoder_layers)
        : d_model_(d_model),
          nhead_(nhead),
          num_encoder_layers_(num_encoder_layers),
          num_decoder_layers_(num_decoder_layers) {}
    TORCH_ARG(int64_t, d_model) = 512;
    TORCH_ARG(int64_t, nhead) = 8;
    TORCH_ARG(int64_t, num_encoder_layers) = 6;
    TORCH_ARG(int64_t, num_decoder_layers) = 6;
    TORCH_ARG(int64_t, dim_feedforward) = 2048;
    TORCH_ARG(double, dropout) = 0.1;
    TORCH_ARG(activation_t, activation) = kReLU;
    TORCH_ARG(AnyModule, custom_encoder) = {};
    TORCH_ARG(AnyModule, custom_decoder) = {};
};
class TransformerImpl : public Cloneable<TransformerImpl> {
  public:
    explicit TransformerImpl(TransformerOptions given = {}) : options(std::move(given)) { TransformerImpl::reset(); }
    void reset() override {
        encoder = options.custom_encoder().is_empty()
                      ? stack<TransformerEncoder, TransformerEncoderOptions, TransformerEncoderLayerOptions>(
                            options.num_encoder_layers())
                      : options.custom_encoder().clone();
        decoder = options.custom_decoder().is_empty()
                      ? stack<TransformerDecoder, TransformerDecoderOptions, TransformerDecoderLayerOptions>(
                            options.num_decoder_layers())
                      : options.custom_decoder().clone();
        register_module("encoder", encoder.ptr());
        register_module("decoder", decoder.ptr());
        reset_parameters();
    }
    void reset_parameters() {
        for (const at::Tensor& p : parameters())
            if (p.dim() > 1) init::xavier_uniform_(p);
    }
    at::Tensor forward(const at::Tensor& src, const at::Tensor& tgt, const at::Tensor& src_mask = {},
                       const at::Tensor& tgt_mask = {}, const at::Tensor& memory_mask = {},
                       const at::Tensor& src_key_padding_mask = {}, const at::Tensor& tgt_key_padding_mask = {},
                       const at::Tensor& memory_key_padding_mask = {}) {
        TORCH_CHECK(src.dim() == 3 && tgt.dim() == 3, "src and tgt should have 3 dimensions, but got ", src.dim(),
                    " and ", tgt.dim());
        TORCH_CHECK(src.size(1) == tgt.size(1), "src and tgt should have equal batch size (at dim 1), but got ",
                    src.size(1), " and ", tgt.size(1));
        TORCH_CHECK(src.size(2) == options.d_model() && tgt.size(2) == options.d_model(),
                    "src and tgt should have same feature size as d_model (at dim 2), but got ", src.size(2), " and ",
                    tgt.size(2), " while d_model is ", options.d_model());
        const at::Tensor memory = encoder.forward(src, src_mask, src_key_padding_mask);
        return decoder.forward(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask);
    }
    // Of size (sz, sz): nothing before a place is hidden, all behind it is.
    static at::Tensor generate_square_subsequent_mask(int64_t sz) {
        return at::full({sz, sz}, -std::numeric_limits<float>::infinity()).triu(1);
    }
    TransformerOptions options;
    AnyModule encoder, decoder;

  protected:
    FORWARD_HAS_DEFAULT_ARGS({2, AnyValue(at::Tensor())}, {3, AnyValue(at::Tensor())}, {4, AnyValue(at::Tensor())},
                             {5, AnyValue(at::Tensor())}, {6, AnyValue(at::Tensor())}, {7, AnyValue(at::Tensor())})

  private:
    template <class Stack, class StackOptions, class LayerOptions>
    AnyModule stack(int64_t layers) const {
        const LayerOptions layer = LayerOptions(options.d_model(), options.nhead())
                                       .dim_feedforward(options.dim_feedforward())
                                       .dropout(options.dropout())
                                       .activation(options.activation());
        const LayerNorm norm(std::vector<int64_t>{options.d_model()});
        return AnyModule(Stack(StackOptions(layer, layers).norm(AnyModule(norm))));
    }
};
TORCH_MODULE(Transformer);

}  // namespace nn
}  // namespace torch
