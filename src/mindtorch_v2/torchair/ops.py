"""Operators that torchair has for graphs, by its names."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

__all__ = ["npu_fused_infer_attention_score", "npu_fused_infer_attention_score_v2"]


def _numbers(lengths: Any) -> Any:
    return lengths.tolist() if isinstance(lengths, torch.Tensor) else lengths


def _with_numbers(arguments: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: _numbers(value) if name in names else value for name, value in arguments.items()}


def npu_fused_infer_attention_score(*args: Any, **kwargs: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """`torch.ops.npu.npu_fused_infer_attention_score`, whose lengths of sequences may be a tensor too.

    >>> import mindtorch_v2 as torch
    >>> from mindtorch_v2 import torchair
    >>> q, kv = torch.ones(1, 1, 8), torch.ones(1, 4, 8)
    >>> ends = torch.tensor([3])
    >>> torchair.ops.npu_fused_infer_attention_score(q, kv, kv, num_heads=2, actual_seq_lengths_kv=ends)[0].shape
    torch.Size([1, 1, 8])
    """
    lengths = ("actual_seq_lengths", "actual_seq_lengths_kv", "actual_shared_prefix_len")
    return torch.ops.npu.npu_fused_infer_attention_score(*args, **_with_numbers(kwargs, *lengths))


def npu_fused_infer_attention_score_v2(*args: Any, **kwargs: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """`torch.ops.npu.npu_fused_infer_attention_score_v2`, whose lengths of sequences may be a tensor too.

    >>> import mindtorch_v2 as torch
    >>> from mindtorch_v2 import torchair
    >>> q, kv = torch.ones(1, 1, 8), torch.ones(1, 4, 8)
    >>> torchair.ops.npu_fused_infer_attention_score_v2(q, kv, kv, num_query_heads=2, softmax_scale=0.5)[0].shape
    torch.Size([1, 1, 8])
    """
    lengths = ("actual_seq_qlen", "actual_seq_kvlen")
    return torch.ops.npu.npu_fused_infer_attention_score_v2(*args, **_with_numbers(kwargs, *lengths))
