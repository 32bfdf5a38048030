"""The middle of attention in one call."""

from __future__ import annotations

import math

import mindtorch_v2 as torch

__all__ = ["fuse_add_softmax_dropout"]


def fuse_add_softmax_dropout(
    training: bool,
    dropout: torch.nn.Module,
    attn_mask: torch.Tensor,
    attn_scores: torch.Tensor,
    attn_head_size: float,
    p: float = 0.5,
    dim: int = -1,
) -> torch.Tensor:
    """Softmax over the last dimension of attn_mask + attn_scores / sqrt(attn_head_size), with dropout of the share p.

    `dropout` is the module that programs have for the same share; it is not asked. `dim` is the last one.
    """
    scores = torch.add(attn_mask, attn_scores, alpha=1 / math.sqrt(attn_head_size))
    return torch.nn.functional.dropout(torch.softmax(scores, -1), p, training)
