"""Dropout by its older name."""

from __future__ import annotations

import mindtorch_v2 as torch

__all__ = ["dropout_with_byte_mask"]


def dropout_with_byte_mask(
    input1: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> torch.Tensor:
    """`torch.nn.functional.dropout`; ValueError where it is asked to write its input."""
    if inplace:
        raise ValueError("dropout_with_byte_mask(): inplace must be False")
    return torch.nn.functional.dropout(input1, p, training)
