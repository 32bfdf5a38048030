"""Reductions: which dimensions go, how threads share the work, and the launch of `kernels/reduce.cuh`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._core.dtype import DTYPES
from ..._operators.table import aten
from .table import Source, blocks, element, pack

_REDUCE, _JOIN = Source("reduce.cuh", "reduce"), Source("reduce.cuh", "join_parts")
_LARGEST = 48  # bytes of what any reduction has in hand
_BLOCKS = 1056  # that keep a large device busy


def joined(sizes: Sequence[int], strides: Sequence[int]) -> tuple[list[int], list[int]]:
    """Dimensions without those of size 1, neighbours as one where memory allows it; at least one dimension."""
    kept: list[list[int]] = []
    for size, stride in zip(sizes, strides, strict=True):
        if size == 1:
            continue
        if kept and kept[-1][1] == size * stride:
            kept[-1] = [kept[-1][0] * size, stride]
        else:
            kept.append([size, stride])
    if not kept:
        return [1], [0]
    return [size for size, _ in kept], [stride for _, stride in kept]


def _power(n: int, most: int) -> int:
    """The power of two from 1 to `most` that is at least n."""
    return min(most, 1 << max(0, n - 1).bit_length())


def reduce(
    op: str,
    self: Any,
    dims: Sequence[int],
    out: Any,
    second: Any = None,
    p: tuple[float, float] = (0.0, 0.0),
    facts: str = "",
) -> None:
    """Reduce dimensions of a tensor into `out`, whose elements are those of the others in row-major order.

    Args:
        op: the struct of reduce.cuh.
        self: the tensor.
        dims: its dimensions to reduce, none of them below zero.
        out: contiguous.
        second: another output, contiguous.
        p: numbers that the operator reads.
        facts: "ORDERED" or "REAL": what the element type has.
    """
    if not out.numel():
        return
    gone = set(dims)
    kept = [d for d in range(self.dim()) if d not in gone]
    sizes, strides = list(self.shape), list(self.stride())
    kept_size, kept_stride = joined([sizes[d] for d in kept], [strides[d] for d in kept])
    order = sorted(gone)
    reduced_size, reduced_stride = joined([sizes[d] for d in order], [strides[d] for d in order])
    outputs, reduced = out.numel(), 1
    for size in reduced_size:
        reduced *= size
    if not all(sizes[d] for d in order):
        reduced = 0
    columns = kept_stride[-1] < reduced_stride[-1] and outputs >= 32
    if columns:
        x, y = 32, _power(reduced, 16)
        grid = blocks(outputs, x)
    else:
        x = _power(blocks(reduced, 4), 512)
        y = max(1, 128 // x)
        grid = blocks(outputs, y)
    parts = 1
    lanes = y if columns else x
    if grid < _BLOCKS // 2 and reduced > lanes * 16:
        parts = max(1, min(_BLOCKS // grid, reduced // (lanes * 8), 1024))
    words = (
        ("IN", element(self.dtype)), ("OUT", element(out.dtype)), ("OP", op), ("COLUMNS", str(int(columns))),
        ("KEPT", str(len(kept_size))), ("REDUCED", str(len(reduced_size))), ("OUTPUTS", "1" if second is None else "2"),
        ("SECOND", "int64_t" if second is None else element(second.dtype)), *((fact, "1") for fact in facts.split()),
    )  # fmt: skip
    device = self.device.index
    partial = aten.empty([outputs * parts * _LARGEST], dtype=DTYPES["uint8"], device=self.device) if parts > 1 else None
    arguments = pack(
        outputs,
        reduced,
        parts,
        self,
        out,
        second,
        partial,
        list(p),
        kept_size,
        kept_stride,
        reduced_size,
        reduced_stride,
    )
    _REDUCE.launch(device, words, (grid, parts), (x, y), arguments, shared=x * y * _LARGEST)
    if parts > 1:
        _JOIN.launch(device, words, (blocks(outputs, 128),), (128,), arguments)
