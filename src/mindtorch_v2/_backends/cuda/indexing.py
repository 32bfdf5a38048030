"""Reading and writing at places that index tensors name: the launches of `kernels/index.cuh` and `kernels/combine.cuh`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..._core.dtype import DTYPES
from ..._operators.table import aten
from .sort import order
from .table import WORDS, Source, blocks, element, pack

_MOVE, _KEYS, _COMBINE = (
    Source("index.cuh", "move_words"),
    Source("index.cuh", "find_keys"),
    Source("combine.cuh", "combine"),
)
_THREADS = 256
_WIDEST = 16  # bytes that a thread moves at once


class Pick(NamedTuple):
    """An index tensor, and the dimension that it stands for.

    Its elements are int64. `strides` are those along the dimensions of the work; an element adds `step` times itself to the
    place, and lies below `extent`.
    """

    index: Any
    strides: list[int]
    extent: int
    step: int


class Work(NamedTuple):
    """Dimensions of an indexing, with the strides of the indexed side and of the other one."""

    sizes: list[int]
    big: list[int]
    small: list[int]
    picks: list[Pick]

    def joined(self) -> Work:
        """Without dimensions of size 1, and neighbours as one where all strides allow it; at least one dimension."""
        kept: list[list[int]] = []
        for size, *strides in zip(self.sizes, self.big, self.small, *(p.strides for p in self.picks), strict=True):
            if size == 1:
                continue
            if kept and all(outer == size * inner for outer, inner in zip(kept[-1][1:], strides, strict=True)):
                kept[-1] = [kept[-1][0] * size, *strides]
            else:
                kept.append([size, *strides])
        return self._of(kept or [[1] + [0] * (2 + len(self.picks))])

    def _of(self, rows: list[list[int]]) -> Work:
        sizes, big, small, *strides = (list(column) for column in zip(*rows, strict=True))
        return Work(sizes, big, small, [p._replace(strides=s) for p, s in zip(self.picks, strides, strict=True)])

    def parted(self) -> tuple[Work, Work]:
        """The dimensions along which an index varies, and the others; each at least one."""
        rows = list(zip(self.sizes, self.big, self.small, *(p.strides for p in self.picks), strict=True))
        one = [1] + [0] * (2 + len(self.picks))
        varied = [list(row) for row in rows if any(row[3:])] or [one]
        return self._of(varied), self._of([list(row) for row in rows if not any(row[3:])] or [one])


def _count(sizes: Sequence[int]) -> int:
    n = 1
    for size in sizes:
        n *= size
    return n


def _indices(picks: list[Pick], dims: int) -> tuple:
    """The struct Indices."""
    if not picks:
        return ([0] * (3 + dims),)
    columns = ([p.index for p in picks], [p.extent for p in picks], [p.step for p in picks], [p.strides for p in picks])
    return columns


def _widened(work: Work, itemsize: int, *addresses: int) -> tuple[Work, int]:
    """The work in words of as many neighbouring elements as memory allows, and the bytes of a word."""
    if work.big[-1] != 1 or work.small[-1] != 1 or any(p.strides[-1] for p in work.picks):
        return work, itemsize
    factor = _WIDEST // itemsize
    steps = [work.sizes[-1], *work.big[:-1], *work.small[:-1], *(p.step for p in work.picks)]
    while factor > 1 and (
        any(step % factor for step in steps) or any(address % (factor * itemsize) for address in addresses)
    ):
        factor //= 2
    if factor <= 1:
        return work, itemsize
    picks = [p._replace(step=p.step // factor) for p in work.picks]
    sizes = [*work.sizes[:-1], work.sizes[-1] // factor]
    big, small = ([*(s // factor for s in strides[:-1]), 1] for strides in (work.big, work.small))
    return Work(sizes, big, small, picks), factor * itemsize


def move(big: Any, small: Any, work: Work, *, write: bool = False, negative: bool = False, offset: int = 0) -> None:
    """Copy elements from the indexed side to the other, or with `write` to it, where no place is named twice.

    Args:
        big, small: tensors of one dtype; where their memory begins the work's strides count from.
        work: dimensions and strides.
        write: whether `big` is written.
        negative: whether places may count from the end.
        offset: elements to add to each place of `big`.
    """
    itemsize = big.dtype.itemsize
    addresses = big.data_ptr() + offset * itemsize, small.data_ptr()
    work, nbytes = _widened(work.joined(), itemsize, *addresses)
    n, dims = _count(work.sizes), len(work.sizes)
    if not n:
        return
    words = (
        ("DIMS", str(dims)), ("TENSORS", str(len(work.picks))), ("NEGATIVE", str(int(negative))), ("IGNORE", "0"),
        ("WORD", WORDS[nbytes]), ("WRITE", str(int(write))), ("INDEX", "uint32_t" if n < 1 << 31 else "int64_t"),
    )  # fmt: skip
    arguments = pack(n, *addresses, work.sizes, work.big, work.small, *_indices(work.picks, dims))
    _MOVE.launch(big.device.index, words, (blocks(n, _THREADS),), (_THREADS,), arguments)


def combine(
    op: str, big: Any, small: Any, work: Work, *, include: bool = True, negative: bool = False, ignore: bool = False
) -> None:
    """Combine elements with those at the places that are named, in the order in which they come.

    Args:
        op: a struct of combine.cuh.
        big: the indexed tensor; no two places of it share memory.
        small: of the same dtype.
        work: dimensions and strides.
        include: whether what is at a place counts.
        negative: whether places may count from the end.
        ignore: whether places outside are left out, rather than an error of the device.
    """
    varied, columns = work.parted()
    varied, columns = varied.joined(), columns.joined()
    picks, dims = _count(varied.sizes), len(varied.sizes)
    total = picks * _count(columns.sizes)
    if not total:
        return
    device = big.device
    keys = aten.empty([1, picks], dtype=DTYPES["int64"], device=device)
    words = (
        ("DIMS", str(dims)), ("TENSORS", str(len(varied.picks))), ("NEGATIVE", str(int(negative))),
        ("IGNORE", str(int(ignore))), ("KEYS", "1"),
    )  # fmt: skip
    arguments = pack(picks, keys, varied.sizes, varied.big, *_indices(varied.picks, dims))
    _KEYS.launch(device.index, words, (blocks(picks, _THREADS),), (_THREADS,), arguments)
    ordered = order(keys)
    words = (
        ("ELEMENT", element(big.dtype)), ("OP", op), ("INCLUDE", str(int(include))), ("PICKS", str(dims)),
        ("COLUMNS", str(len(columns.sizes))), *((("ORDERED", "1"),) if op in ("Largest", "Smallest") else ()),
    )  # fmt: skip
    arguments = pack(
        picks,
        total // picks,
        big,
        small,
        keys,
        ordered,
        varied.sizes,
        varied.small,
        columns.sizes,
        columns.big,
        columns.small,
    )
    _COMBINE.launch(device.index, words, (blocks(total, _THREADS),), (_THREADS,), arguments)
