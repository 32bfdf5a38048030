"""Memory pools of a program's own: what is made within `use_mem_pool` comes from blocks that no other tensors get."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

from ..common.graph_pools import GraphPool
from . import state
from .stream import device_index

_numbers = itertools.count(1)


class MemPool:
    """A pool of device memory, made with the first tensor in it and given back with the last reference to it.

    Args:
        allocator: None; memory from a function of the program's own is not implemented (NotImplementedError).
        use_on_oom: whether other tensors may use the pool where there is no more memory. They do not.
        no_split: whether blocks are segments of their own. Accepted; blocks are cut as elsewhere.
    """

    def __init__(self, allocator: Any = None, use_on_oom: bool = False, no_split: bool = False) -> None:
        if allocator is not None:
            raise NotImplementedError(
                "MemPool(): memory from a pluggable allocator is not implemented; allocator must be None"
            )
        self.id = (0, next(_numbers))
        self._pools: dict[tuple[int, int], GraphPool] = {}  # work of one stream runs in order: it may share blocks
        self._uses = 1

    @property
    def allocator(self) -> None:
        """The function that memory comes from; None for the device's own."""
        return None

    def use_count(self) -> int:
        """The number of users: the object, and each `use_mem_pool` that is open."""
        return self._uses

    def number_for(self, index: int, stream: int) -> int:
        """The number of the blocks for a stream of a device."""
        pool = self._pools.get((index, stream))
        if pool is None:
            pool = self._pools[index, stream] = GraphPool(state.get().memory[index])
        return pool.number

    def snapshot(self) -> list[dict[str, Any]]:
        """The segments of the pool, as `torch.npu.memory_snapshot` gives them."""
        found = []
        for (index, _), pool in self._pools.items():
            found += [s for s in state.get().memory[index].snapshot() if s["stream"] == pool.number]
        return found

    def __del__(self) -> None:
        if not state.started() or state.get().runtime.closed:
            return
        for (index, _), pool in getattr(self, "_pools", {}).items():
            state.get().memory[index].empty(pool.number)


@contextlib.contextmanager
def use_mem_pool(pool: MemPool, device: Any = None) -> Iterator[None]:
    """Let what this thread makes on a device, the current one by default, come from a pool."""
    index, routed = device_index(device), state.get().runtime.thread.routed
    before = routed.get(index)
    routed[index] = pool
    pool._uses += 1
    try:
        yield
    finally:
        pool._uses -= 1
        if before is None:
            del routed[index]
        else:
            routed[index] = before
