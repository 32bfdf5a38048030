"""Gradients of products of matrices, of operators that every device has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..._operators.table import aten

if TYPE_CHECKING:
    from ..._tensor import Tensor


def matmul_backward(
    grad_output: Tensor,
    self: Tensor,
    other: Tensor,
    mask: Sequence[bool],
    grad_self: Tensor | None,
    grad_other: Tensor | None,
) -> None:
    """Fill the gradients of `matmul`, for operands of any number of dimensions; None for one that is not wanted."""
    if not (self.numel() and other.numel() and grad_output.numel()):
        for gradient in (grad_self, grad_other):
            if gradient is not None:
                aten.zero_(gradient)
        return
    a = self.unsqueeze(0) if self.dim() == 1 else self
    b = other.unsqueeze(1) if other.dim() == 1 else other
    upstream = grad_output
    if other.dim() == 1:
        upstream = upstream.unsqueeze(-1)
    if self.dim() == 1:
        upstream = upstream.unsqueeze(-2)
    if grad_self is not None:
        gradient = aten.matmul(upstream, b.conj().transpose(-1, -2))
        aten.copy_(grad_self, _to_sizes(gradient, a.shape).view(self.shape))
    if grad_other is not None:
        if b.dim() == 2 and a.dim() > 2:  # one matrix for all rows: the sum over them is the product's own
            rows, flat = a.conj().reshape(-1, a.shape[-1]), upstream.reshape(-1, upstream.shape[-1])
            gradient = aten.mm(rows.t(), flat)
        else:
            gradient = _to_sizes(aten.matmul(a.conj().transpose(-1, -2), upstream), b.shape)
        aten.copy_(grad_other, gradient.view(other.shape))


def _to_sizes(gradient: Tensor, sizes: Sequence[int]) -> Tensor:
    """The gradient summed over what was broadcast."""
    return gradient if gradient.shape == sizes else gradient.sum_to_size(sizes)
