"""Attention with its projections, and a layer of a transformer's encoder, each as one operator: inference only, as in PyTorch."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

from ... import _C
from ..table import S, T, aten, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor

_WEIGHTS = "Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias"
_LAYER = (T(24, 8, grad=False), T(24, grad=False), T(8, 8, grad=False), T(8, grad=False))


def _check(query, key, value, embed_dim, num_head, weight, bias) -> None:
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.dim() != 3:
            raise RuntimeError(f"expected 3-D `{name}`, got {tensor.dim()}-D tensor")
    if query.size(2) != embed_dim:
        raise RuntimeError(f"passed-in embed_dim {embed_dim} didn't match last dim of query {query.size(2)}")
    if not query.shape == key.shape == value.shape:
        raise RuntimeError("expected `query`/`key`/`value` shapes to match")
    if weight.dim() != 2:
        raise RuntimeError(f"expected 2-D `qkv_weight`, got {weight.dim()}-D tensor")
    if weight.size(0) != 3 * embed_dim:
        raise RuntimeError("expected `qkv_weight` first dim to be 3x embed_dim")
    if weight.size(1) != embed_dim:
        raise RuntimeError("expected `qkv_weight` second dim to be embed_Dim")
    if bias.dim() != 1:
        raise RuntimeError(f"expected 1-D `qkv_bias`, got {bias.dim()}-D tensor")
    if bias.size(0) != 3 * embed_dim:
        raise RuntimeError("expected `qkv_bias` first dim and first dim of query to be equal")
    if num_head <= 0 or embed_dim % num_head:
        raise RuntimeError("`embed_dim` must divide evenly by `num_heads`")


@composite(
    f"_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, int num_head, {_WEIGHTS}, "
    "Tensor? mask=None, bool need_weights=True, bool average_attn_weights=True, int? mask_type=None) -> (Tensor, Tensor)",
    "Multi-head attention of three tensors of size (batch, length, width), projections included, and its weights.",
    bind="function generated_out",
    explicit=True,
    grad=None,
    samples=[
        S(*3 * (T(2, 3, 8, grad=False),), 8, 2, *_LAYER),
        S(*3 * (T(2, 3, 8, grad=False),), 8, 4, *_LAYER, T(2, 3, dtype="bool", high=1), True, False, 1),
    ],
)
def _native_multi_head_attention(
    query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias,
    mask=None, need_weights=True, average_attn_weights=True, mask_type=None,
):  # fmt: skip
    _check(query, key, value, embed_dim, num_head, qkv_weight, qkv_bias)
    if mask is not None and mask.dtype != _C._dtypes["bool"]:
        warnings.warn(
            "Converting mask without torch.bool dtype to bool; this will negatively affect performance. "
            "Prefer to use a boolean mask directly.",
            stacklevel=2,
        )
        mask = mask.to(_C._dtypes["bool"])
    if query.numel() == 0:
        return aten.empty_like(query), None
    size = [query.size(0), query.size(1), num_head, embed_dim // num_head]
    weights, biases = qkv_weight.chunk(3), qkv_bias.chunk(3)
    parts = [aten.linear(x, w) + b for x, w, b in zip((query, key, value), weights, biases, strict=True)]
    q, k, v = (part.view(size).transpose(1, 2) for part in parts)
    scores = aten.matmul(q * (1 / math.sqrt(size[3])), k.transpose(2, 3))
    if mask is None:
        weights = aten.softmax(scores, 3)
    else:
        weights = aten._masked_softmax(scores, mask, 3, mask_type)
    heads = aten.matmul(weights, v).transpose(1, 2).reshape(query.shape)
    result = aten.linear(heads, proj_weight, proj_bias)
    if not need_weights:
        return result, None
    return result, weights.mean(1) if average_attn_weights else weights


@composite(
    f"_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, {_WEIGHTS}, bool use_gelu, bool norm_first, "
    "float eps, Tensor norm_weight_1, Tensor norm_bias_1, Tensor norm_weight_2, Tensor norm_bias_2, Tensor ffn_weight_1, "
    "Tensor ffn_bias_1, Tensor ffn_weight_2, Tensor ffn_bias_2, Tensor? mask=None, int? mask_type=None) -> Tensor",
    "A layer of a transformer's encoder: attention and two linear layers, each with what goes in added and a layer norm.",
    bind="function generated_out",
    explicit=True,
    grad=None,
    samples=[
        S(
            *(T(2, 3, 8, grad=False), 8, 2, *_LAYER, gelu, first, 1e-5, *4 * (T(8, grad=False),)),
            *(T(16, 8, grad=False), T(16, grad=False), T(8, 16, grad=False), T(8, grad=False)),
        )
        for gelu, first in ((False, False), (True, True))
    ],
)
def _transformer_encoder_layer_fwd(
    src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu, norm_first, eps,
    norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1, ffn_weight_2, ffn_bias_2,
    mask=None, mask_type=None,
):  # fmt: skip
    def first(x: Tensor) -> Tensor:
        return aten.layer_norm(x, [embed_dim], norm_weight_1, norm_bias_1, eps)

    def second(x: Tensor) -> Tensor:
        return aten.layer_norm(x, [embed_dim], norm_weight_2, norm_bias_2, eps)

    def attend(x: Tensor) -> Tensor:
        given = (qkv_weight, qkv_bias, proj_weight, proj_bias)
        return aten._native_multi_head_attention(
            x, x, x, embed_dim, num_heads, *given, mask, need_weights=False, mask_type=mask_type
        )[0]

    def feed(x: Tensor) -> Tensor:
        x = aten.linear(x, ffn_weight_1, ffn_bias_1)
        return aten.linear(aten.gelu(x) if use_gelu else aten.relu(x), ffn_weight_2, ffn_bias_2)

    if norm_first:
        x = src + attend(first(src))
        return x + feed(second(x))
    x = first(src + attend(src))
    return second(x + feed(x))
