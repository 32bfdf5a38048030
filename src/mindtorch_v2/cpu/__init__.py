"""`torch.cpu`: the CPU as a device: what it can do, its memory, and the trivial forms of streams and events."""

from __future__ import annotations

from types import ModuleType, TracebackType
from typing import Any, TYPE_CHECKING

import contextlib
import importlib
import os

from mindtorch_v2 import _C
from mindtorch_v2.cpu._processor import capabilities, flags

if TYPE_CHECKING:
    from mindtorch_v2.types import Device


__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "amp",
    "current_device",
    "current_stream",
    "device_count",
    "empty_cache",
    "get_capabilities",
    "is_available",
    "is_initialized",
    "max_memory_allocated",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_peak_memory_stats",
    "set_device",
    "stream",
    "synchronize",
]


def is_available() -> bool:
    """Whether there is a CPU: yes.

    >>> torch.cpu.is_available()
    True
    """
    return True


def is_initialized() -> bool:
    """Whether the CPU is ready: yes.

    >>> torch.cpu.is_initialized()
    True
    """
    return True


def device_count() -> int:
    """The number of CPU devices: one, whatever its cores.

    >>> torch.cpu.device_count()
    1
    """
    return 1


def current_device() -> str:
    """The current device's name.

    >>> torch.cpu.current_device()
    'cpu'
    """
    return "cpu"


def set_device(device: Device) -> None:
    """Accepted for code that works on any device; there is one CPU.

    >>> torch.cpu.set_device("cpu")
    >>> torch.cpu.current_device()
    'cpu'
    """


def synchronize(device: Device | None = None) -> None:
    """Return at once: work on the CPU is done when its call returns.

    >>> torch.cpu.synchronize()
    """


def memory_stats() -> dict:
    """Statistics of the caching allocator, in bytes and counts: allocated, reserved, their peaks, cache hits."""
    return dict(_C._cpu_memory_stats())


def reset_peak_memory_stats() -> None:
    """Start the peaks of `memory_stats` anew from the current values."""
    _C._cpu_reset_peak_memory_stats()


def empty_cache() -> None:
    """Give memory that no tensor uses back to the system."""
    _C._cpu_empty_cache()


def memory_allocated() -> int:
    """Bytes in use by tensors."""
    return memory_stats()["allocated_bytes.current"]


def max_memory_allocated() -> int:
    """The most bytes in use by tensors since the start or `reset_peak_memory_stats`."""
    return memory_stats()["allocated_bytes.peak"]


def memory_reserved() -> int:
    """Bytes held from the system, in use or cached."""
    return memory_stats()["reserved_bytes.current"]


def get_capabilities() -> dict[str, Any]:
    """The processor's name and abilities, from Linux: `cpu_name`, cores, caches in bytes, and a boolean for each feature of x86-64.

    >>> sorted(name for name in torch.cpu.get_capabilities() if name.startswith("avx512_b"))
    ['avx512_bf16', 'avx512_bitalg', 'avx512_bw']
    """
    return capabilities()


def _is_avx2_supported() -> bool:
    return "avx2" in flags()


def _is_avx512_supported() -> bool:
    return "avx512f" in flags()


def _is_avx512_bf16_supported() -> bool:
    return "avx512_bf16" in flags()


def _is_vnni_supported() -> bool:
    return "avx512_vnni" in flags()


def _is_amx_tile_supported() -> bool:
    return "amx_tile" in flags()


def _is_amx_fp16_supported() -> bool:
    return "amx_fp16" in flags()


class Stream:
    """The CPU's one queue of work, in program order; there is nothing to wait for.

    >>> stream = torch.cpu.Stream()
    >>> with torch.cpu.stream(stream):
    ...     torch.cpu.current_stream() == stream
    True
    """

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        """Return at once."""

    def record_event(self) -> Any:
        """An event that has happened."""
        return Event()

    def wait_event(self, event: Any) -> None:
        """Return at once."""


class Event:
    """A point in the queue of work, reached when it is made.

    >>> event = torch.cpu.Event()
    >>> event.record()
    >>> event.query()
    True
    """

    def query(self) -> bool:
        """Whether the point was reached: yes."""
        return True

    def record(self, stream: Any = None) -> None:
        """Mark this point."""

    def synchronize(self) -> None:
        """Return at once."""

    def wait(self, stream: Any = None) -> None:
        """Return at once."""


_default_cpu_stream = Stream()
_current_stream = _default_cpu_stream


def current_stream(device: Device | None = None) -> Stream:
    """The current stream.

    >>> type(torch.cpu.current_stream()).__name__
    'Stream'
    """
    return _current_stream


class StreamContext(contextlib.AbstractContextManager):
    """Make a stream current while entered; None does nothing.

    >>> with torch.cpu.StreamContext(torch.cpu.Stream()):
    ...     print(torch.ones(2).sum())
    tensor(2.)
    """

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.previous: Any = None

    def __enter__(self) -> None:
        global _current_stream
        self.previous = _current_stream
        if self.stream is not None:
            _current_stream = self.stream

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        global _current_stream
        _current_stream = self.previous


def stream(stream: Any) -> StreamContext:
    """`StreamContext(stream)`.

    >>> with torch.cpu.stream(torch.cpu.Stream()):
    ...     print(torch.ones(2).sum())
    tensor(2.)
    """
    return StreamContext(stream)


def __getattr__(name: str) -> ModuleType:
    if name == "amp":  # only loaded when asked for: it needs `torch.amp`, which may still be loading
        return importlib.import_module("mindtorch_v2.cpu.amp")
    raise AttributeError(f"module 'mindtorch_v2.cpu' has no attribute {name!r}")
