"""State that the back end holds for the process: runtime, memory of each device, random generators, copies under way."""

from __future__ import annotations

import threading
from typing import Any

from ... import _C
from ..common.allocator import allocators
from ..common.allocator_settings import Settings
from ..common.in_flight import InFlight
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
        self.memory = allocators(self.runtime, settings)
        self.generators: list[Any] = []  # once the core knows of the device
        self.pinned = PinnedMemory(self.runtime)
        self.in_flight = InFlight(self.runtime)

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
                self.in_flight.hold(host, index, stream)
            else:  # each replay copies anew
                draws.events.append(host)
        else:
            runtime.synchronize_stream(index, stream)

    def copy(self, to: Any, source: Any) -> None:
        copies.copy(to, source)

    def fill(self, to: Any, number: Any) -> None:
        copies.fill(to, number)


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
