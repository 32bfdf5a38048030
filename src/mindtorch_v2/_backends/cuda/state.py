"""State that the back end holds for the process: runtime, memory of each device, random generators, copies under way."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from ... import _C
from ..common.allocator import Allocator
from ..common.allocator_settings import Settings
from ..common.pinned import PinnedMemory
from . import copies
from . import runtime as _runtime
from .runtime import D2D

settings = Settings("PYTORCH_CUDA_ALLOC_CONF")
"""The options of the allocators of all devices."""


class State:
    """Made when the device is first asked for."""

    def __init__(self) -> None:
        self.runtime = _runtime.get()
        settings.read_environment()
        self.memory = [Allocator(self.runtime, index, settings) for index in range(self.runtime.device_count)]
        for allocator in self.memory:
            self.runtime.finalizers.append(allocator.close)
        self.generators: list[Any] = []  # once the core knows of the device
        self.in_flight: deque[tuple[int, Any]] = deque()  # (event, host tensor) of copies that may not be done
        self.in_flight_lock = threading.RLock()  # a host tensor may die, and others with it, within it
        self.pinned = PinnedMemory(self.runtime)
        self.runtime.finalizers.append(self._let_go)

    def _let_go(self) -> None:
        """Destroy the events of copies that were waited for at the end of the process."""
        while self.in_flight:
            self.runtime.destroy_event(self.in_flight.popleft()[0])

    def make_generators(self) -> None:
        """The random generators of the devices, as after torch.manual_seed, which may have been called before."""
        self.generators = [_C.Generator(f"cuda:{index}") for index in range(len(self.memory))]
        for generator in self.generators:
            generator.manual_seed(_C.default_generator.initial_seed())

    # ---- what the core asks for ----

    def allocate(self, nbytes: int, index: int) -> int:
        if index >= len(self.memory):
            self.runtime.check_index(index)
        return self.memory[index].allocate(nbytes)

    def release(self, address: int, index: int) -> None:
        if not self.runtime.closed:
            self.memory[index].release(address)

    def transfer(self, to: int, source: int, nbytes: int, kind: int, index: int, non_blocking: bool, host: Any) -> None:
        runtime = self.runtime
        stream = runtime.stream_handle(index)
        runtime.copy(to, source, nbytes, kind, index, stream)
        if kind == D2D:
            return
        if non_blocking and self.pinned.holds(host):
            draws = runtime.thread.draws
            if draws is None:
                self._hold(host, index, stream)
            else:  # each replay copies anew
                draws.events.append(host)
        else:
            runtime.synchronize_stream(index, stream)

    def copy(self, to: Any, source: Any) -> None:
        copies.copy(to, source)

    def fill(self, to: Any, number: Any) -> None:
        copies.fill(to, number)

    # ---- copies that are under way ----

    def _hold(self, host: Any, index: int, stream: int) -> None:
        """Keep a host tensor alive until the stream has passed the copy."""
        event = self.runtime.create_event()
        try:
            self.runtime.record_event(event, index, stream)
        except BaseException:
            self.runtime.destroy_event(event)
            self.runtime.synchronize_stream(index, stream)  # the copy is queued, and nothing else keeps the tensor
            raise
        with self.in_flight_lock:
            self.in_flight.append((event, host))
            while self.in_flight and self.runtime.event_done(self.in_flight[0][0]):
                event, host = self.in_flight.popleft()
                self.runtime.destroy_event(event)


_state: State | None = None
_lock = threading.Lock()


def get() -> State:
    """The state, made at the first call."""
    global _state
    if _state is None:
        with _lock:
            if _state is None:
                _state = State()
    return _state


def started() -> bool:
    """Whether the state was made in this process."""
    return _state is not None
