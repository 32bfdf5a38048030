"""The state that a back end holds for the process: its runtime, the memory of each device, copies under way, random generators."""

from __future__ import annotations

from typing import Any

from ... import _C
from .allocator import allocators
from .allocator_settings import Settings
from .in_flight import InFlight
from .pinned import PinnedMemory
from .runtime import D2D, Runtime


class State:
    """The base of a back end's state, made when its device is first asked for.

    Args:
        runtime: that of the process.
        settings: the options of the allocators.
    """

    def __init__(self, runtime: Any, settings: Settings) -> None:
        self.runtime = runtime
        self.memory = allocators(runtime, settings)
        self.pinned = PinnedMemory(runtime)
        self.in_flight = InFlight(runtime)
        self.generators: list[Any] = []

    def make_generators(self, kind: str) -> None:
        """Make the devices' random generators, as after torch.manual_seed, which may have been called before."""
        self.generators = [_C.Generator(f"{kind}:{index}") for index in range(len(self.memory))]
        for generator in self.generators:
            generator.manual_seed(_C.default_generator.initial_seed())

    def allocate(self, nbytes: int, index: int) -> int:
        """The address of memory of a device."""
        if index >= len(self.memory):
            self.runtime.check_index(index)
        return self.memory[index].allocate(nbytes)

    def release(self, address: int, index: int) -> None:
        """Give memory of a device back."""
        if not self.runtime.closed:
            self.memory[index].release(address)

    def transfer(self, to: int, source: int, nbytes: int, kind: int, index: int, non_blocking: bool, host: Any) -> None:
        """Copy bytes on this thread's stream of a device, and wait unless that is not needed.

        Args:
            to, source: addresses.
            kind: H2D, D2H or D2D.
            non_blocking: whether the program goes on, if the host's memory is pinned.
            host: the tensor of the host, which lives until the copy is done.
        """
        runtime: Runtime = self.runtime
        stream = runtime.stream_handle(index)
        runtime.copy(to, source, nbytes, kind, index, stream)
        if kind == D2D and not runtime.waits:
            return
        if non_blocking and kind != D2D and self.pinned.holds(host):
            draws = runtime.thread.draws
            if draws is None:
                self.in_flight.hold(host, index, stream)
            else:  # each replay copies anew
                draws.events.append(host)
        else:
            self.before_waiting(kind)
            runtime.synchronize_stream(index, stream)

    def before_waiting(self, kind: int) -> None:
        """Take note that the program waits for a copy."""
