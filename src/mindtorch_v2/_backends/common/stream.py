"""Streams and events as PyTorch's objects: what they share on every device."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any, ClassVar, Self

from ... import _C
from ..._core import stream as _stream


class _Pool:
    """The streams of one kind that a device has: a scarce thing of the hardware, they live as long as the process."""

    def __init__(self) -> None:
        self.handles: list[int] = []
        self.given = 0


class Streams:
    """The streams of a back end: its pools, and which stream this thread's work goes to.

    Args:
        kind: the type of device.
        named: the module that programs know the classes by.
        runtime: gives the back end's runtime, and starts it.
    """

    def __init__(self, kind: str, named: str, runtime: Callable[[], Any]) -> None:
        self.kind, self.named, self.runtime = kind, named, runtime
        self.stream: type[Stream]
        self.event: type[Event]
        self.lock = threading.Lock()
        self.pools: dict[tuple[int, int], _Pool] = {}  # (device, a number of the back end's)

    def device_index(self, device: Any) -> int:
        """The index that a device, a string, an int or None (the current device) stands for."""
        if device is None:
            return self.runtime().thread.device
        if isinstance(device, bool) or not isinstance(device, int):
            device = _C.device(device)
            if device.type != self.kind:
                raise ValueError(f"Expected a {self.kind} device, but got: {device}")
            return self.runtime().thread.device if device.index is None else device.index
        return device

    def pooled(self, device: int, number: int, size: int, priority: int = 0) -> int:
        """A handle from a pool of a device: a new one until it is full, then the first again."""
        runtime = self.runtime()
        with self.lock:
            pool = self.pools.setdefault((device, number), _Pool())
            place = pool.given % size
            if place == len(pool.handles):
                handle = runtime.create_stream(device, priority)
                runtime.finalizers.append(lambda: runtime.destroy_stream(handle))
                pool.handles.append(handle)
            pool.given += 1
            return pool.handles[place]

    def default_stream(self, device: Any = None) -> Any:
        """The stream that work goes to where no other is chosen."""
        return self.stream(self.device_index(device), handle=0)

    def current_stream(self, device: Any = None) -> Any:
        """The stream that this thread's work on a device goes to."""
        index = self.device_index(device)
        return self.runtime().thread.streams.get(index) or self.default_stream(index)

    def set_stream(self, stream: Stream | None) -> None:
        """Send this thread's work on the stream's device there, and make its device the current one."""
        if stream is None:
            return
        runtime = self.runtime()
        runtime.set_device(stream.device_index)
        runtime.set_stream(stream)


