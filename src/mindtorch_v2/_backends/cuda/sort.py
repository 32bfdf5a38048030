"""Order of rows: the launches of `kernels/sort.cuh`, and what is picked by rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._core.dtype import DTYPES
from ..._operators.table import aten
from .table import WORDS, Source, blocks, element, pack

if TYPE_CHECKING:
    from ..._tensor import Tensor

_TILES, _MERGE = Source("sort.cuh", "sort_tiles"), Source("sort.cuh", "merge_runs")
_TAKE = Source("take_sorted.cuh", "take_sorted")
_LARGEST_TILE = 1024


def order(rows: Tensor, descending: bool = False) -> Tensor:
    """The places, int32, that sort each row of a contiguous matrix; equal elements keep their order, NaN is above all.

    Raises:
        RuntimeError: rows of 2^31 elements and more.
    """
    count, n = rows.shape
    if n >= 1 << 31:
        raise RuntimeError(f"sort: rows of 2^31 elements and more are not supported on CUDA, and one has {n}")
    wide = rows.dtype.itemsize == 8
    tile = min(_LARGEST_TILE, 1 << max(1, (n - 1).bit_length()))
    words = (
        ("IN", element(rows.dtype)),
        ("WORD", "uint64_t" if wide else "uint32_t"),
        ("TILE", str(tile)),
        ("DESCENDING", str(int(descending))),
    )
    word = DTYPES["int64" if wide else "int32"]
    keys, keys_to = (aten.empty([count, n], dtype=word, device=rows.device) for _ in range(2))
    places, places_to = (aten.empty([count, n], dtype=DTYPES["int32"], device=rows.device) for _ in range(2))
    if not rows.numel():
        return places
    device = rows.device.index
    arguments = pack(count, n, 0, rows, keys_to, keys, places_to, places)
    shared = tile * (12 if wide else 8)  # keys and places
    _TILES.launch(device, words, (count * blocks(n, tile),), (min(256, max(32, tile // 2)),), arguments, shared=shared)
    width = tile
    while width < n:
        arguments = pack(count, n, width, rows, keys, keys_to, places, places_to)
        _MERGE.launch(device, words, (blocks(count * n, 256),), (256,), arguments)
        keys, keys_to, places, places_to = keys_to, keys, places_to, places
        width *= 2
    return places


def last(self: Tensor, dim: int) -> Tensor:
    """The tensor with a dimension behind the others, contiguous; of no dimensions: as one element."""
    if self.dim() == 0:
        return self.reshape(1)
    return aten.movedim(self, dim, -1).contiguous()


def take(source: Tensor, places: Tensor, first: int, count: int, values: Tensor | None, indices: Tensor | None) -> None:
    """Write the elements that `places` has from `first` on of each row of contiguous `source`, and the places themselves."""
    total = places.shape[0] * count
    if total:
        arguments = pack(total, places.shape[1], first, count, source, places, values, indices)
        words = (("WORD", WORDS[source.dtype.itemsize]),)
        _TAKE.launch(source.device.index, words, (blocks(total, 256),), (256,), arguments)


def ranked(
    self: Tensor, dim: int, descending: bool, first: int, count: int, values: Tensor, indices: Tensor, kept: bool
) -> None:
    """Fill both outputs with what stands at ranks `first` and on along a dimension; `kept`: they have the dimension."""
    if not values.numel():
        return
    rows = last(self, dim)
    n = rows.shape[-1]
    places = order(rows.view(-1, n), descending)
    targets = [out if not kept or out.dim() == 0 else aten.movedim(out, dim, -1) for out in (values, indices)]
    written = [t if t.is_contiguous() else aten.empty(t.shape, dtype=t.dtype, device=t.device) for t in targets]
    take(rows, places, first, count, written[0], written[1])
    for target, made in zip(targets, written, strict=True):
        if made is not target:
            target.copy_(made)
