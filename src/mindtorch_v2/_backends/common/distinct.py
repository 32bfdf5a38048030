"""Distinct elements and slices by sorting, for back ends whose device sorts: results are as long as there are distinct ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..._core.dtype import DTYPES
from ..._operators.table import aten

if TYPE_CHECKING:
    from ..._tensor import Tensor


def _grouped(begins: Tensor, return_inverse: bool, return_counts: bool) -> tuple[Tensor, Tensor, Tensor]:
    """(where runs begin, the run of each element, lengths of the runs); what is not asked for is empty."""
    n = begins.shape[0]
    inverse = counts = aten.new_empty(begins, [0], dtype=DTYPES["int64"])
    places = aten.nonzero(begins).view(-1)
    if return_inverse:
        inverse = begins.cumsum(0) - 1
    if return_counts and n:
        counts = aten.cat([places.narrow(0, 1, places.shape[0] - 1), aten.new_full(places, [1], n)]) - places
    return places, inverse, counts


def _begins(changed: Tensor, n: int) -> Tensor:
    """Where runs begin: at the first, and where something changed."""
    begins = aten.new_ones(changed, [n], dtype=DTYPES["bool"])
    if n > 1:
        begins.narrow(0, 1, n - 1).copy_(changed)
    return begins


def _of(ordered: Tensor, return_inverse: bool, return_counts: bool) -> tuple[Tensor, Tensor, Tensor]:
    """(one of each run, the run of each element, lengths of the runs) of a vector."""
    n = ordered.shape[0]
    changed = ordered.narrow(0, 1, max(n - 1, 0)) != ordered.narrow(0, 0, max(n - 1, 0)) if n else ordered
    places, inverse, counts = _grouped(_begins(changed, n), return_inverse, return_counts)
    return ordered.index_select(0, places), inverse, counts


def runs(self: Tensor, return_inverse: bool, return_counts: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Runs of equal neighbours: (one of each, the run of each element, lengths)."""
    found, run, counts = _of(self.reshape(-1), return_inverse, return_counts)
    return found, run.view(self.shape) if return_inverse else run, counts


def distinct(self: Tensor, return_inverse: bool, return_counts: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Distinct elements, sorted: (those, the place of each element among them, how often each occurs)."""
    values, order = self.reshape(-1).sort()
    found, run, counts = _of(values, return_inverse, return_counts)
    if return_inverse and self.numel():
        run = aten.empty_like(run).index_copy(0, order, run)
    return found, run.view(self.shape) if return_inverse else run, counts


def slices(
    self: Tensor, dim: int, ordered: bool, return_inverse: bool, return_counts: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Distinct slices along a dimension; `ordered`: sorted, else runs of equal ones.

    Raises:
        RuntimeError: no dimension, or slices without elements.
    """
    if self.dim() == 0:
        raise RuntimeError("unique_dim: expected a tensor of at least one dimension")
    n = self.shape[dim]
    if self.numel() == 0 and n:
        raise RuntimeError(
            "There are 0 sized dimensions, and they aren't selected by `dim`, so unique cannot be applied"
        )
    rows = aten.transpose(self, 0, dim).reshape(n, -1) if n else aten.new_empty(self, [0, 1])
    order = aten.arange(n, device=self.device)
    if ordered:
        for column in range(rows.shape[1] - 1, -1, -1):  # the last column first: each sort keeps the order of equals
            key = rows.select(1, column).index_select(0, order)
            order = order.index_select(0, aten.sort(key, stable=True)[1])
    sorted_rows = rows.index_select(0, order)
    changed = (sorted_rows.narrow(0, 1, max(n - 1, 0)) != sorted_rows.narrow(0, 0, max(n - 1, 0))).any(1) if n else rows
    places, run, counts = _grouped(_begins(changed, n), return_inverse, return_counts)
    if return_inverse and n:
        run = aten.empty_like(run).index_copy(0, order, run)
    return aten.index_select(self, dim, order.index_select(0, places)), run, counts


def register_distinct(kernel: Callable[..., Any]) -> None:
    """Register the operators of distinct elements and slices; `kernel` states a function as the kernel of rows."""

    @kernel("_unique2")
    def unique2(
        self: Tensor, ordered: bool = True, return_inverse: bool = False, return_counts: bool = False
    ) -> tuple[Tensor, Tensor, Tensor]:
        return distinct(self, return_inverse, return_counts)

    @kernel("_unique")
    def unique(self: Tensor, ordered: bool = True, return_inverse: bool = False) -> tuple[Tensor, Tensor]:
        return distinct(self, return_inverse, False)[:2]

    @kernel("unique_consecutive")
    def unique_consecutive(
        self: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        if dim is not None:
            return slices(self, dim, False, return_inverse, return_counts)
        return runs(self, return_inverse, return_counts)

    @kernel("unique_dim")
    def unique_dim(
        self: Tensor, dim: int, ordered: bool = True, return_inverse: bool = False, return_counts: bool = False
    ) -> tuple[Tensor, Tensor, Tensor]:
        return slices(self, dim, True, True, True)

    @kernel("unique_dim_consecutive")
    def unique_dim_consecutive(
        self: Tensor, dim: int, return_inverse: bool = False, return_counts: bool = False
    ) -> tuple[Tensor, Tensor, Tensor]:
        return slices(self, dim, False, True, True)