class Stream(_stream.Stream):
    """The base of a back end's streams.

    Args:
        device: where; None is the current device.
        priority: from `least` to 0, the usual one; others are brought into the range.
        handle: the back end's own, 0 for the default stream.
        stream_id, device_index, device_type: another object for a stream that is there, by its own attributes.
        options: of the back end's, for `new_handle`.

    Raises:
        RuntimeError: there is no such device or stream.
    """

    of: ClassVar[Streams]
    device_type: int  # PyTorch's number of the type
    least: ClassVar[int]
    handle: int

    def __init__(
        self,
        device: Any = None,
        priority: int = 0,
        *,
        handle: int | None = None,
        stream_id: int | None = None,
        device_index: int | None = None,
        device_type: int | None = None,
        **options: Any,
    ) -> None:
        if device_type not in (None, self.device_type):
            raise RuntimeError(
                f"torch.{self.of.kind}.Stream: device_type must be {self.device_type}, but it is {device_type}"
            )
        self.device_index = self.of.device_index(device if device_index is None else device_index)
        self.of.runtime().check_index(self.device_index)
        self.priority = min(max(priority, self.least), 0)
        if stream_id is not None:
            self.priority, handle = self.known(stream_id)
        self.handle = self.new_handle(**options) if handle is None else handle

    def known(self, stream_id: int) -> tuple[int, int]:
        """Priority and handle of a stream that is there; RuntimeError for a number that is none's."""
        raise NotImplementedError

    def new_handle(self) -> int:
        """The handle of a new stream of the device and priority."""
        raise NotImplementedError

    def __init_subclass__(cls, of: Streams | None = None) -> None:
        if of is not None:
            cls.of = of
            of.stream = cls

    @property
    def device(self) -> Any:
        return _C.device(self.of.kind, self.device_index)

    def synchronize(self) -> None:
        """Wait until the stream has nothing left to do; raises the error of work that failed."""
        self.of.runtime().synchronize_stream(self.device_index, self.handle)

    def query(self) -> bool:
        """Whether the stream has nothing left to do."""
        return self.of.runtime().stream_done(self.device_index, self.handle)

    def record_event(self, event: Any = None) -> Any:
        """Record an event here, a new one unless it is given."""
        event = self.of.event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Any) -> None:
        """Let later work on this stream wait for an event."""
        event.wait(self)

    def wait_stream(self, stream: Any) -> None:
        """Let later work on this stream wait for what the other one has now."""
        self.wait_event(stream.record_event())

    def __enter__(self) -> Self:
        self._before = self.of.current_stream(self.device_index)
        self.of.set_stream(self)
        return self

    def __exit__(self, *exception: object) -> None:
        self.of.set_stream(self._before)

    def __eq__(self, other: object) -> bool:
        if not (isinstance(other, Stream) and other.of is self.of):
            return False
        return (self.device_index, self.handle) == (other.device_index, other.handle)

    def __hash__(self) -> int:
        return hash((self.device_index, self.handle))

    def __repr__(self) -> str:
        return f"<{self.of.named}.Stream device={self.device} {self.of.kind}_stream={self.handle:#x}>"


class Event(_stream.Event):
    """A mark in a stream that the host and other streams can wait for.

    Args:
        enable_timing: whether `elapsed_time` will be asked.
        blocking, interprocess: taken for PyTorch's sake; an event of another process is not supported.
    """

    of: ClassVar[Streams]
    handle = 0  # until it is recorded

    def __init_subclass__(cls, of: Streams | None = None) -> None:
        if of is not None:
            cls.of = of
            of.event = cls

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        if interprocess:
            raise NotImplementedError(f"torch.{self.of.kind}.Event: events between processes are not supported")
        self.of.runtime()
        self.enable_timing = enable_timing
        self.device = _C.device(self.of.kind)  # that of the stream, once it is recorded

    def record(self, stream: Any = None) -> None:
        """Mark the place that a stream (the current one) has reached."""
        runtime = self.of.runtime()
        stream = self.of.current_stream() if stream is None else stream
        if not self.handle:
            runtime.activate(stream.device_index)
            self.handle = runtime.create_event(self.enable_timing)
        runtime.record_event(self.handle, stream.device_index, stream.handle)
        self.device = stream.device

    def wait(self, stream: Any = None) -> None:
        """Let later work on a stream (the current one) wait for the mark."""
        if self.handle:
            stream = self.of.current_stream() if stream is None else stream
            self.of.runtime().wait_event(self.handle, stream.device_index, stream.handle)

    def query(self) -> bool:
        """Whether the work before the mark is done; true if nothing was recorded."""
        return not self.handle or self.of.runtime().event_done(self.handle)

    def synchronize(self) -> None:
        """Wait until the work before the mark is done."""
        if self.handle:
            self.of.runtime().synchronize_event(self.handle)

    def elapsed_time(self, end_event: Any) -> float:
        """Milliseconds from this mark to another; both must be recorded with timing, and passed."""
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (self.handle and end_event.handle):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return self.of.runtime().elapsed(self.handle, end_event.handle)

    def __repr__(self) -> str:
        return f"<{self.of.named}.Event {f'{self.handle:#x}' if self.handle else 'uninitialized'}>"

    def __del__(self) -> None:
        if self.handle:
            with contextlib.suppress(RuntimeError):  # a lost device has no events any more
                self.of.runtime().destroy_event(self.handle)
