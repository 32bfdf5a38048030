"""Sorting made of sorting."""

from __future__ import annotations

from ..table import S, T, aten, composite


@composite(
    "argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
    "The positions that sort the tensor along `dim`.",
    bind="function method",
    samples=[S(3, 4)],
    dtypes="real bool",
)
def argsort(self, dim=-1, descending=False):
    return aten.sort(self, dim, descending)[1]


@composite(
    "argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor",
    "The positions that sort the tensor along `dim`, ties in their order.",
    bind="function method",
    samples=[S(T(3, 4), stable=True)],
    dtypes="real bool",
)
def argsort_stable(self, *, stable, dim=-1, descending=False):
    return aten.sort(self, stable=stable, dim=dim, descending=descending)[1]


@composite(
    "msort(Tensor self) -> Tensor",
    "The elements sorted along the first dimension.",
    bind="function method out",
    samples=[S(3, 4)],
    dtypes="real bool",
)
def msort(self):
    return aten.sort(self, 0)[0]
