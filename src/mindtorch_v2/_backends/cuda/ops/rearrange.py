"""Elements in another order, repeated, or kept on one side of a diagonal."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from ..copies import copy
from ..indexing import Work, move
from ..table import CONTIGUOUS, MAY_ALIAS, WORDS, Source, blocks, kernel, pack

if TYPE_CHECKING:
    from ...._tensor import Tensor

_TRIANGLE = Source("triangle.cuh", "triangle")


@kernel("flip")
def flip(self: Tensor, dims: Sequence[int], out: Tensor) -> None:
    flipped = {d % self.dim() if self.dim() else 0 for d in dims}
    if len(flipped) != len(dims):
        twice = next(d % self.dim() for d in dims if sum(d % self.dim() == e % self.dim() for e in dims) > 1)
        raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
    if not out.numel():
        return
    sizes, strides, offset = list(self.shape), list(self.stride()), 0
    for d in flipped if self.dim() else ():
        offset += (sizes[d] - 1) * strides[d]
        strides[d] = -strides[d]
    move(self, out, Work(sizes, strides, list(out.stride()), []), offset=offset)


@kernel("repeat")
def repeat(self: Tensor, repeats: Sequence[int], out: Tensor) -> None:
    if not out.numel():
        return
    lead = len(repeats) - self.dim()
    sizes: list[int] = []
    big: list[int] = []
    small: list[int] = []
    for d, (times, step) in enumerate(zip(repeats, out.stride(), strict=True)):
        own = self.shape[d - lead] if d >= lead else 1
        sizes += [times, own]
        big += [0, self.stride(d - lead) if d >= lead else 0]
        small += [own * step, step]
    move(self, out, Work(sizes, big, small, []))


@kernel("roll")
def roll(self: Tensor, shifts: Sequence[int], dims: Sequence[int], out: Tensor) -> None:
    if not shifts:
        raise RuntimeError("`shifts` required")
    if len(dims) != len(shifts) and (dims or len(shifts) != 1):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if dims and not self.dim():
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    if not self.numel():
        return
    if not dims:
        rolled = aten.empty([self.numel()], dtype=self.dtype, device=self.device)
        roll(self.reshape(-1), shifts, [0], rolled)
        copy(out, rolled.view(self.shape))
        return
    total = [0] * self.dim()
    for shift, dim in zip(shifts, dims, strict=True):
        total[dim] = (total[dim] + shift) % self.shape[dim]
    # Along each dimension that is rolled two parts change places.
    parts = [
        [(0, shift, n - shift), (n - shift, 0, shift)] if shift else [(0, 0, n)]
        for shift, n in zip(total, self.shape, strict=True)
    ]
    for combination in itertools.product(*parts):
        source, target = self, out
        for d, (begin, end, length) in enumerate(combination):
            source, target = aten.narrow(source, d, begin, length), aten.narrow(target, d, end, length)
        copy(target, source)


def _triangle(name: str, lower: bool) -> None:
    @kernel(name, flags=CONTIGUOUS | MAY_ALIAS)
    def compute(self: Tensor, diagonal: int, out: Tensor) -> None:
        if self.dim() < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        if not out.numel():
            return
        rows, columns = self.shape[-2:]
        diagonal = min(max(diagonal, -rows), columns)
        words = (("WORD", WORDS[self.dtype.itemsize]), ("DIMS", str(self.dim())), ("LOWER", str(int(lower))))
        n = self.numel()
        arguments = pack(n, rows, columns, diagonal, self, out, list(self.shape), list(self.stride()))
        _TRIANGLE.launch(self.device.index, words, (blocks(n, 256),), (256,), arguments)


_triangle("tril", True)
_triangle("triu", False)


def _triangle_places(name: str, part: Any) -> None:
    @kernel(name)
    def compute(row: int, col: int, offset: int, *rest: Any) -> None:
        if rest[-1].numel():
            kept = part(aten.ones([row, col], dtype=DTYPES["bool"], device=rest[-1].device), offset)
            copy(rest[-1], aten.nonzero(kept).t())


_triangle_places("tril_indices", aten.tril)
_triangle_places("triu_indices", aten.triu)


@kernel("repeat_interleave.Tensor")
def repeat_interleave(repeats: Tensor, *, output_size: int | None = None) -> Tensor:
    if repeats.dim() != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if repeats.dtype not in (DTYPES["int64"], DTYPES["int32"]):
        raise RuntimeError("repeats has to be Long or Int tensor")
    ends = aten.cumsum(repeats, 0)
    if not repeats.numel():
        return aten.empty_like(repeats)
    total = int(ends[-1].item())
    if bool((repeats < 0).any().item()):
        raise RuntimeError("repeats can not be negative")
    if output_size is not None and output_size != total:
        raise RuntimeError(
            f"Allocated size does not match required size: output_size is {output_size}, the sum of repeats is {total}"
        )
    places = aten.searchsorted(ends, aten.arange(total, device=repeats.device), right=True)
    return places.to(repeats.dtype)
