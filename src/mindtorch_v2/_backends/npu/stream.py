"""Streams and events of NPUs: pools as torch_npu numbers them, streams of others, times of the device."""

from __future__ import annotations

import ctypes
from typing import Any

from ..common import stream as _common
from . import state

# torch_npu's numbers of the kinds of pools, and how many streams each holds; a stream_id is 32 times the number, and the place.
_SYNC_LAUNCH, _NORMAL, _URGENT = 2, 3, 4
_SIZES = {_SYNC_LAUNCH: 4, _NORMAL: 32, _URGENT: 32}
_IDS_OF_A_KIND = 32

streams = _common.Streams("npu", "torch_npu.npu", lambda: state.get().runtime)
_external: set[tuple[int, int]] = set()  # (device, handle) of streams that others made
device_index = streams.device_index
default_stream, current_stream, set_stream = streams.default_stream, streams.current_stream, streams.set_stream


def _known(device: int, stream_id: int) -> tuple[int, int]:
    """Priority and handle of a stream that was made before; RuntimeError for a number that is none's."""
    kind, place = divmod(stream_id, _IDS_OF_A_KIND)
    with streams.lock:
        pool = streams.pools.get((device, kind))
        if pool is not None and place < len(pool.handles):
            return (-1 if kind == _URGENT else 0), pool.handles[place]
        if stream_id == 0 or (device, stream_id) in _external:
            return 0, stream_id
    raise RuntimeError(f"torch.npu.Stream: device npu:{device} has no stream with the stream_id {stream_id}")


def _id_of(device: int, handle: int) -> int:
    """The stream_id of a handle: its place in a pool, or the handle itself for a stream of no pool."""
    with streams.lock:
        for kind in _SIZES:
            pool = streams.pools.get((device, kind))
            if pool is not None and handle in pool.handles:
                return kind * _IDS_OF_A_KIND + pool.handles.index(handle)
    return handle


class Stream(_common.Stream, of=streams):
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

    least = -1

    def known(self, stream_id: int) -> tuple[int, int]:
        return _known(self.device_index, stream_id)

    def new_handle(self, is_sync_launch: bool = False) -> int:
        kind = _SYNC_LAUNCH if is_sync_launch else _URGENT if self.priority < 0 else _NORMAL
        return streams.pooled(self.device_index, kind, _SIZES[kind])

    @property
    def npu_stream(self) -> int:
        """The stream's `aclrtStream` as a number; 0 for the default one."""
        return self.handle

    @property
    def stream_id(self) -> int:  # type: ignore[override]  # (narrower: of this device)
        return _id_of(self.device_index, self.handle)


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
        _external.add((self.device_index, self.handle))

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


class Event(_common.Event, of=streams):
    __doc__ = _common.Event.__doc__

    @property
    def npu_event(self) -> int:
        """The event's `aclrtEvent` as a number; 0 until it is recorded."""
        return self.handle

    def recorded_time(self) -> int:
        """When the mark was passed, in microseconds of a clock of the device's; it waits for that.

        ValueError for an event without timing or that was not recorded.
        """
        if not (self.enable_timing and self.handle):
            raise ValueError("recorded_time(): the event must be created with enable_timing=True and be recorded")
        self.synchronize()
        runtime, time = state.get().runtime, ctypes.c_uint64()
        runtime.check("aclrtEventGetTimestamp", runtime.aclrtEventGetTimestamp(self.handle, ctypes.byref(time)))
        return time.value

    def elapsed_time(self, end_event: Any) -> float:
        """Milliseconds from this mark to another; both must be recorded with timing; it waits for the other, as torch_npu's."""
        end_event.synchronize()
        return super().elapsed_time(end_event)
