"""Draws of random numbers: how many threads share one, and what the generator counts, as PyTorch does both."""

from __future__ import annotations

from typing import Any

from ..._operators.table import aten
from . import state
from .table import Source, blocks, element, pack

_DRAW, _SHUFFLE = Source("random.cuh", "draw"), Source("random.cuh", "shuffle_alike")
_THREADS = 256


def _blocks_that_fit(index: int, threads: int) -> int:
    runtime = state.get().runtime
    return runtime.attribute(16, index) * (runtime.attribute(39, index) // threads)


def counted(generator: Any, index: int, numbers: int) -> tuple[int, int, Any, Any]:
    """(seed, offset, cell of a recorded seed, cell of a recorded offset) for a kernel that draws so many numbers a thread.

    RuntimeError for a generator of another device.
    """
    held = state.get()
    if generator is None:
        generator = held.generators[index]
    elif generator.device.type != "cuda":
        raise RuntimeError(f"Expected a 'cuda' device type for generator but found '{generator.device.type}'")
    draws = held.runtime.thread.draws
    if draws is None:
        return (*generator._draw(numbers), None, None)
    seed, offset, drawn = draws.next(generator, numbers)
    return 0, drawn, seed, offset


def draw(
    kind: str,
    out: Any,
    generator: Any = None,
    p: tuple[float, float] = (0.0, 0.0),
    range_: int = 0,
    base: int = 0,
    two: bool | None = None,
    neighbours: int = 0,
    chance: Any = None,
    threads: int = _THREADS,
    counts: int | None = None,
) -> Any:
    """Fill a tensor with numbers of a kind (a struct of random.cuh), and return it.

    Args:
        two: whether a number takes 64 random bits; that of the dtype without.
        neighbours: how many neighbours a thread fills in one turn; 0 for one here and there.
        chance: a contiguous tensor of the same sizes that the kind reads.
        threads: of a block.
        counts: by how much the generator moves on, where that is not what is drawn.
    """
    n = out.numel()
    if not n:
        return out
    index = out.device.index
    if two is None:
        two = element(out.dtype) == "double"
    unroll = 2 if two else 4
    grid = min(_blocks_that_fit(index, threads), -(-n // (threads * (neighbours if chance is not None else 1))))
    turns = (n - 1) // (threads * grid * unroll) + 1
    seed, offset, recorded_seed, recorded_offset = counted(generator, index, turns * 4 if counts is None else counts)
    to = out if out.is_contiguous() else aten.empty(out.shape, dtype=out.dtype, device=out.device)
    seed = seed - (1 << 64) if seed >> 63 else seed
    range_ = range_ - (1 << 64) if range_ >> 63 else range_
    arguments = pack(
        n, seed, offset, recorded_seed, recorded_offset, to, [float(p[0]), float(p[1])], range_, base, chance
    )
    words = (
        ("OUT", element(out.dtype)), ("UNROLL", str(unroll)), ("KIND", kind), ("NEIGHBOURS", str(neighbours)),
        ("CHANCE", element((out if chance is None else chance).dtype)),
    )  # fmt: skip
    _DRAW.launch(index, words, (grid,), (threads,), arguments)
    if to is not out:
        aten.copy_(out, to)
    return out


def shuffle_alike(keys: Any, places: Any, generator: Any = None) -> None:
    """Shuffle the places of equal keys, which are sorted: what `randperm` needs for its keys not to decide anything."""
    n, index = keys.numel(), keys.device.index
    seed, offset, recorded_seed, recorded_offset = counted(generator, index, n)
    arguments = pack(n, seed - (1 << 64) if seed >> 63 else seed, offset, recorded_seed, recorded_offset, keys, places)
    words = (("OUT", "int64_t"), ("UNROLL", "4"), ("KIND", "Integer32"), ("NEIGHBOURS", "0"), ("CHANCE", "int64_t"))
    _SHUFFLE.launch(index, words, (blocks(n, _THREADS),), (_THREADS,), arguments)
