"""When the device did what: ACLNN operators and collectives between two marks of their stream, while somebody asks for it.

A call that is timed records an event before and one after its work. Where no one asks, nothing is in the way of a call. What a
graph records is not timed, as marks would be part of the graph.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from . import aclnn, hccl, state

_AT_ONCE = 2048  # pairs of marks that are open before the device is waited for


class Work(NamedTuple):
    """One operator or collective. Times are microseconds: of the host since the timing began, of the device on the same clock."""

    name: str
    thread: int
    device: int
    stream: int
    called: float
    returned: float
    start: float
    end: float
    inputs: tuple  # (sizes, dtype) of the tensors that it was given, outputs among them
    collective: bool


class Allocation(NamedTuple):
    """A block that was handed out (bytes) or given back (minus bytes), and what was in use and held afterwards."""

    time: float
    device: int
    stream: int
    address: int
    nbytes: int
    allocated: int
    reserved: int


class _Open(NamedTuple):
    name: str
    thread: int
    device: int
    stream: int
    called: int
    returned: int
    before: int
    after: int
    inputs: tuple
    collective: bool


class Timing:
    """Time what all threads enqueue between `start` and `stop`; with `memory` the allocators' blocks too.

    Attributes:
        work: what was enqueued, in the order of the calls.
        allocations: what the allocators did.
    """

    def __init__(self, shapes: bool = False, memory: bool = False) -> None:
        self.shapes, self.memory = shapes, memory
        self.work: list[Work] = []
        self.allocations: list[Allocation] = []
        self._open: list[_Open] = []
        self._lock = threading.RLock()
        self._undo: list[tuple[Any, str, Any]] = []
        self._plain: dict[str, Callable[..., None]] = {}  # what operators ran before
        self.running = False
        self._origins: dict[int, tuple[int, int]] = {}  # device -> event, time of the host when it was passed

    def start(self, began: int) -> None:
        """Begin; `began` is the moment, of time.perf_counter_ns, that times count from."""
        self.began, self.running = began, True
        self._runtime = state.get().runtime
        for op in aclnn.known().values():
            self._plain[op.name] = op.run
            op.run = self._timed(op)
        self._replace(hccl.Communicator, "call", self._collective())
        if self.memory:
            for allocator in state.get().memory:
                self._replace(allocator, "allocate", self._allocating(allocator))
                self._replace(allocator, "release", self._releasing(allocator))

    def stop(self) -> None:
        """End, and wait for the device."""
        self.running = False
        while self._undo:
            owner, name, value = self._undo.pop()
            setattr(owner, name, value)
        for op in aclnn.known().values():
            op.run = self._plain[op.name]
        self._settle()
        for event, _ in self._origins.values():
            self._runtime.destroy_event(event)
        self._origins.clear()
        self.work.sort(key=lambda each: each.called)

    def _replace(self, owner: Any, name: str, value: Any) -> None:
        self._undo.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    def _since(self, moment: int) -> float:
        return (moment - self.began) / 1000

    # ---- what stands in the place of calls ----

    def _timed(self, op: aclnn.Operator) -> Callable[..., None]:
        def run(*arguments: Any) -> None:
            self._mark(op.name, self._plain[op.name], arguments, False, None)
            if op.run is not run:  # the first call of an operator binds it
                self._plain[op.name], op.run = op.run, run

        return run

    def _collective(self) -> Callable[..., None]:
        plain = hccl.Communicator.call

        def call(communicator: hccl.Communicator, name: str, *arguments: Any) -> None:
            self._mark(name, plain, (communicator, name, *arguments), True, communicator.device)

        return call

    def _mark(self, name: str, plain: Any, arguments: tuple, collective: bool, device: int | None) -> None:
        runtime = self._runtime
        thread = runtime.thread
        if thread.draws is not None:  # this thread captures a graph
            plain(*arguments)
            return
        tensors = [each for each in arguments if type(each).__name__ in ("Tensor", "Parameter")]
        if device is None:
            there = [each.get_device() for each in tensors if each.device.type == "npu"]
            device = there[0] if there else thread.device
        stream = runtime.stream_handle(device)
        self._origin(device, stream)
        before = runtime.create_event(timing=True)
        runtime.record_event(before, device, stream)
        called = time.perf_counter_ns()
        try:
            plain(*arguments)
        except BaseException:
            runtime.destroy_event(before)
            raise
        returned = time.perf_counter_ns()
        after = runtime.create_event(timing=True)
        runtime.record_event(after, device, stream)
        inputs = tuple((list(each.shape), str(each.dtype)[6:]) for each in tensors) if self.shapes else ()
        with self._lock:
            ident = threading.get_native_id()
            self._open.append(_Open(name, ident, device, stream, called, returned, before, after, inputs, collective))
            if len(self._open) >= _AT_ONCE:
                self._settle()

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
        now = self._since(time.perf_counter_ns())
        self.allocations.append(
            Allocation(now, allocator.index, stream, address, nbytes, allocator.allocated, allocator.reserved)
        )

    # ---- the device's clock ----

    def _origin(self, device: int, stream: int) -> None:
        """A mark that the device passes while the host waits, once for each device: there both clocks meet."""
        if device in self._origins:
            return
        runtime = self._runtime
        event = runtime.create_event(timing=True)
        runtime.synchronize_stream(device, stream)
        runtime.record_event(event, device, stream)
        runtime.synchronize_stream(device, stream)
        self._origins[device] = event, time.perf_counter_ns()

    def _settle(self) -> None:
        """Wait for the work that is open, and read its marks."""
        with self._lock:
            open_work, self._open = self._open, []
        for device in sorted({each.device for each in open_work}):
            self._runtime.synchronize(device)
        for each in open_work:
            event, moment = self._origins[each.device]
            start, end = (
                self._since(moment) + self._runtime.elapsed(event, mark) * 1000 for mark in (each.before, each.after)
            )
            for mark in (each.before, each.after):
                self._runtime.destroy_event(mark)
            called, returned = self._since(each.called), self._since(each.returned)
            start = max(start, called)  # an idle device passes the first mark before the call is made
            self.work.append(
                Work(
                    each.name, each.thread, each.device, each.stream, called, returned, start, max(start, end),
                    each.inputs, each.collective,
                )
            )  # fmt: skip
