// Attention of several heads in torch::nn.
#pragma once

#include <mindtorch/nn/layers.h>

namespace torch {
namespace nn {

struct MultiheadAttentionOptions {
    MultiheadAttentionOptions(int64_t embed_dim, int64_t num_heads)
        : embed_dim_(embed_dim), num_heads_(num_heads), kdim_(embed_dim), vdim_(embed_dim) {}
    TORCH_ARG(int64_t, embed_dim);
    TORCH_ARG(int64_t, num_heads);
    TORCH_ARG(double, dropout) = 0.0;
    TORCH_ARG(bool, bias) = true;
    TORCH_ARG(bool, add_bias_kv) = false;
    TORCH_ARG(bool, add_zero_attn) = false;
    TORCH_ARG(int64_t, kdim);
    TORCH_ARG(int64_t, vdim);
};

namespace functional {

struct MultiheadAttentionForwardFuncOptions {
    MultiheadAttentionForwardFuncOptions(int64_t embed_dim_to_check, int64_t num_heads, at::Tensor in_proj_weight,
                                         at::Tensor in_proj_bias, at::Tensor bias_k, at::Tensor bias_v,
                                         bool add_zero_attn, double dropout_p, at::Tensor out_proj_weight,
                                         at::Tensor out_proj_bias)
        : embed_dim_to_check_(embed_dim_to_check),
          num_heads_(num_heads),
          in_proj_weight_(std::move(in_proj_weight)),
          in_proj_bias_(std::move(in_proj_bias)),
          bias_k_(std::move(bias_k)),
          bias_v_(std::move(bias_v)),
          add_zero_attn_(add_zero_attn),
          dropout_p_(dropout_p),
          out_proj_weight_(std::move(out_proj_weight)),
          out_proj_bias_(std::move(out_proj_bias)) {}
    TORCH_ARG(int64_t, embed_dim_to_check);
    TORCH_ARG(int64_t, num_heads);
    TORCH_ARG(at::Tensor, in_proj_weight);
    TORCH_ARG(at::Tensor, in_proj_bias);
    TORCH_ARG(at::Tensor, bias_k);
    TORCH_ARG(at::Tensor, bias_v);
    TORCH_ARG(bool, add_zero_attn);
    TORCH_ARG(double, dropout_p);
    TORCH_ARG(at::Tensor, out_proj_weight);
    TORCH_ARG(at::Tensor, out_proj_bias);
    TORCH_ARG(bool, training) = true;
    TORCH_ARG(at::Tensor, key_padding_mask) = {};
    TORCH_ARG(bool, need_weights) = true;
    TORCH_ARG(at::Tensor, attn_mask) = {};
    TORCH_ARG(bool, use_separate_proj_weight) = false;
    TORCH_ARG(at::Tensor, q_proj_weight) = {};
    TORCH_ARG(at::Tensor, k_proj_weight) = {};
    TORCH_ARG(at::Tensor, v_proj_weight) = {};
    TORCH_ARG(at::Tensor, static_k) = {};
    TORCH_ARG(at::Tensor, static_v) = {};
    TORCH_ARG(bool, average_attn_weights) = true;
};

// `count` further columns that a mask leaves open.
inline at::Tensor widened(const at::Tensor& mask, int64_t count) {
    return mask.defined() ? at::constant_pad_nd(mask, {0, count}) : mask;
}
// Query (L, N, E), key (S, N, Ek) and value (S, N, Ev): the result (L, N, E), and the weights (N, L, S) if asked for.
inline std::tuple<at::Tensor, at::Tensor> multi_head_attention_forward(const at::Tensor& query, const at::Tensor& key,
                                                                       const at::Tensor& value,
                                                                       const MultiheadAttentionForwardFuncOptions& o) {
    TORCH_CHECK(query.dim() == 3, "multi_head_attention_forward: expected a query of 3 dimensions (L, N, E), got ",
                query.dim());
    TORCH_CHECK(key.dim() == 3 && value.dim() == 3 && key.size(0) == value.size(0) && key.size(1) == value.size(1),
                "multi_head_attention_forward: key and value must agree in their first two of three dimensions, got ",
                key.sizes(), " and ", value.sizes());
    const int64_t length = query.size(0), batch = query.size(1), width = query.size(2), heads = o.num_heads();
    TORCH_CHECK(width == o.embed_dim_to_check(), "multi_head_attention_forward: expected a query of width ",
                o.embed_dim_to_check(), ", got ", width);
    const int64_t head = width / heads;
    TORCH_CHECK(head * heads == width, "embed_dim must be divisible by num_heads");

    std::vector<at::Tensor> biases(3);
    if (o.in_proj_bias().defined()) biases = o.in_proj_bias().chunk(3);
    std::vector<at::Tensor> weights{o.q_proj_weight(), o.k_proj_weight(), o.v_proj_weight()};
    if (!o.use_separate_proj_weight()) weights = o.in_proj_weight().chunk(3);
    at::Tensor q = functional::linear(query, weights[0], biases[0]) / std::sqrt(static_cast<double>(head));
    at::Tensor k = functional::linear(key, weights[1], biases[1]);
    at::Tensor v = functional::linear(value, weights[2], biases[2]);

    at::Tensor mask = o.attn_mask(), padding = o.key_padding_mask();
    if (o.bias_k().defined() && o.bias_v().defined()) {
        TORCH_CHECK(!o.static_k().defined(), "bias cannot be added to static key.");
        TORCH_CHECK(!o.static_v().defined(), "bias cannot be added to static value.");
        k = at::cat({k, o.bias_k().expand({1, batch, width})});
        v = at::cat({v, o.bias_v().expand({1, batch, width})});
        mask = widened(mask, 1);
        padding = widened(padding, 1);
    }
    const auto by_heads = [&](const at::Tensor& t) {
        return t.contiguous().view({-1, batch * heads, head}).transpose(0, 1);
    };
    q = by_heads(q);
    k = o.static_k().defined() ? o.static_k() : by_heads(k);
    v = o.static_v().defined() ? o.static_v() : by_heads(v);
    if (o.add_zero_attn()) {
        k = at::constant_pad_nd(k, {0, 0, 0, 1});
        v = at::constant_pad_nd(v, {0, 0, 0, 1});
        mask = widened(mask, 1);
        padding = widened(padding, 1);
    }
    const int64_t seen = k.size(1);
    at::Tensor scores = at::bmm(q, k.transpose(1, 2));
    // As in PyTorch's C++, a mask of truth values is a number that is added here, and what hides a key is not.
    if (mask.defined()) scores = scores + (mask.dim() == 2 ? mask.unsqueeze(0) : mask);
    if (padding.defined()) {
        TORCH_CHECK(padding.size(0) == batch && padding.size(1) == seen,
                    "multi_head_attention_forward: expected a key_padding_mask of sizes ",
                    at::IntArrayRef({batch, seen}), ", got ", padding.sizes());
        scores = scores.view({batch, heads, length, seen})
                     .masked_fill(padding.unsqueeze(1).unsqueeze(2), -std::numeric_limits<double>::infinity())
                     .view({batch * heads, length, seen});
    }
    scores = at::dropout(at::softmax(scores, -1), o.dropout_p(), o.training());
    at::Tensor result = at::bmm(scores, v).transpose(0, 1).contiguous().view({length, batch, width});
    result = functional::linear(result, o.out_proj_weight(), o.out_proj_bias());
    if (!o.need_weights()) return {result, at::Tensor()};
    scores = scores.view({batch, heads, length, seen});
    return {result, o.average_attn_weights() ? scores.sum(1) / heads : scores};
}

}  // namespace functional

class MultiheadAttentionImpl : public Cloneable<MultiheadAttentionImpl> {
  public:
    MultiheadAttentionImpl(int64_t embed_dim, int64_t num_heads)
        : MultiheadAttentionImpl(MultiheadAttentionOptions(embed_dim, num_heads)) {}
    explicit MultiheadAttentionImpl(const MultiheadAttentionOptions& given)
        : Cloneable("torch::nn::MultiheadAttention"), options(given) {
        MultiheadAttentionImpl::reset();
    }
    void reset() override {
        const int64_t width = options.embed_dim();
        _qkv_same_embed_dim = options.kdim() == width && options.vdim() == width;
        head_dim = width / options.num_heads();
        TORCH_CHECK(head_dim * options.num_heads() == width, "embed_dim must be divisible by num_heads");
        const bool one = _qkv_same_embed_dim;
        const auto added = [&](const char* name, bool on, std::vector<int64_t> sizes) {
            return register_parameter(name, on ? at::empty(sizes) : at::Tensor());
        };
        in_proj_weight = added("in_proj_weight", one, {3 * width, width});
        q_proj_weight = added("q_proj_weight", !one, {width, width});
        k_proj_weight = added("k_proj_weight", !one, {width, options.kdim()});
        v_proj_weight = added("v_proj_weight", !one, {width, options.vdim()});
        in_proj_bias = added("in_proj_bias", options.bias(), {3 * width});
        out_proj = register_module("out_proj", Linear(LinearOptions(width, width).bias(options.bias())));
        bias_k = added("bias_k", options.add_bias_kv(), {1, 1, width});
        bias_v = added("bias_v", options.add_bias_kv(), {1, 1, width});
        _reset_parameters();
    }
    void _reset_parameters() {
        for (const at::Tensor& weight : {in_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight})
            if (weight.defined()) init::xavier_uniform_(weight);
        if (in_proj_bias.defined()) {
            init::constant_(in_proj_bias, 0);
            init::constant_(out_proj->bias, 0);
        }
        for (const at::Tensor& bias : {bias_k, bias_v})
            if (bias.defined()) init::xavier_normal_(bias);
    }
    std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                               const at::Tensor& key_padding_mask = {}, bool need_weights = true,
                                               const at::Tensor& attn_mask = {}, bool average_attn_weights = true) {
        return functional::multi_head_attention_forward(
            query, key, value,
            functional::MultiheadAttentionForwardFuncOptions(options.embed_dim(), options.num_heads(), in_proj_weight,
                                                             in_proj_bias, bias_k, bias_v, options.add_zero_attn(),
                                                             options.dropout(), out_proj->weight, out_proj->bias)
                .training(is_training())
                .key_padding_mask(key_padding_mask)
                .need_weights(need_weights)
                .attn_mask(attn_mask)
                .use_separate_proj_weight(!_qkv_same_embed_dim)
                .q_proj_weight(q_proj_weight)
                .k_proj_weight(k_proj_weight)
                .v_proj_weight(v_proj_weight)
                .average_attn_weights(average_attn_weights));
    }
    MultiheadAttentionOptions options;
    bool _qkv_same_embed_dim = true;
    at::Tensor in_proj_weight, in_proj_bias, bias_k, bias_v, q_proj_weight, k_proj_weight, v_proj_weight;
    Linear out_proj = nullptr;
    int64_t head_dim = 0;

  protected:
    FORWARD_HAS_DEFAULT_ARGS({3, AnyValue(at::Tensor())}, {4, AnyValue(true)}, {5, AnyValue(at::Tensor())},
                             {6, AnyValue(true)})
};
TORCH_MODULE(MultiheadAttention);

}  // namespace nn
}  // namespace torch
