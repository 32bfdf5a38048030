"""Streams and events of CUDA's devices."""

from __future__ import annotations

import ctypes
from typing import Any

from ..common import stream as _common
from . import state

_POOL = 32  # streams of each priority that a device has; the next one made is the first again

streams = _common.Streams("cuda", "torch.cuda", lambda: state.get().runtime)
device_index = streams.device_index
default_stream, current_stream, set_stream = streams.default_stream, streams.current_stream, streams.set_stream


class Stream(_common.Stream, of=streams):
    """A queue of work on a device, in order in itself and independent of other streams.

    Args:
        device: where; None is the current device.
        priority: below 0 for a stream that goes first.
        stream_id, device_index, device_type: another object for a stream that is there, by its own attributes.
    """

    device_type = 1  # PyTorch's number of CUDA

    least = -5

    def known(self, stream_id: int) -> tuple[int, int]:
        return self.priority, stream_id

    def new_handle(self) -> int:
        return streams.pooled(self.device_index, self.priority, _POOL, self.priority)

    @property
    def cuda_stream(self) -> int:
        """The stream's `CUstream` as a number; 0 for the default one."""
        return self.handle

    @property
    def stream_id(self) -> int:  # type: ignore[override]  # (narrower: of this device)
        return self.handle

    @property
    def _as_parameter_(self) -> Any:
        return ctypes.c_void_p(self.handle)

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """The least and the greatest priority."""
        return 0, -5


class ExternalStream(Stream):
    """A stream that another library made, by its `CUstream` as a number; it must live as long as this object is used."""

    def __init__(self, stream_ptr: int, device: Any = None) -> None:
        super().__init__(device, handle=int(stream_ptr))


class Event(_common.Event, of=streams):
    __doc__ = _common.Event.__doc__

    @property
    def cuda_event(self) -> int:
        """The event's `CUevent` as a number; 0 until it is recorded."""
        return self.handle
