"""Random numbers of recorded graphs: seeds and offsets in device memory, renewed before each replay."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..._core.dtype import DTYPES
from ..._operators.table import aten

_GENERATORS = 16  # that one graph may draw from


def signed_state(generator: Any, numbers: int) -> tuple[int, int]:
    """(seed, offset) of a generator, which then moves on by `numbers`; in int64, as the operators take them."""
    seed, offset = generator._draw(numbers)
    return (seed - (1 << 64) if seed >> 63 else seed), offset


def _numbers(generator_state: Any) -> tuple[int, int]:
    """Seed and offset of the state of a device's generator."""
    told = bytes(generator_state.tolist())
    return int.from_bytes(told[:8], sys.byteorder), int.from_bytes(told[8:], sys.byteorder)


class Draws:
    """Device memory with seeds and offsets, for the random operators of a graph: each replay writes there what its numbers follow from.

    Beside them are the events that the graph waits for, and what else has to live as long.

    Args:
        fill: enqueues the writing of a number into a tensor.
        foreign_seed: the sentence for another seed than the generator's while a graph is recorded.
    """

    def __init__(self, fill: Callable[[Any, int], object], foreign_seed: str) -> None:
        self.events: list[Any] = []
        # generator -> (tensors of seed and offset, numbers that one replay draws)
        self.of: dict[Any, tuple[Any, Any, int]] = {}
        self._fill, self._foreign_seed = fill, foreign_seed
        self._room: Any = None

    def reserve(self, device: Any) -> None:
        """Take memory for seeds and offsets, before a recording begins: within it they might lie where an earlier operator of the
        graph keeps something for a while, which a replay writes after `renew` has."""
        if self._room is None:
            self._room = aten.empty([2 * _GENERATORS], dtype=DTYPES["int64"], device=device)

    def next(self, generator: Any, numbers: int) -> tuple[Any, Any, int]:
        """(seed, offset, what to add to the offset) for an operator that may draw so many numbers."""
        if generator not in self.of:
            place = 2 * len(self.of)
            if place == 2 * _GENERATORS:
                raise RuntimeError(
                    f"a recorded graph draws from {_GENERATORS} generators at most, and this is another one"
                )
            cells = (aten.narrow(self._room, 0, place + k, 1) for k in range(2))
            self.of[generator] = *cells, 0
        seed, offset, drawn = self.of[generator]
        self.of[generator] = seed, offset, drawn + (numbers + 3) // 4 * 4
        return seed, offset, drawn

    def state(self, generator: Any) -> Any:
        """The state that a generator has at this place of the recording."""
        found = generator.get_state()
        offset = _numbers(found)[1] + (self.of[generator][2] if generator in self.of else 0)
        memoryview(found.untyped_storage())[8:16] = offset.to_bytes(8, sys.byteorder)
        return found

    def rewind(self, generator: Any, wanted: Any) -> None:
        """Let what is recorded next draw from a state that `state` gave, or one of the same seed since the recording began."""
        seed, offset = _numbers(wanted)
        began = _numbers(generator.get_state())[1]
        self.check_seed(generator, seed)
        if offset < began:
            raise RuntimeError(
                "set_rng_state(): a state of before the recording cannot be gone back to while a graph is recorded"
            )
        if generator in self.of:
            *cells, _ = self.of[generator]
            self.of[generator] = cells[0], cells[1], offset - began
        elif offset != began:
            self.next(generator, offset - began)

    def check_seed(self, generator: Any, seed: int) -> None:
        """RuntimeError for another seed than the generator's: a replay takes the seed that the generator then has."""
        if seed != _numbers(generator.get_state())[0]:
            raise RuntimeError(self._foreign_seed)

    def renew(self) -> None:
        """Enqueue what a replay starts from; the generators move on."""
        for generator, (seed, offset, drawn) in self.of.items():
            for cell, number in zip((seed, offset), signed_state(generator, drawn), strict=True):
                self._fill(cell, number)
