"""Products with a transposed factor."""

from __future__ import annotations

import mindtorch_v2 as torch

__all__ = ["matmul_transpose"]


def matmul_transpose(tensor1: torch.Tensor, tensor2: torch.Tensor) -> torch.Tensor:
    """tensor1 @ tensor2 with its last two dimensions swapped."""
    return torch.matmul(tensor1, tensor2.transpose(-2, -1))
