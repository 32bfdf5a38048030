"""Attention with several heads over packed rows, and weights of which blocks are dropped while it is trained."""

from __future__ import annotations

import math
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.npu._error_code import ErrCode, ops_error

__all__ = ["MultiheadAttention"]


def _quant_noise(module: nn.Module, p: float, block_size: int) -> nn.Module:
    """The module, which from now on drops blocks of its weight with probability `p` before each step of training.

    The noise of "Training with Quantization Noise for Extreme Model Compression" (Fan et al. 2020), for Linear, Embedding and Conv2d.
    """
    if p <= 0:
        return module
    if not isinstance(module, (nn.Linear, nn.Embedding, nn.Conv2d)):
        raise TypeError(
            f"quantization noise is for Linear, Embedding and Conv2d, not for {type(module).__name__}"
            + ops_error(ErrCode.TYPE)
        )
    whole = isinstance(module, nn.Conv2d) and module.kernel_size != (1, 1)  # a block is a kernel
    length = math.prod(module.kernel_size) if whole else module.weight.shape[1]
    if length % block_size:
        raise ValueError(
            f"the weight's blocks of {block_size} must divide {length} elements: {list(module.weight.shape)}"
            + ops_error(ErrCode.VALUE)
        )

    def drop(noisy: Any, _: Any) -> None:
        if not noisy.training:
            return
        weight = noisy.weight
        if whole:
            mask = weight.new_empty(weight.shape[:2]).bernoulli_(p)[..., None, None]
        else:
            blocks = weight.new_empty(weight.shape[0], length // block_size).bernoulli_(p)
            mask = blocks.repeat_interleave(block_size, 1).reshape(weight.shape)
        weight.data = weight.data.masked_fill(mask.bool(), 0) / (1 - p)

    module.register_forward_pre_hook(drop)
    return module


class _NpuLinear(nn.Linear):
    """Linear over rows (N, in) or (B, T, in)."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        if input.dim() not in (2, 3):
            raise RuntimeError(
                f"the input must have 2 or 3 dimensions, but its sizes are {list(input.shape)}"
                + ops_error(ErrCode.NOT_SUPPORT)
            )
        return super().forward(input)


class _MHAConfig:
    """Whether attention is computed, as torch_npu asks a program to say."""

    use_fussion_mha = False

    @classmethod
    def set_fussion(cls) -> None:
        """Say that it is."""
        cls.use_fussion_mha = True


class MultiheadAttention(nn.Module):
    """Attention of `num_heads` heads; rows of a batch lie below one another.

    Args:
        kdim, vdim: features of keys and values, those of the queries by default.
        add_bias_kv, add_zero_attn: kept as attributes; `forward` does not use them, as torch_npu's does not.
        self_attention: queries, keys and values have the same features (ValueError otherwise).
        q_noise, qn_block_size: the probability with which blocks of the weights are dropped, and their length.
    """

    def __init__(
        self, embed_dim: int, num_heads: int, kdim: int | None = None, vdim: int | None = None, dropout: float = 0.0,
        bias: bool = True, add_bias_kv: bool = False, add_zero_attn: bool = False, self_attention: bool = False,
        encoder_decoder_attention: bool = False, q_noise: float = 0.0, qn_block_size: int = 8,
    ) -> None:  # fmt: skip
        super().__init__()
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self.qkv_same_dim = self.kdim == self.vdim == embed_dim
        if embed_dim % num_heads:
            raise ValueError(
                f"embed_dim {embed_dim} must be divisible by num_heads {num_heads}" + ops_error(ErrCode.VALUE)
            )
        if self_attention and not self.qkv_same_dim:
            raise ValueError(
                f"self-attention needs queries, keys and values of one size, not {embed_dim}, {self.kdim} and {self.vdim}"
                + ops_error(ErrCode.VALUE)
            )
        self.head_dim = embed_dim // num_heads
        self.scaling, self.dropout_prob = self.head_dim**-0.5, dropout
        self.self_attention, self.encoder_decoder_attention = self_attention, encoder_decoder_attention

        def linear(features: int) -> Any:
            return _quant_noise(_NpuLinear(features, embed_dim, bias=bias), q_noise, qn_block_size)

        self.k_proj, self.v_proj = linear(self.kdim), linear(self.vdim)
        self.q_proj, self.out_proj = linear(embed_dim), linear(embed_dim)
        self.bias_k = nn.Parameter(torch.empty(1, 1, embed_dim)) if add_bias_kv else None
        self.bias_v = nn.Parameter(torch.empty(1, 1, embed_dim)) if add_bias_kv else None
        self.add_zero_attn = add_zero_attn
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights anew."""
        gain = 1 / math.sqrt(2) if self.qkv_same_dim else 1.0
        for projection in (self.k_proj, self.v_proj, self.q_proj):
            nn.init.xavier_uniform_(projection.weight, gain=gain)
        nn.init.xavier_uniform_(self.out_proj.weight)
        if self.out_proj.bias is not None:
            nn.init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                nn.init.xavier_normal_(bias)

    def forward(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, bsz: int, tgt_len: int, s_len: int,
        key_padding_mask: torch.Tensor | None = None, incremental_state: Any = None, need_weights: bool = True,
        static_kv: bool = False, attn_mask: torch.Tensor | None = None, before_softmax: bool = False,
        need_head_weights: bool = False,
    ) -> tuple[torch.Tensor | None, None]:  # fmt: skip
        """Rows (bsz * tgt_len, embed_dim) from queries and (bsz * s_len, ...) keys and values, and None for the weights.

        `key_padding_mask` (bsz, num_heads or 1, tgt_len, s_len) is added to the scores. Nothing is computed before
        `_MHAConfig.set_fussion()`, as in torch_npu. The weights take the dtype of the rows.
        """
        if not _MHAConfig.use_fussion_mha:
            return None, None

        def project(layer: nn.Linear, rows: torch.Tensor) -> torch.Tensor:
            bias = None if layer.bias is None else layer.bias.to(rows.dtype)
            return nn.functional.linear(rows, layer.weight.to(rows.dtype), bias)

        def heads(layer: nn.Linear, rows: torch.Tensor) -> torch.Tensor:
            return project(layer, rows).view(bsz, -1, self.num_heads, self.head_dim).transpose(1, 2)

        q, k, v = heads(self.q_proj, query), heads(self.k_proj, key), heads(self.v_proj, value)
        rate = self.dropout_prob if self.training else 0.0
        attended = nn.functional.scaled_dot_product_attention(q, k, v, key_padding_mask, rate, scale=self.scaling)
        return project(self.out_proj, attended.transpose(1, 2).reshape(bsz * tgt_len, self.embed_dim)), None
