"""Memory of graphs: blocks that no other work gets."""

from __future__ import annotations

import itertools
import weakref

from .allocator import Allocator

_numbers = itertools.count(1)
_by_number: weakref.WeakValueDictionary[int, GraphPool] = weakref.WeakValueDictionary()


class GraphPool:
    """Blocks that graphs share. Its number, below 0, stands where a stream's handle does for other blocks."""

    def __init__(self, memory: Allocator) -> None:
        self.device, self.number, self._memory = memory.index, -next(_numbers), memory
        self._of_updates: dict[int, GraphPool] = {}
        _by_number[self.number] = self

    def of_updates(self, stream: int) -> GraphPool:
        """The pool for what replaces work of a stream in these graphs.

        A block of the graphs' own pool that is free now was in use at some place of the recording: what is put there later
        would overwrite it at each replay. Work of one stream runs in order, so its replacements may share their blocks.
        """
        return self._of_updates.get(stream) or self._of_updates.setdefault(stream, GraphPool(self._memory))

    def __del__(self) -> None:
        if not self._memory.runtime.closed:
            self._memory.forget_pool(self.number)


def pool_of(number: int) -> GraphPool | None:
    """The pool of a number, while a graph has it."""
    return _by_number.get(number)
