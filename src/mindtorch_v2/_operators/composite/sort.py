"""Sorting made of sorting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..table import S, T, aten, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor


@composite(
    "argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
    "The positions that sort the tensor along `dim`.",
    bind="function method",
    samples=[S(3, 4)],
    dtypes="real bool",
)
def argsort(self: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    return aten.sort(self, dim, descending)[1]


@composite(
    "argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor",
    "The positions that sort the tensor along `dim`, ties in their order.",
    bind="function method out",
    out_dtype="exact",
    samples=[S(T(3, 4), stable=True)],
    dtypes="real bool",
)
def argsort_stable(self: Tensor, *, stable: bool, dim: int = -1, descending: bool = False) -> Tensor:
    return aten.sort(self, stable=stable, dim=dim, descending=descending)[1]


@composite(
    "msort(Tensor self) -> Tensor",
    "The elements sorted along the first dimension.",
    bind="function method out",
    out_dtype="exact",
    samples=[S(3, 4)],
    dtypes="real bool",
)
def msort(self: Tensor) -> Tensor:
    return aten.sort(self, 0)[0]
