"""Decompositions of operators that have kernels of their own."""

from __future__ import annotations

from collections.abc import Sequence

import mindtorch_v2 as torch
from mindtorch_v2._decomp._registry import register_decomposition

aten = torch.ops.aten

__all__ = []


@register_decomposition(aten.silu.default)
def silu(self: torch.Tensor) -> torch.Tensor:
    return self * torch.sigmoid(self)


@register_decomposition(aten.linear.default)
def linear(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    product = torch.matmul(input, weight.t())
    return product if bias is None else product + bias


@register_decomposition(aten.addmm.default)
def addmm(self: torch.Tensor, mat1: torch.Tensor, mat2: torch.Tensor, *, beta: int = 1, alpha: int = 1) -> torch.Tensor:
    product = torch.mm(mat1, mat2)
    product = product if alpha == 1 else product * alpha
    return product + (self if beta == 1 else self * beta)


@register_decomposition(aten._softmax.default)
def softmax(x: torch.Tensor, dim: int, half_to_float: bool) -> torch.Tensor:
    x = x.float() if half_to_float else x
    shifted = torch.exp(x - torch.amax(x, dim, keepdim=True))
    return shifted / shifted.sum(dim, keepdim=True)


@register_decomposition(aten._log_softmax.default)
def log_softmax(x: torch.Tensor, dim: int, half_to_float: bool) -> torch.Tensor:
    x = x.float() if half_to_float else x
    shifted = x - torch.amax(x, dim, keepdim=True)
    return shifted - torch.log(torch.exp(shifted).sum(dim, keepdim=True))


@register_decomposition(aten.native_layer_norm.default)
def native_layer_norm(
    input: torch.Tensor,
    normalized_shape: Sequence[int],
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    eps: float,
) -> tuple:
    dims = list(range(input.dim() - len(normalized_shape), input.dim()))
    mean = input.mean(dims, keepdim=True)
    rstd = torch.rsqrt(input.var(dims, correction=0, keepdim=True) + eps)
    out = (input - mean) * rstd
    out = out if weight is None else out * weight
    return out if bias is None else out + bias, mean, rstd
