"""`torch.Stream` and `torch.Event` of a device of a program's own: its guard, which is in C++, does the work."""

from __future__ import annotations

from typing import Any

from mindtorch_v2 import _C
from mindtorch_v2._core.stream import Event as _Event
from mindtorch_v2._core.stream import Stream as _Stream

from .own_parts import ask, is_named, name

__all__ = ["Event", "Stream", "current_stream", "stream_at"]

_PRIVATE_USE_1 = 20  # the number of the type


def _current() -> int:
    return max(ask("guard", "current_device"), 0)


class Stream(_Stream):
    """A queue of work of the device; a new one, unless it is said by its number which."""

    def __init__(
        self,
        device: Any = None,
        priority: int = 0,
        *,
        stream_id: int | None = None,
        device_index: int | None = None,
        device_type: int | None = None,
    ) -> None:
        index = device_index if device is None else _C.device(device).index
        index = _current() if index is None else index
        if stream_id is None:
            stream_id, index = ask("guard", "new_stream", index, priority)
        self.device_index, self.device_type, self.stream_id = index, _PRIVATE_USE_1, stream_id

    @property
    def device(self) -> Any:
        """The device of the stream."""
        return _C.device(name(), self.device_index)

    def query(self) -> bool:
        """Whether nothing is left to do."""
        return bool(ask("guard", "query_stream", self.stream_id, self.device_index))

    def synchronize(self) -> None:
        """Wait until nothing is left to do."""
        ask("guard", "synchronize_stream", self.stream_id, self.device_index)

    def record_event(self, event: Any = None) -> Any:
        """Record an event here, a new one if none is given, and return it."""
        event = Event(self.device) if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Any) -> None:
        """Let later work wait for an event."""
        event.wait(self)

    def wait_stream(self, stream: Any) -> None:
        """Let later work wait for what is in another stream now."""
        self.wait_event(stream.record_event())

    def __enter__(self) -> Stream:
        self._before = ask("guard", "current_device"), ask("guard", "current_stream", self.device_index)
        ask("guard", "set_device", self.device_index)
        ask("guard", "exchange_stream", self.stream_id, self.device_index)
        return self

    def __exit__(self, *_: object) -> None:
        device, stream = self._before
        ask("guard", "exchange_stream", *stream)
        ask("guard", "set_device", device)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            return False
        return (self.device_index, self.stream_id) == (other.device_index, other.stream_id)

    def __hash__(self) -> int:
        return hash((self.device_type, self.device_index, self.stream_id))

    def __repr__(self) -> str:
        return f"torch.Stream device_type={name()}, device_index={self.device_index}, stream_id={self.stream_id}"


def current_stream(index: int) -> Stream:
    """The current stream of a device."""
    number, place = ask("guard", "current_stream", index)
    return Stream(stream_id=number, device_index=place)


class Event(_Event):
    """A mark in a stream of the device."""

    def __init__(
        self, device: Any = None, *, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        self._event, self._index = 0, _current()
        self._question = "record_timed_event" if enable_timing else "record_event"

    @property
    def device(self) -> Any:
        """The device of the event."""
        return _C.device(name(), self._index)

    @property
    def event_id(self) -> int:
        """The number of the event; 0 before it was recorded."""
        return self._event

    def record(self, stream: Any = None) -> None:
        """Mark what is in a stream now, the current one if none is given."""
        stream = current_stream(_current()) if stream is None else stream
        self._index = stream.device_index
        self._event = ask("guard", self._question, self._event, stream.stream_id, stream.device_index)

    def query(self) -> bool:
        """Whether the work before the mark is done."""
        return not self._event or bool(ask("guard", "query_event", self._event))

    def wait(self, stream: Any = None) -> None:
        """Let later work of a stream wait for the mark."""
        stream = current_stream(_current()) if stream is None else stream
        if self._event:
            ask("guard", "block_event", self._event, stream.stream_id, stream.device_index)

    def synchronize(self) -> None:
        """Wait for the work before the mark."""
        if self._event:
            ask("guard", "synchronize_event", self._event)

    def elapsed_time(self, end_event: Any) -> float:
        """Milliseconds from this mark to another."""
        return ask("guard", "elapsed_time", self._event, end_event._event, self._index)

    def __del__(self) -> None:
        if self._event:
            ask("guard", "destroy_event", self._event, self._index)

    def __repr__(self) -> str:
        return f"torch.Event device_type={name()}, device_index={self._index}, event_flag=0, event_id={self._event}"


def stream_at(stream_id: int, device_index: int, device_type: int) -> Any:
    """The stream of these numbers, which C++ gives to Python."""
    if device_type == 0:
        return _Stream()
    if device_type != _PRIVATE_USE_1 or not is_named():
        raise NotImplementedError(f"c10::Stream: streams of device type {device_type} are no objects of Python here")
    return Stream(stream_id=stream_id, device_index=device_index)
