"""Rows of sparse tensors by their numbers."""

from __future__ import annotations

from typing import Any

from ..._core.dimensions import wrap_dim
from ..._operators.table import aten
from .parts import INT64, coo, parts, starts_of
from .table import COO, kernel


def gather_groups(starts: Any, wanted: Any) -> tuple[Any, Any]:
    """Of items in groups that begin at ``starts``: the number in ``wanted`` and the position of each item that is taken."""
    first = starts.index_select(0, wanted)
    counts = starts.index_select(0, wanted + 1) - first
    place = aten.repeat_interleave(counts)
    before = aten.cumsum(counts, 0) - counts
    return place, aten.arange(place.shape[0], dtype=INT64, device=place.device) - (before - first).index_select(
        0, place
    )


@kernel("index_select", COO)
def _index_select(self, dim, index):
    dim = wrap_dim(dim, self.dim())
    index = index.to(INT64).reshape(-1)
    length = self.shape[dim]
    outside = (index < -length) | (index >= length)
    if bool(outside.any()):
        raise IndexError(
            f"index_select(): index contains {int(index[outside][0])} that is out of range for tensor of size {list(self.shape)} at dimension {dim}"
        )
    index = aten.remainder(index, length) if length else index
    p, count = parts(self), parts(self).indices.shape[0]
    size = [*self.shape[:dim], index.shape[0], *self.shape[dim + 1 :]]
    if dim >= count:
        return coo(p.indices, p.values.index_select(dim - count + 1, index), size, p.coalesced)
    at, order = aten.sort(p.indices[dim], stable=True)
    place, position = gather_groups(starts_of(at, length), index)
    taken = order.index_select(0, position)
    rows = list(p.indices.index_select(1, taken).unbind(0))
    rows[dim] = place
    return coo(aten.stack(rows), p.values.index_select(0, taken), size)
