"""Streams and events as PyTorch's objects."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

from ... import _C
from ..._core import stream as _stream
from . import state


def device_index(device: Any) -> int:
    """The index that a device, a string, an int or None (the current device) stands for."""
    runtime = state.get().runtime
    if device is None:
        return runtime.thread.device
    if isinstance(device, bool) or not isinstance(device, int):
        device = _C.device(device)
        if device.type != "npu":
            raise ValueError(f"Expected a npu device, but got: {device}")
        return runtime.thread.device if device.index is None else device.index
    return device


# torch_npu's numbers of the kinds of pools, and how many streams each holds; a stream_id is 32 times the number, and the place.
_SYNC_LAUNCH, _NORMAL, _URGENT = 2, 3, 4
_SIZES = {_SYNC_LAUNCH: 4, _NORMAL: 32, _URGENT: 32}
_IDS_OF_A_KIND = 32


class _Pool:
    """The streams of one kind that a device has: a scarce thing of the hardware, they live as long as the process."""

    def __init__(self) -> None:
        self.handles: list[int] = []
        self.given = 0


_lock = threading.Lock()
_pools: dict[tuple[int, int], _Pool] = {}  # (device, kind)
_external: set[tuple[int, int]] = set()  # (device, handle) of streams that others made


def _pooled(device: int, kind: int) -> int:
    """A handle from a pool of a device: a new one until it is full, then the first again."""
    runtime = state.get().runtime
    with _lock:
        pool = _pools.setdefault((device, kind), _Pool())
        place = pool.given % _SIZES[kind]
        if place == len(pool.handles):
            handle = runtime.create_stream(device)
            runtime.finalizers.append(lambda: runtime.aclrtDestroyStream(handle))
            pool.handles.append(handle)
        pool.given += 1
        return pool.handles[place]


def _known(device: int, stream_id: int) -> tuple[int, int]:
    """Priority and handle of a stream that was made before; RuntimeError for a number that is none's."""
    kind, place = divmod(stream_id, _IDS_OF_A_KIND)
    with _lock:
        pool = _pools.get((device, kind))
        if pool is not None and place < len(pool.handles):
            return (-1 if kind == _URGENT else 0), pool.handles[place]
        if stream_id == 0 or (device, stream_id) in _external:
            return 0, stream_id
    raise RuntimeError(f"torch.npu.Stream: device npu:{device} has no stream with the stream_id {stream_id}")


def _id_of(device: int, handle: int) -> int:
    """The stream_id of a handle: its place in a pool, or the handle itself for a stream of no pool."""
    with _lock:
        for kind in _SIZES:
            pool = _pools.get((device, kind))
            if pool is not None and handle in pool.handles:
                return kind * _IDS_OF_A_KIND + pool.handles.index(handle)
    return handle


_index = device_index  # parameters have the name


class Stream(_stream.Stream):
    """A queue of work on a device, in order in itself and independent of other streams.

    A device has 32 of each priority, and 4 with `is_sync_launch`; the next one made is the first again.

    Args:
        device: where; None is the current device.
        priority: below 0 for a stream of the second pool; the device makes no difference, as with torch_npu.
        stream_id, device_index, device_type: another object for a stream that is there, by its own attributes.
        is_sync_launch: taken for torch_npu's sake; the thread that asks for work hands it to the device, on every stream.

    Raises:
        RuntimeError: there is no such stream.
    """

    device_type = 20  # PyTorch's number of the key PrivateUse1, by which torch_npu's streams are told from others

    def __init__(
        self,
        device: Any = None,
        priority: int = 0,
        *,
        handle: int | None = None,
        stream_id: int | None = None,
        device_index: int | None = None,
        device_type: int | None = None,
        is_sync_launch: bool = False,
    ) -> None:
        if device_type not in (None, self.device_type):
            raise RuntimeError(f"torch.npu.Stream: device_type must be {self.device_type}, but it is {device_type}")
        if device_index is not None:
            count = state.get().runtime.device_count
            if not 0 <= device_index < count:
                raise RuntimeError(f"torch.npu.Stream: there are {count} devices, but device_index is {device_index}")
            device = device_index
        self.device_index = _index(device)
        self.priority = min(max(priority, -1), 0)
        if stream_id is not None:
            self.priority, handle = _known(self.device_index, stream_id)
        if handle is None:
            kind = _SYNC_LAUNCH if is_sync_launch else _URGENT if self.priority < 0 else _NORMAL
            handle = _pooled(self.device_index, kind)
        self.npu_stream = handle

    @property
    def device(self) -> Any:
        return _C.device("npu", self.device_index)

    @property
    def stream_id(self) -> int:  # type: ignore[override]  # (narrower: of this device)
        return _id_of(self.device_index, self.npu_stream)

    def synchronize(self) -> None:
        """Wait until the stream has nothing left to do; raises the error of work that failed."""
        state.get().runtime.synchronize_stream(self.device_index, self.npu_stream)

    def query(self) -> bool:
        """Whether the stream has nothing left to do."""
        runtime = state.get().runtime
        runtime.activate(self.device_index)
        status = ctypes.c_int()
        runtime.check("aclrtStreamQuery", runtime.aclrtStreamQuery(self.npu_stream or None, ctypes.byref(status)))
        return status.value == 0

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
        return isinstance(other, Stream) and (self.device_index, self.npu_stream) == (
            other.device_index,
            other.npu_stream,
        )

    def __hash__(self) -> int:
        return hash((self.device_index, self.npu_stream))

    def __repr__(self) -> str:
        return f"<torch_npu.npu.Stream device=npu:{self.device_index} npu_stream={self.npu_stream:#x}>"


