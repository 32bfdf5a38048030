"""When a GPU did what: kernels, calls of NVIDIA's libraries, copies and collectives.

Marks stand on the stream on both sides of each launch (csrc/cuda/driver.cpp sets those of launches); a kernel's time has what the
device needs between them in it, about two microseconds, which CUPTI's has not.
"""

from __future__ import annotations

from typing import Any

from ... import _C
from ..common import timing
from . import compiler, nccl, runtime

_COPIES = {runtime.H2D: "Memcpy HtoD", runtime.D2H: "Memcpy DtoH", runtime.D2D: "Memcpy DtoD"}


class Timing(timing.Timing):
    """Time what all threads enqueue between `start` and `stop`."""

    def __init__(self, shapes: bool = False) -> None:
        super().__init__(runtime.get, shapes)
        self._streams = {0: 0}  # handle, which is an address -> number

    def number_of(self, stream: int) -> int:
        return self._streams.setdefault(stream, len(self._streams))

    def intercept(self) -> None:
        for device in self._runtime.opened():
            self.origin(device, 0)
        _C._cuda_time_launches(self._take)
        plain = runtime.Runtime.copy

        def copy(held: Any, to: int, source: int, nbytes: int, kind: int, index: int, stream: int) -> None:
            if stream != held.stream_handle(index):
                plain(held, to, source, nbytes, kind, index, stream)
            else:
                self.mark(_COPIES[kind], plain, (held, to, source, nbytes, kind, index, stream), [], False, index)

        self.replace(runtime.Runtime, "copy", copy)
        call = nccl.Communicator.call

        def collective(communicator: nccl.Communicator, name: str, *arguments: Any) -> None:
            self.mark(name, call, (communicator, name, *arguments), [], True, communicator.device)

        self.replace(nccl.Communicator, "call", collective)

    def let_go(self) -> None:
        _C._cuda_time_launches(None)

    def _take(self, launches: list[tuple[int, ...]]) -> None:
        """(function, thread, device, stream, called, returned, before, after) of each launch."""
        for device in {each[2] for each in launches}:
            self.origin(device, 0)
        self._runtime.events.update(event for each in launches for event in each[-2:])  # alive until they were read
        self.opened([timing.Open._make((compiler.name_of(function), *rest, (), False)) for function, *rest in launches])
