"""Reductions in terms of simpler ones."""

from __future__ import annotations

from collections.abc import Sequence

import mindtorch_v2 as torch
from mindtorch_v2._decomp._precision import in_float32
from mindtorch_v2._decomp._registry import register_decomposition
from mindtorch_v2.types import Number

aten = torch.ops.aten

__all__: list[str] = []


Dims = int | Sequence[int] | None


def _dims(self: torch.Tensor, dim: Dims) -> list[int]:
    """The dimensions that are named; all if none are."""
    named = [dim] if isinstance(dim, int) else list(dim or ())
    return named or list(range(self.dim()))


def _count(self: torch.Tensor, dims: Sequence[int]) -> int:
    count = 1
    for dim in dims:
        count = count * self.shape[dim]
    return count


@register_decomposition(aten.var.correction)
@in_float32
def var(
    self: torch.Tensor, dim: Dims = None, *, correction: Number | None = None, keepdim: bool = False
) -> torch.Tensor:
    dims = _dims(self, dim)
    correction = 1 if correction is None else correction
    centred = self - self.mean(dims, keepdim=True)
    squares = torch.real(centred * torch.conj(centred)) if self.is_complex() else centred * centred
    freedom = _count(self, dims) - correction
    return squares.sum(dims, keepdim=keepdim) / (freedom if freedom > 0 else 0)


@register_decomposition(aten.std.correction)
@in_float32
def std(
    self: torch.Tensor, dim: Dims = None, *, correction: Number | None = None, keepdim: bool = False
) -> torch.Tensor:
    return torch.sqrt(aten.var.correction(self, dim, correction=correction, keepdim=keepdim))


@register_decomposition(aten.var_mean.correction)
@in_float32
def var_mean(
    self: torch.Tensor, dim: Dims = None, *, correction: Number | None = None, keepdim: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    spread = aten.var.correction(self, dim, correction=correction, keepdim=keepdim)
    return spread, self.mean(_dims(self, dim), keepdim=keepdim)


@register_decomposition(aten.std_mean.correction)
@in_float32
def std_mean(
    self: torch.Tensor, dim: Dims = None, *, correction: Number | None = None, keepdim: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    spread, mean = aten.var_mean.correction(self, dim, correction=correction, keepdim=keepdim)
    return torch.sqrt(spread), mean


@register_decomposition(aten.aminmax.default)
def aminmax(self: torch.Tensor, *, dim: int | None = None, keepdim: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    dims = list(range(self.dim())) if dim is None else [dim]
    return torch.amin(self, dims, keepdim), torch.amax(self, dims, keepdim)


@register_decomposition([aten.count_nonzero.default, aten.count_nonzero.dim_IntList])
def count_nonzero(self: torch.Tensor, dim: Dims = None) -> torch.Tensor:
    return (self != 0).sum(_dims(self, dim))


@register_decomposition(aten.nansum.default)
def nansum(
    self: torch.Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> torch.Tensor:
    kept = torch.where(torch.isnan(self), 0, self) if self.dtype.is_floating_point else self
    return kept.sum(_dims(self, dim), keepdim=keepdim, dtype=dtype)


@register_decomposition(aten.trace.default)
def trace(self: torch.Tensor) -> torch.Tensor:
    return torch.diagonal(self).sum()
