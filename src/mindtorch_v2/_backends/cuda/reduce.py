"""Reductions: which dimensions go, how threads share the work, and the launch of `kernels/reduce.cuh`."""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..._core.dtype import DTYPES
from ..._operators.table import aten
from .pointwise import itemsize
from .table import Source, blocks, element, pack

_REDUCE, _JOIN = Source("reduce.cuh", "reduce"), Source("reduce.cuh", "join_parts")
_HEAD = struct.Struct("7q2d")  # what comes before the sizes in the kernel's struct
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


class _Plan(NamedTuple):
    """The launch of a reduction of tensors of one kind: all but the addresses."""

    words: tuple[tuple[str, str], ...]
    grid: int
    parts: int
    block: tuple[int, int]
    outputs: int
    reduced: int
    tail: bytes
    functions: dict[int, int]  # by device


@functools.lru_cache(maxsize=4096)
def _plan(
    op: str, shape: tuple, stride: tuple, dims: tuple, dtypes: tuple, outputs: int, aligned: bool, facts: str
) -> _Plan:
    source, out, second = dtypes
    kept = [d for d in range(len(shape)) if d not in dims]
    kept_size, kept_stride = joined([shape[d] for d in kept], [stride[d] for d in kept])
    reduced_size, reduced_stride = joined([shape[d] for d in dims], [stride[d] for d in dims])
    reduced = math.prod(shape[d] for d in dims)
    columns = kept_stride[-1] < reduced_stride[-1] and outputs >= 32
    vector = 1
    if not columns and len(reduced_size) == 1 and reduced_stride == [1] and aligned:
        vector = 16 // itemsize(source)
        if reduced % vector or any(step % vector for step in kept_stride):
            vector = 1
    if columns:
        x, y = 32, _power(reduced, 16)
        grid = blocks(outputs, x)
    else:
        x = _power(blocks(reduced, 4 * vector), 512)
        y = max(1, 256 // x)
        grid = blocks(outputs, y)
    parts = 1
    lanes = y if columns else x
    if grid < _BLOCKS // 2 and reduced > lanes * vector * 16:
        parts = max(1, min(_BLOCKS // grid, reduced // (lanes * vector * 8), 1024))
    words = (
        ("IN", source), ("OUT", out), ("OP", op), ("COLUMNS", str(int(columns))), ("VECTOR", str(vector)),
        ("KEPT", str(len(kept_size))), ("REDUCED", str(len(reduced_size))), ("OUTPUTS", "1" if second is None else "2"),
        ("SECOND", second or "int64_t"), *((fact, "1") for fact in facts.split()),
    )  # fmt: skip
    tail = pack(kept_size, kept_stride, reduced_size, reduced_stride)
    return _Plan(words, grid, parts, (x, y), outputs, reduced, tail, {})


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
    dtypes = (element(self.dtype), element(out.dtype), None if second is None else element(second.dtype))
    address, device = self.data_ptr(), self.device.index
    plan = _plan(op, self.shape, self.stride(), tuple(sorted(dims)), dtypes, out.numel(), not address % 16, facts)
    partial = 0
    if plan.parts > 1:
        kept = aten.empty([plan.outputs * plan.parts * _LARGEST], dtype=DTYPES["uint8"], device=self.device)
        partial = kept.data_ptr()
    arguments = _HEAD.pack(
        plan.outputs,
        plan.reduced,
        plan.parts,
        address,
        out.data_ptr(),
        0 if second is None else second.data_ptr(),
        partial,
        *p,
    )
    x, y = plan.block
    _REDUCE.launch(
        device, plan.words, (plan.grid, plan.parts), plan.block, arguments + plan.tail, x * y * _LARGEST, plan.functions
    )
    if plan.parts > 1:
        lanes = _power(plan.parts, 256)
        _JOIN.launch(device, plan.words, (plan.outputs,), (lanes,), arguments + plan.tail, lanes * _LARGEST)
