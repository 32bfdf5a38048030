"""Launches of kernels that have rows of neighbours: how many threads share a row, and where they keep it (kernels/rows.cuh)."""

from __future__ import annotations

from typing import Any, NamedTuple

from .pointwise import itemsize
from .table import blocks, element

_SHARED = 200 << 10  # bytes that a block may have of every device that we know, less some for the sums
_LOADS = 8  # of 16 bytes, that a thread keeps in registers; two rows share them
_SPACE = 32 * 16  # bytes before the rows in shared memory: what warps tell each other


class Plan(NamedTuple):
    """A launch: words, grid, block, shared memory."""

    words: tuple[tuple[str, str], ...]
    grid: tuple[int]
    block: tuple[int, int]
    shared: int


def plan(rows: int, n: int, read: tuple[Any, ...], written: Any) -> Plan:
    """How kernels go about rows.

    Args:
        rows: how many there are.
        n: elements of a row.
        read: the tensors that a kernel keeps, contiguous.
        written: the tensor of results, contiguous.
    """
    sizes = [itemsize(element(t.dtype)) for t in (*read, written)]
    vector = 16 // max(sizes)
    if n % vector or any(t.data_ptr() % 16 for t in (*read, written)):
        vector = 1
    loads = blocks(n, vector)
    most = _LOADS * (1 if vector > 1 else 4) // len(read)
    threads, of_block = 32, 4
    if loads <= 32:
        threads = 1 << max(0, loads - 1).bit_length()
        of_block = 128 // threads
    elif loads > 32 * most:
        threads = min(1024, max(128, 1 << (blocks(loads, most) - 1).bit_length()))
        of_block = 1
    held, shared, keep = blocks(loads, threads), _SPACE, "REGISTERS"
    if held > most:
        bytes_ = n * sum(sizes[:-1]) + 16 * len(read)
        held, keep = 1, "SHARED_MEMORY" if bytes_ <= _SHARED and vector * min(sizes[:-1]) * 1 else "NOWHERE"
        shared += bytes_ if keep == "SHARED_MEMORY" else 0
    words = (
        ("THREADS", str(threads)), ("ROWS", str(of_block)), ("VECTOR", str(vector)), ("HELD", str(held)), ("KEEP", keep),
    )  # fmt: skip
    return Plan(words, (blocks(rows, of_block),), (threads, of_block), shared)
