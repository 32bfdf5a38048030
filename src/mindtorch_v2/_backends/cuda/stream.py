"""Streams and events as PyTorch's objects."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from typing import Any

from ... import _C
from ..._core import stream as _stream
from . import state

_NOT_READY = 600
_POOL = 32  # streams of each priority that a device has; the next one made is the first again


def device_index(device: Any) -> int:
    """The index that a device, a string, an int or None (the current device) stands for."""
    runtime = state.get().runtime
    if device is None:
        return runtime.thread.device
    if isinstance(device, bool) or not isinstance(device, int):
        device = _C.device(device)
        if device.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {device}")
        return runtime.thread.device if device.index is None else device.index
    return device


_index = device_index  # parameters have the name
_lock = threading.Lock()
_pools: dict[tuple[int, int], tuple[list[int], list[int]]] = {}  # (device, priority) -> handles, [number given]


def _pooled(device: int, priority: int) -> int:
    runtime = state.get().runtime
    with _lock:
        handles, given = _pools.setdefault((device, priority), ([], [0]))
        place = given[0] % _POOL
        if place == len(handles):
            handle = runtime.create_stream(device, priority)
            runtime.finalizers.append(lambda: runtime.cuStreamDestroy_v2(handle))
            handles.append(handle)
        given[0] += 1
        return handles[place]


class Stream(_stream.Stream):
    """A queue of work on a device, in order in itself and independent of other streams.

    Args:
        device: where; None is the current device.
        priority: below 0 for a stream that goes first.
        stream_id, device_index, device_type: another object for a stream that is there, by its own attributes.
    """

    device_type = 1  # PyTorch's number of CUDA

    def __init__(
        self,
        device: Any = None,
        priority: int = 0,
        *,
        handle: int | None = None,
        stream_id: int | None = None,
        device_index: int | None = None,
        device_type: int | None = None,
    ) -> None:
        runtime = state.get().runtime
        self.device_index = _index(device if device_index is None else device_index)
        runtime.check_index(self.device_index)
        self.priority = min(max(priority, -5), 0)
        if handle is None:
            handle = _pooled(self.device_index, self.priority) if stream_id is None else stream_id
        self.cuda_stream = handle

    @property
    def device(self) -> Any:
        return _C.device("cuda", self.device_index)

    @property
    def stream_id(self) -> int:  # type: ignore[override]  # (narrower: of this device)
        return self.cuda_stream

    @property
    def _as_parameter_(self) -> Any:
        return ctypes.c_void_p(self.cuda_stream)

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """The least and the greatest priority."""
        return 0, -5

    def synchronize(self) -> None:
        """Wait until the stream has nothing left to do; raises the error of work that failed."""
        state.get().runtime.synchronize_stream(self.device_index, self.cuda_stream)

    def query(self) -> bool:
        """Whether the stream has nothing left to do."""
        runtime = state.get().runtime
        runtime.activate(self.device_index)
        code = runtime.cuStreamQuery(self.cuda_stream or None)
        if code not in (0, _NOT_READY):
            runtime.fail("cuStreamQuery", code)
        return code == 0

    def record_event(self, event: Event | None = None) -> Event:  # type: ignore[override]  # (narrower: of this device)
        """Record an event here, a new one unless it is given."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:  # type: ignore[override]  # (narrower: of this device)
        """Let later work on this stream wait for an event."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:  # type: ignore[override]  # (narrower: of this device)
        """Let later work on this stream wait for what the other one has now."""
        self.wait_event(stream.record_event())

    def __enter__(self) -> Stream:
        self._before = current_stream(self.device_index)
        set_stream(self)
        return self

    def __exit__(self, *exception: object) -> None:
        set_stream(self._before)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (self.device_index, self.cuda_stream) == (
            other.device_index,
            other.cuda_stream,
        )

    def __hash__(self) -> int:
        return hash((self.device_index, self.cuda_stream))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device=cuda:{self.device_index} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream(Stream):
    """A stream that another library made, by its `CUstream` as a number; it must live as long as this object is used."""

    def __init__(self, stream_ptr: int, device: Any = None) -> None:
        super().__init__(device, handle=int(stream_ptr))


class Event(_stream.Event):
    """A mark in a stream that the host and other streams can wait for.

    Args:
        enable_timing: whether `elapsed_time` will be asked.
        blocking, interprocess: taken for PyTorch's sake; an event of another process is not supported.
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        if interprocess:
            raise NotImplementedError("torch.cuda.Event: events between processes are not supported")
        state.get()
        self.enable_timing = enable_timing
        self.cuda_event = 0
        self.device = _C.device("cuda")  # that of the stream, once it is recorded

    def record(self, stream: Stream | None = None) -> None:  # type: ignore[override]  # (narrower: of this device)
        """Mark the place that a stream (the current one) has reached."""
        runtime = state.get().runtime
        stream = current_stream() if stream is None else stream
        if not self.cuda_event:
            runtime.activate(stream.device_index)
            self.cuda_event = runtime.create_event(self.enable_timing)
        runtime.record_event(self.cuda_event, stream.device_index, stream.cuda_stream)
        self.device = stream.device

    def wait(self, stream: Stream | None = None) -> None:  # type: ignore[override]  # (narrower: of this device)
        """Let later work on a stream (the current one) wait for the mark."""
        if not self.cuda_event:
            return
        runtime = state.get().runtime
        stream = current_stream() if stream is None else stream
        runtime.activate(stream.device_index)
        runtime.check("cuStreamWaitEvent", runtime.cuStreamWaitEvent(stream.cuda_stream or None, self.cuda_event, 0))

    def query(self) -> bool:
        """Whether the work before the mark is done; true if nothing was recorded."""
        return not self.cuda_event or state.get().runtime.event_done(self.cuda_event)

    def synchronize(self) -> None:
        """Wait until the work before the mark is done."""
        if self.cuda_event:
            runtime = state.get().runtime
            runtime.check("cuEventSynchronize", runtime.cuEventSynchronize(self.cuda_event))

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this mark to another; both must be recorded with timing, and passed."""
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (self.cuda_event and end_event.cuda_event):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return state.get().runtime.elapsed(self.cuda_event, end_event.cuda_event)

    def __repr__(self) -> str:
        return f"<torch.cuda.Event {self.cuda_event:#x}>" if self.cuda_event else "<torch.cuda.Event uninitialized>"

    def __del__(self) -> None:
        if getattr(self, "cuda_event", 0):
            with contextlib.suppress(RuntimeError):  # a lost context has no events any more
                state.get().runtime.destroy_event(self.cuda_event)


def default_stream(device: Any = None) -> Stream:
    """The stream that work goes to where no other is chosen."""
    return Stream(device_index(device), handle=0)


def current_stream(device: Any = None) -> Stream:
    """The stream that this thread's work on a device goes to."""
    index = device_index(device)
    return state.get().runtime.thread.streams.get(index) or default_stream(index)


def set_stream(stream: Stream | None) -> None:
    """Send this thread's work on the stream's device there, and make its device the current one."""
    if stream is None:
        return
    runtime = state.get().runtime
    runtime.set_device(stream.device_index)
    runtime.thread.streams[stream.device_index] = stream
    runtime.thread.handles[stream.device_index] = stream.cuda_stream
    _C._cuda_set_stream(stream.device_index, stream.cuda_stream)
