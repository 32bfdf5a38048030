"""The product with a transposed factor as an autograd function, which keeps the factors as they came."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor

__all__ = ["MatmulApply"]


class MatmulApply(torch.autograd.Function):
    """self @ mat2 with its last two dimensions swapped; both have the same leading sizes."""

    @staticmethod
    def forward(ctx: Any, self: Tensor, mat2: Tensor) -> Tensor:
        """The product."""
        ctx.save_for_backward(self, mat2)
        return torch.matmul(self, mat2.transpose(-2, -1))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        """Gradients of both factors."""
        self, mat2 = ctx.saved_tensors
        return torch.matmul(grad, mat2), torch.matmul(grad.transpose(-2, -1), self)
