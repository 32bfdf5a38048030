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


@register_decomposition([aten.all.default, aten.all.dim, aten.all.dims])
def all(self: torch.Tensor, dim: Dims = None, keepdim: bool = False) -> torch.Tensor:
    named = dim if isinstance(dim, int) else None if dim is None else list(dim)
    false = torch.logical_not(self)
    some = torch.any(false) if named is None else torch.any(false, named, keepdim)
    kept = torch.logical_not(some)
    return kept.to(torch.uint8) if self.dtype == torch.uint8 else kept


@register_decomposition(aten.sum.default)
def sum(self: torch.Tensor, *, dtype: torch.dtype | None = None) -> torch.Tensor:
    return aten.sum.dim_IntList(self, [], False, dtype=dtype)


@register_decomposition(aten.logsumexp.default)
@in_float32
def logsumexp(self: torch.Tensor, dim: Dims, keepdim: bool = False) -> torch.Tensor:
    dims = _dims(self, dim)
    self = self if self.dtype.is_floating_point or self.is_complex() else self.to(torch.get_default_dtype())
    if self.numel() == 0:
        return torch.log(torch.exp(self).sum(dims, keepdim=keepdim))
    largest = torch.amax(torch.real(self) if self.is_complex() else self, dims, keepdim=True)
    largest = torch.where(torch.abs(largest) == float("inf"), 0, largest)
    found = torch.log(torch.exp(self - largest).sum(dims, keepdim=True)) + largest
    return found if keepdim else aten.squeeze.dims(found, dims)


# ---- products ----


@register_decomposition(aten.dot.default)
@in_float32
def dot(self: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
    return (self * tensor).sum(dtype=self.dtype)


@register_decomposition(aten.vdot.default)
@in_float32
def vdot(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return (torch.conj(self) * other).sum(dtype=self.dtype)


@register_decomposition(aten.mv.default)
@in_float32
def mv(self: torch.Tensor, vec: torch.Tensor) -> torch.Tensor:
    return (self * vec).sum(1, dtype=self.dtype)


@register_decomposition(aten.baddbmm.default)
def baddbmm(
    self: torch.Tensor, batch1: torch.Tensor, batch2: torch.Tensor, *, beta: Number = 1, alpha: Number = 1
) -> torch.Tensor:
    product = torch.bmm(batch1, batch2)
    product = product if alpha == 1 else product * alpha
    return product if beta == 0 else product + (self if beta == 1 else self * beta)