class ExternalStream(Stream):
    """A stream that another library made, by its `aclrtStream` as a number; it must live as long as this object is used.

    Args:
        stream_ptr: the address.
        device: where it was made; None is the current device.
    """

    def __init__(self, stream_ptr: int, device: Any = None) -> None:
        if not stream_ptr:
            raise RuntimeError("torch.npu.ExternalStream: stream_ptr must be the address of a stream, but it is 0")
        super().__init__(device, handle=int(stream_ptr))
        _external.add((self.device_index, self.npu_stream))

    def synchronize(self) -> None:
        """RuntimeError, as in torch_npu: who made the stream waits for it, or `torch.npu.synchronize()` for the whole device."""
        raise RuntimeError(
            "NPUStream::synchronize is not supported for an external stream; wait for it where it was made, or call "
            "torch.npu.synchronize()"
        )

    def query(self) -> bool:
        """RuntimeError, as in torch_npu: ask where the stream was made, or an event that was recorded on it."""
        raise RuntimeError(
            "Cannot query an external stream; ask where it was made, or record an event on it and query that"
        )


class Event(_stream.Event):
    """A mark in a stream that the host and other streams can wait for.

    Args:
        enable_timing: whether `elapsed_time` will be asked.
        blocking, interprocess: taken for PyTorch's sake; an event of another process is not supported.
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        if interprocess:
            raise NotImplementedError("torch.npu.Event: events between processes are not supported")
        self.enable_timing = enable_timing
        self.npu_event = 0
        self.device = _C.device("npu")  # that of the stream, once it is recorded

    def record(self, stream: Stream | None = None) -> None:  # type: ignore[override]  # (narrower: of this device)
        """Mark the place that a stream (the current one) has reached."""
        runtime = state.get().runtime
        stream = current_stream() if stream is None else stream
        if not self.npu_event:
            self.npu_event = runtime.create_event(self.enable_timing)
        runtime.record_event(self.npu_event, stream.device_index, stream.npu_stream)
        self.device = stream.device

    def wait(self, stream: Stream | None = None) -> None:  # type: ignore[override]  # (narrower: of this device)
        """Let later work on a stream (the current one) wait for the mark."""
        if not self.npu_event:
            return
        runtime = state.get().runtime
        stream = current_stream() if stream is None else stream
        runtime.activate(stream.device_index)
        code = runtime.aclrtStreamWaitEvent(stream.npu_stream or None, self.npu_event)
        runtime.check("aclrtStreamWaitEvent", code)

    def query(self) -> bool:
        """Whether the work before the mark is done; true if nothing was recorded."""
        return not self.npu_event or state.get().runtime.event_done(self.npu_event)

    def synchronize(self) -> None:
        """Wait until the work before the mark is done."""
        if self.npu_event:
            runtime = state.get().runtime
            runtime.check("aclrtSynchronizeEvent", runtime.aclrtSynchronizeEvent(self.npu_event))

    def recorded_time(self) -> int:
        """When the mark was passed, in microseconds of a clock of the device's; it waits for that.

        ValueError for an event without timing or that was not recorded.
        """
        if not (self.enable_timing and self.npu_event):
            raise ValueError("recorded_time(): the event must be created with enable_timing=True and be recorded")
        self.synchronize()
        runtime, time = state.get().runtime, ctypes.c_uint64()
        code = runtime.aclrtEventGetTimestamp(self.npu_event, ctypes.byref(time))
        runtime.check("aclrtEventGetTimestamp", code)
        return time.value

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this mark to another; both must be recorded with timing; it waits for the other."""
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (self.npu_event and end_event.npu_event):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        end_event.synchronize()  # as torch_npu's does
        return state.get().runtime.elapsed(self.npu_event, end_event.npu_event)

    def __repr__(self) -> str:
        return f"<torch_npu.npu.Event {self.npu_event:#x}>" if self.npu_event else "<torch_npu.npu.Event uninitialized>"

    def __del__(self) -> None:
        if self.npu_event:
            state.get().runtime.destroy_event(self.npu_event)


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
    runtime.thread.handles[stream.device_index] = stream.npu_stream
