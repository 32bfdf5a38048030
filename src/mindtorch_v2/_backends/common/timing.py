"""When a device did what: work between two marks of its stream, while somebody asks for it.

A call that is timed records an event before and one after its work. Where no one asks, nothing is in the way of a call. What a
graph records is not timed, as marks would be part of the graph.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

_AT_ONCE = 2048  # pairs of marks that are open before the device is waited for


class Work(NamedTuple):
    """One kernel or collective. Times are microseconds: of the host since the timing began, of the device on the same clock."""

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


class Open(NamedTuple):
    """Work whose marks were not read yet; times of the host are nanoseconds."""

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
    """Time what all threads enqueue between `start` and `stop`. A back end's own class puts itself in the way of its calls.

    Attributes:
        work: what was enqueued, in the order of the calls.
    """

    def __init__(self, runtime: Callable[[], Any], shapes: bool = False) -> None:
        self.shapes = shapes
        self.work: list[Work] = []
        self.running = False
        self._of_runtime = runtime
        self._open: list[Open] = []
        self._lock = threading.RLock()
        self._undo: list[tuple[Any, str, Any]] = []
        self._origins: dict[int, tuple[int, int]] = {}  # device -> event, time of the host when it was passed

    def start(self, began: int) -> None:
        """Begin; `began` is the moment, of time.perf_counter_ns, that times count from."""
        self.began, self.running = began, True
        self._runtime = self._of_runtime()
        self.intercept()

    def stop(self) -> None:
        """End, and wait for the device."""
        self.running = False
        while self._undo:
            owner, name, value = self._undo.pop()
            setattr(owner, name, value)
        self.let_go()
        self._settle()
        for event, _ in self._origins.values():
            self._runtime.destroy_event(event)
        self._origins.clear()
        self.work.sort(key=lambda each: each.called)

    def intercept(self) -> None:
        """Stand in the place of the back end's calls."""
        raise NotImplementedError

    def let_go(self) -> None:
        """Undo what `replace` did not do."""

    def replace(self, owner: Any, name: str, value: Any) -> None:
        """Set an attribute until `stop`."""
        self._undo.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    def since(self, moment: int) -> float:
        """Microseconds since the beginning."""
        return (moment - self.began) / 1000

    def mark(
        self, name: str, plain: Callable[..., Any], arguments: tuple, tensors: list[Any], collective: bool, device: int
    ) -> None:
        """Call a function, which enqueues one piece of work on the device's current stream, between two marks."""
        runtime = self._runtime
        if runtime.thread.draws is not None:  # this thread captures a graph
            plain(*arguments)
            return
        stream = runtime.stream_handle(device)
        self.origin(device, stream)
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
        ident = threading.get_native_id()
        self.opened([Open(name, ident, device, stream, called, returned, before, after, inputs, collective)])

    def opened(self, work: list[Open]) -> None:
        """Take work whose marks were recorded."""
        with self._lock:
            self._open += work
            if len(self._open) >= _AT_ONCE:
                self._settle()

    def number_of(self, stream: int) -> int:
        """How profiles call a stream of that handle."""
        return stream

    # ---- the device's clock ----

    def origin(self, device: int, stream: int) -> None:
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
                self.since(moment) + self._runtime.elapsed(event, mark) * 1000 for mark in (each.before, each.after)
            )
            for mark in (each.before, each.after):
                self._runtime.destroy_event(mark)
            called, returned = self.since(each.called), self.since(each.returned)
            start = max(start, called)  # an idle device passes the first mark before the call is made
            self.work.append(
                Work(
                    each.name, each.thread, each.device, self.number_of(each.stream), called, returned, start, max(start, end),
                    each.inputs, each.collective,
                )
            )  # fmt: skip
