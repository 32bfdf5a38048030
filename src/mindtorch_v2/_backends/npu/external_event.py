"""Events that graphs wait for and that work beside them raises: `torch.npu.ExternalEvent`."""

from __future__ import annotations

from typing import Any

from . import state
from .stream import Event, current_stream


class ExternalEvent(Event):
    """A flag of the device that a captured graph can wait for: `record` raises it, `wait` lasts until it is up, `reset` takes it down.

    Recorded in a graph, all three are done at each replay. So a replay may be started first and wait for what is still to be
    updated; the graph keeps the event. A wait for a flag that nobody raises lasts for ever.
    """

    def __init__(self) -> None:
        super().__init__()
        self._runtime = state.get().runtime
        self.handle = self._runtime.create_event(external=True)

    def record(self, stream: Any = None) -> None:
        """Raise the flag once the stream (the current one) has come here."""
        self._kept()
        super().record(stream)

    def wait(self, stream: Any = None) -> None:
        """Let later work on a stream (the current one) wait until the flag is up."""
        self._kept()
        super().wait(stream)

    def reset(self, stream: Any = None) -> None:
        """Take the flag down once the stream (the current one) has come here."""
        self._kept()
        stream = current_stream() if stream is None else stream
        self._runtime.activate(stream.device_index)
        code = self._runtime.aclrtResetEvent(self.handle, stream.handle or None)
        self._runtime.check("aclrtResetEvent", code)

    def _kept(self) -> None:
        draws = self._runtime.thread.draws
        if draws is not None:
            draws.events.append(self)
