"""Elements replaced where a condition holds."""

from __future__ import annotations

import mindtorch_v2 as torch

__all__ = ["npu_fast_condition_index_put"]


def npu_fast_condition_index_put(x: torch.Tensor, condition: torch.Tensor, value: float) -> torch.Tensor:
    """A copy of x with `value` where `condition` is True. TypeError if that is not of booleans."""
    if condition.dtype != torch.bool:
        raise TypeError(
            f"npu_fast_condition_index_put(): condition must be of torch.bool, but it is of {condition.dtype}"
        )
    return torch.where(condition, torch.full_like(x, value), x)
