"""`torch.Stream` and `torch.Event`: queues of work on any device, and marks in them.

On the CPU work is done when a call returns: its stream has nothing to wait for, and it has no events.
"""

from __future__ import annotations

from typing import Any

from .. import _C
from .above import above

_NO_EVENTS = "cpu backend doesn't support events."


def _device(device: Any) -> Any:
    return _C.device("cpu") if device is None else _C.device(device)


class _OfDevice(type):
    """Calls of `Stream` and `Event` with another device than the CPU make that device's own."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls not in (Stream, Event):
            return super().__call__(*args, **kwargs)
        device, rest = (args[0], args[1:]) if args else (kwargs.pop("device", None), ())
        kind = _device(device).type
        if kind == "cpu":
            return super().__call__(device, *rest, **kwargs)
        own = above.own_device()
        if own is not None and kind == own.name():
            made = own.streams()
            return made.Stream(device, *rest, **kwargs) if cls is Stream else made.Event(device, *rest, **kwargs)
        module = above.device_module(kind) if kind in ("npu", "cuda") else None
        if module is None or not module.is_available():
            raise RuntimeError(f"torch.{cls.__name__}: there is no back end for the device {device}")
        return module.Stream(device, *rest, **kwargs) if cls is Stream else module.Event(*rest, **kwargs)


class Stream(metaclass=_OfDevice):
    """A queue of work on a device, the CPU unless `device` names another: then its back end's own stream is made.

    >>> torch.Stream().device_type
    0
    """

    def __init__(self, device: Any = None, priority: int = 0) -> None:
        self.device_index, self.device_type, self.stream_id = -1, 0, 0

    @property
    def device(self) -> Any:
        """The device of the stream."""
        return _C.device("cpu")

    def query(self) -> bool:
        """Whether nothing is left to do."""
        return True

    def synchronize(self) -> None:
        """Wait until nothing is left to do."""

    def record_event(self, event: Event | None = None) -> Event:
        """Raise RuntimeError on the CPU."""
        raise RuntimeError(_NO_EVENTS)

    def wait_event(self, event: Event) -> None:
        """Let later work wait for an event; nothing on the CPU."""

    def wait_stream(self, stream: Stream) -> None:
        """Raise RuntimeError on the CPU."""
        raise RuntimeError(_NO_EVENTS)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) is Stream

    def __hash__(self) -> int:
        return hash((self.device_type, self.device_index, self.stream_id))

    def __repr__(self) -> str:
        return f"torch.Stream device_type=cpu, device_index={self.device_index}, stream_id={self.stream_id}"


class Event(metaclass=_OfDevice):
    """A mark in a stream; on another device than the CPU the back end's own event is made.

    >>> torch.Event("cpu").device
    device(type='cpu')
    """

    def __init__(self, device: Any = None, *, enable_timing: bool = False, blocking: bool = False) -> None:
        self.device = _device(device)

    def record(self, stream: Stream | None = None) -> None:
        """Raise RuntimeError on the CPU."""
        raise RuntimeError(_NO_EVENTS)

    def query(self) -> bool:
        """Whether the work before the mark is done; true where nothing was recorded."""
        return True

    def synchronize(self) -> None:
        """Wait for the work before the mark."""

    def wait(self, stream: Stream | None = None) -> None:
        """Let later work of a stream wait for the mark."""

    def __repr__(self) -> str:
        return "torch.Event device_type=cpu, device_index=-1, event_flag=0, event_id=0"
