"""Decompositions of operators that have kernels of their own."""

from __future__ import annotations

from collections.abc import Sequence

import mindtorch_v2 as torch
from mindtorch_v2._decomp._precision import in_float32
from mindtorch_v2._decomp._registry import register_decomposition

aten = torch.ops.aten

__all__ = []


@register_decomposition(aten.silu.default)
def silu(self: torch.Tensor) -> torch.Tensor:
    return self * torch.sigmoid(self)


@register_decomposition(aten.addmm.default)
@in_float32
def addmm(self: torch.Tensor, mat1: torch.Tensor, mat2: torch.Tensor, *, beta: int = 1, alpha: int = 1) -> torch.Tensor:
    product = torch.mm(mat1, mat2)
    product = product if alpha == 1 else product * alpha
    return product + (self if beta == 1 else self * beta)


@register_decomposition(aten._softmax.default)
def softmax(x: torch.Tensor, dim: int, half_to_float: bool) -> torch.Tensor:
    wide = _wide(x)
    shifted = torch.exp(wide - torch.amax(wide, dim, keepdim=True))
    made = shifted / shifted.sum(dim, keepdim=True)
    return made if half_to_float else made.to(x.dtype)


@register_decomposition(aten._log_softmax.default)
def log_softmax(x: torch.Tensor, dim: int, half_to_float: bool) -> torch.Tensor:
    wide = _wide(x)
    shifted = wide - torch.amax(wide, dim, keepdim=True)
    made = shifted - torch.log(torch.exp(shifted).sum(dim, keepdim=True))
    return made if half_to_float else made.to(x.dtype)


def _wide(x: torch.Tensor) -> torch.Tensor:
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


@register_decomposition(aten.native_layer_norm.default)
@in_float32
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
