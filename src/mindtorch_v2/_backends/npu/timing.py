"""When an NPU did what: ACLNN operators and collectives, and what its allocators did."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from ..common import timing
from ..common.timing import Work as Work
from . import aclnn, hccl, state


class Allocation(NamedTuple):
    """A block that was handed out (bytes) or given back (minus bytes), and what was in use and held afterwards."""

    time: float
    device: int
    stream: int
    address: int
    nbytes: int
    allocated: int
    reserved: int


class Timing(timing.Timing):
    """Time what all threads enqueue between `start` and `stop`; with `memory` the allocators' blocks too.

    Attributes:
        allocations: what the allocators did.
    """

    def __init__(self, shapes: bool = False, memory: bool = False) -> None:
        super().__init__(lambda: state.get().runtime, shapes)
        self.memory = memory
        self.allocations: list[Allocation] = []
        self._plain: dict[str, Callable[..., None]] = {}  # what operators ran before

    def intercept(self) -> None:
        for op in aclnn.known().values():
            self._plain[op.name] = op.run
            op.run = self._timed(op)
        self.replace(hccl.Communicator, "call", self._collective())
        if self.memory:
            for allocator in state.get().memory:
                self.replace(allocator, "allocate", self._allocating(allocator))
                self.replace(allocator, "release", self._releasing(allocator))

    def let_go(self) -> None:
        for op in aclnn.known().values():
            op.run = self._plain[op.name]

    # ---- what stands in the place of calls ----

    def _timed(self, op: aclnn.Operator) -> Callable[..., None]:
        def run(*arguments: Any) -> None:
            self._between_marks(op.name, self._plain[op.name], arguments, False, None)
            if op.run is not run:  # the first call of an operator binds it
                self._plain[op.name], op.run = op.run, run

        return run

    def _collective(self) -> Callable[..., None]:
        plain = hccl.Communicator.call

        def call(communicator: hccl.Communicator, name: str, *arguments: Any) -> None:
            self._between_marks(name, plain, (communicator, name, *arguments), True, communicator.device)

        return call

    def _between_marks(self, name: str, plain: Any, arguments: tuple, collective: bool, device: int | None) -> None:
        tensors = [each for each in arguments if type(each).__name__ in ("Tensor", "Parameter")]
        if device is None:
            there = [each.get_device() for each in tensors if each.device.type == "npu"]
            device = there[0] if there else self._runtime.thread.device
        self.mark(name, plain, arguments, tensors, collective, device)

    def _allocating(self, allocator: Any) -> Callable[[int], int]:
        plain = allocator.allocate

        def allocate(nbytes: int) -> int:
            address = plain(nbytes)
            block = allocator.used[address]
            self._note(allocator, block.stream, address, block.size)
            return address

        return allocate

    def _releasing(self, allocator: Any) -> Callable[[int], None]:
        plain = allocator.release

        def release(address: int) -> None:
            block = allocator.used.get(address)
            plain(address)
            if block is not None:
                self._note(allocator, block.stream, address, -block.size)

        return release

    def _note(self, allocator: Any, stream: int, address: int, nbytes: int) -> None:
        now = self.since(time.perf_counter_ns())
        self.allocations.append(
            Allocation(now, allocator.index, stream, address, nbytes, allocator.allocated, allocator.reserved)
        )
