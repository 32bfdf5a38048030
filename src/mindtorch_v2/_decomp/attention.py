"""Attention in terms of matrix products."""

from __future__ import annotations

import math

import mindtorch_v2 as torch
from mindtorch_v2._decomp._registry import register_decomposition

aten = torch.ops.aten

__all__: list[str] = []


@register_decomposition(aten._scaled_dot_product_flash_attention_for_cpu.default)
def scaled_dot_product_flash_attention_for_cpu(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: torch.Tensor | None = None,
    scale: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    if dropout_p:
        raise RuntimeError(f"attention is taken apart without dropout: dropout_p must be 0.0, got {dropout_p}")
    groups = query.shape[1] // key.shape[1]
    if groups > 1:  # heads that share one of the keys
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    if query.dtype in (torch.float16, torch.bfloat16):
        query, key = query.float(), key.float()
    scores = torch.matmul(query * (1 / math.sqrt(query.shape[-1]) if scale is None else scale), key.transpose(-2, -1))
    if is_causal:
        rows, columns = (torch.arange(size, device=query.device) for size in scores.shape[-2:])
        scores = torch.where(columns <= rows.unsqueeze(-1), scores, float("-inf"))
    if attn_mask is not None:
        masked = attn_mask.dtype == torch.bool
        scores = torch.where(attn_mask, scores, float("-inf")) if masked else scores + attn_mask
    total = aten.logsumexp.default(scores, [-1], True)
    weights = torch.where(total == float("-inf"), 0, torch.exp(scores - total))  # rows that see nothing give zeros
    return torch.matmul(weights.to(value.dtype), value), total.squeeze(-1)
