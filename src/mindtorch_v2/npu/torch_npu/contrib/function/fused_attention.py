"""Self-attention of BERT with its projections, over rows of a batch below one another."""

from __future__ import annotations

from collections.abc import Sequence

import mindtorch_v2 as torch
from mindtorch_v2.npu._error_code import ErrCode, ops_error

from ...formats import get_npu_format

__all__ = ["npu_fused_attention", "npu_fused_attention_with_layernorm"]

_NZ, _ND = 29, 2
_FEATURES = (768, 1024)
_HEAD = 64  # features of a head


def _is_format_matched(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether hidden states, mask and three weights are in FRACTAL_NZ, and the three biases in ND."""
    return [get_npu_format(each) for each in tensors] == [_NZ] * 5 + [_ND] * 3


def _check(hidden_states: torch.Tensor, attention_mask: torch.Tensor, weights: Sequence[torch.Tensor]) -> None:
    """RuntimeError for sizes that the operator does not take."""
    wrong = None
    if hidden_states.dim() != 2 or hidden_states.shape[0] % 32 or hidden_states.shape[1] not in _FEATURES:
        wrong = f"hidden_states must be (a multiple of 32, 768 or 1024), but it is {list(hidden_states.shape)}"
    elif (
        attention_mask.dim() != 4 or attention_mask.shape[1] != 1 or attention_mask.shape[2] != attention_mask.shape[3]
    ):
        wrong = f"attention_mask must be (B, 1, S, S), but it is {list(attention_mask.shape)}"
    elif any(weight.shape[0] not in _FEATURES for weight in weights):
        wrong = f"the weights must have 768 or 1024 rows, but their sizes are {[list(w.shape) for w in weights]}"
    if wrong:
        raise RuntimeError(f"npu_fused_attention(): {wrong}" + ops_error(ErrCode.VALUE))


def _check_compatibility_once(
    hidden_states: torch.Tensor, attention_mask: torch.Tensor, query_kernel: torch.Tensor, key_kernel: torch.Tensor,
    value_kernel: torch.Tensor, query_bias: torch.Tensor, key_bias: torch.Tensor, value_bias: torch.Tensor,
    gamma: torch.Tensor | None = None, beta: torch.Tensor | None = None,
) -> None:  # fmt: skip
    """RuntimeError for formats and sizes that CANN's operator of BERT does not take. Each call looks."""
    weights = query_kernel, key_kernel, value_kernel
    if not _is_format_matched([hidden_states, attention_mask, *weights, query_bias, key_bias, value_bias]):
        raise RuntimeError(
            "npu_fused_attention(): hidden states, mask and weights must be in FRACTAL_NZ (29), biases in ND (2)"
            + ops_error(ErrCode.VALUE)
        )
    _check(hidden_states, attention_mask, weights)


def npu_fused_attention(
    hidden_states: torch.Tensor, attention_mask: torch.Tensor, query_kernel: torch.Tensor, key_kernel: torch.Tensor,
    value_kernel: torch.Tensor, query_bias: torch.Tensor, key_bias: torch.Tensor, value_bias: torch.Tensor,
    scale: float = 1, keep_prob: float = 0,
) -> torch.Tensor:  # fmt: skip
    """Attention of heads of 64 features within each sequence: rows (B * S, E) from rows (B * S, E).

    Args:
        attention_mask: (B, 1, S, S), added to the scores.
        query_kernel, key_kernel, value_kernel: (E, E), multiplied from the right.
        scale: what scores are multiplied by.
        keep_prob: the share of the weights that is kept; 0 and 1 keep all.
    """
    _check(hidden_states, attention_mask, (query_kernel, key_kernel, value_kernel))
    batch, features = attention_mask.shape[0], hidden_states.shape[1]
    pairs = (query_kernel, query_bias), (key_kernel, key_bias), (value_kernel, value_bias)
    q, k, v = (
        (hidden_states @ kernel + bias).view(batch, -1, features // _HEAD, _HEAD).transpose(1, 2)
        for kernel, bias in pairs
    )
    attended = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, attention_mask.to(q.dtype), 1 - keep_prob if keep_prob else 0.0, scale=scale
    )
    return attended.transpose(1, 2).reshape(hidden_states.shape)


def npu_fused_attention_with_layernorm(
    hidden_states: torch.Tensor, attention_mask: torch.Tensor, query_kernel: torch.Tensor, key_kernel: torch.Tensor,
    value_kernel: torch.Tensor, query_bias: torch.Tensor, key_bias: torch.Tensor, value_bias: torch.Tensor,
    gamma: torch.Tensor, beta: torch.Tensor, scale: float = 1, keep_prob: float = 0,
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """`npu_fused_attention` of the normalised rows, and these."""
    norm = torch.nn.functional.layer_norm(hidden_states, (hidden_states.shape[1],), gamma, beta)
    attended = npu_fused_attention(
        norm, attention_mask, query_kernel, key_kernel, value_kernel, query_bias, key_bias, value_bias, scale, keep_prob
    )
    return attended, norm
