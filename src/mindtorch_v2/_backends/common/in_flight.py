"""Copies that may not be done: the host's tensors that they read or write live until the device has passed them."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from .runtime import Runtime


class InFlight:
    """The copies under way of a process."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.held: deque[tuple[int, Any]] = deque()  # (event, host tensor)
        self.lock = threading.RLock()  # a host tensor may die, and others with it, within it
        runtime.finalizers.append(self.let_go)

    def hold(self, host: Any, index: int, stream: int) -> None:
        """Keep a host tensor alive until the stream has passed the copy that was enqueued last."""
        event = self.runtime.create_event()
        try:
            self.runtime.record_event(event, index, stream)
        except BaseException:
            self.runtime.destroy_event(event)
            self.runtime.synchronize_stream(index, stream)  # the copy is queued, and nothing else keeps the tensor
            raise
        with self.lock:
            self.held.append((event, host))
            while self.held and self.runtime.event_done(self.held[0][0]):
                self.runtime.destroy_event(self.held.popleft()[0])

    def let_go(self) -> None:
        """Destroy the events of copies that were waited for at the end of the process."""
        while self.held:
            self.runtime.destroy_event(self.held.popleft()[0])
