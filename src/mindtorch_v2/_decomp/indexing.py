"""Operators that take and put elements, in terms of simpler ones."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._decomp._registry import register_decomposition
from mindtorch_v2.types import Number

aten = torch.ops.aten

__all__: list[str] = []


def _at(self: torch.Tensor, dim: int, index: torch.Tensor) -> list[torch.Tensor | None]:
    """`index` in the place of a dimension, among the indices of all."""
    return [None] * (dim % max(self.dim(), 1)) + [index]


@register_decomposition(aten.index_add.default)
def index_add(
    self: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor, *, alpha: Number = 1
) -> torch.Tensor:
    source = source if alpha == 1 else source * alpha
    if self.dim() == 0:
        return aten.index_add.default(self.reshape(1), 0, index, source.reshape(-1)).reshape(())
    return torch.index_put(self, _at(self, dim, index), source, accumulate=True)


@register_decomposition([aten.index_fill.int_Scalar, aten.index_fill.int_Tensor])
def index_fill(self: torch.Tensor, dim: int, index: torch.Tensor, value: torch.Tensor | Number) -> torch.Tensor:
    filled = (
        value.to(self.dtype)
        if isinstance(value, torch.Tensor)
        else torch.full((), value, dtype=self.dtype, device=self.device)
    )
    if self.dim() == 0:
        return torch.index_put(self.reshape(1), [index.reshape(-1)], filled).reshape(())
    return torch.index_put(self, _at(self, dim, index.reshape(-1)), filled)


@register_decomposition(aten.take.default)
def take(self: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return torch.index_select(
        self.reshape(-1), 0, torch.where(index < 0, index + self.numel(), index).reshape(-1)
    ).reshape(index.shape)


@register_decomposition([aten.bucketize.Tensor])
def bucketize(
    self: torch.Tensor, boundaries: torch.Tensor, *, out_int32: bool = False, right: bool = False
) -> torch.Tensor:
    beyond = boundaries > self.unsqueeze(-1) if right else boundaries >= self.unsqueeze(-1)
    return torch.logical_not(beyond).sum(-1).to(torch.int32 if out_int32 else torch.int64)


@register_decomposition(aten.squeeze.dims)
def squeeze(self: torch.Tensor, dim: list[int]) -> torch.Tensor:
    for each in sorted((d % max(self.dim(), 1) for d in dim), reverse=True):
        self = torch.squeeze(self, each)
    return self


@register_decomposition(aten.index_copy.default)
def index_copy(self: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    if self.dim() == 0:
        return torch.index_put(self.reshape(1), [index.reshape(-1)], source.reshape(-1)).reshape(())
    return torch.index_put(self, _at(self, dim, index.reshape(-1)), source)


@register_decomposition([aten.isin.Tensor_Tensor, aten.isin.Tensor_Scalar, aten.isin.Scalar_Tensor])
def isin(
    elements: torch.Tensor | Number,
    test_elements: torch.Tensor | Number,
    *,
    assume_unique: bool = False,
    invert: bool = False,
) -> torch.Tensor:
    found: Any
    if isinstance(elements, torch.Tensor) and isinstance(test_elements, torch.Tensor):
        found = (elements.unsqueeze(-1) == test_elements.reshape(-1)).any(-1)
    else:
        equal: Any = (
            torch.eq(test_elements, elements) if isinstance(test_elements, torch.Tensor) else elements == test_elements
        )
        found = equal if isinstance(elements, torch.Tensor) else equal.any()
    return torch.logical_not(found) if invert else found
