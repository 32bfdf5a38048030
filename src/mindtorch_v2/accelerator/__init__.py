"""`torch.accelerator`: the one kind of accelerator of a program: NPUs where CANN or its emulator is found, else GPUs of NVIDIA."""

from __future__ import annotations

from types import TracebackType
from typing import Any, TYPE_CHECKING

import mindtorch_v2 as torch
from mindtorch_v2._core.above import above

if TYPE_CHECKING:
    from mindtorch_v2.types import Device


__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
    "get_memory_info",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]


def _module() -> Any:
    """The module of the kind of accelerator that there is; None without one."""
    own = above.own_device()
    if own is not None:
        module = own.accelerator()
        return module if module.is_available() else None
    return next((module for module in (torch.npu, torch.cuda) if module.is_available()), None)


def is_available() -> bool:
    """Whether an accelerator can be used.

    >>> torch.accelerator.is_available()
    False
    """
    return _module() is not None


def device_count() -> int:
    """The number of accelerators.

    >>> torch.accelerator.device_count()
    0
    """
    module = _module()
    return 0 if module is None else module.device_count()


def current_accelerator(check_available: bool = False) -> torch.device | None:
    """The accelerator's device without index; None if there is none.

    >>> torch.accelerator.current_accelerator() is None
    True
    """
    own = above.own_device()
    if own is not None and not (check_available and _module() is None):
        return torch.device(own.name())
    module = _module()
    return None if module is None else torch.device("npu" if module is torch.npu else "cuda")


def _present() -> Any:
    """The accelerator's module; RuntimeError if there is none."""
    module = _module()
    if module is None:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return module


def current_device_index() -> int:
    """The index of the current device; RuntimeError without an accelerator."""
    return _present().current_device()


current_device_idx = current_device_index


def set_device_index(device: Device, /) -> None:
    """Make `device` the current one; RuntimeError without an accelerator."""
    _present().set_device(device)


set_device_idx = set_device_index


class device_index:
    """Context within which a device is the current one; with None nothing changes. RuntimeError without an accelerator.

    >>> with torch.accelerator.device_index(None):
    ...     pass
    """

    def __init__(self, device: int | None, /) -> None:
        self.idx, self.prev_idx = device, -1

    def __enter__(self) -> None:
        if self.idx is not None:
            self.prev_idx = current_device_index()
            set_device_index(self.idx)

    def __exit__(self, *exc_info: object) -> None:
        if self.idx is not None:
            set_device_index(self.prev_idx)


def current_stream(device: Device | None = None, /) -> Any:
    """The current stream; RuntimeError without an accelerator."""
    return _present().current_stream(device)


def set_stream(stream: Any) -> None:
    """Make `stream` the current one; RuntimeError without an accelerator."""
    _present().set_stream(stream)


def synchronize(device: Device | None = None, /) -> None:
    """Wait for `device`; RuntimeError without an accelerator."""
    _present().synchronize(device)


def empty_cache() -> None:
    """Release cached memory; RuntimeError without an accelerator."""
    _present().empty_cache()


def get_memory_info(device_index: Device | None = None, /) -> tuple[int, int]:
    """Bytes of a device that are free, and all of them; RuntimeError without an accelerator.

    >>> if torch.accelerator.is_available():
    ...     free, total = torch.accelerator.get_memory_info()
    """
    return _present().mem_get_info(device_index)


def reset_accumulated_memory_stats(device_index: Device | None = None, /) -> None:
    """Begin again at zero what `memory_stats` sums up; RuntimeError without an accelerator.

    >>> if torch.accelerator.is_available():
    ...     torch.accelerator.reset_accumulated_memory_stats()
    """
    _present().reset_accumulated_memory_stats(device_index)


def reset_peak_memory_stats(device_index: Device | None = None, /) -> None:
    """Begin again the most that was in use at what is; RuntimeError without an accelerator.

    >>> if torch.accelerator.is_available():
    ...     torch.accelerator.reset_peak_memory_stats()
    """
    _present().reset_peak_memory_stats(device_index)


def memory_stats(device_index: Device | None = None, /) -> dict[str, Any]:
    """Statistics of the allocator; RuntimeError without an accelerator."""
    return _present().memory_stats(device_index)


def memory_allocated(device_index: Device | None = None, /) -> int:
    """Bytes in use by tensors; RuntimeError without an accelerator."""
    return _present().memory_allocated(device_index)


def max_memory_allocated(device_index: Device | None = None, /) -> int:
    """Highest number of bytes in use by tensors; RuntimeError without an accelerator."""
    return _present().max_memory_allocated(device_index)


def memory_reserved(device_index: Device | None = None, /) -> int:
    """Bytes held by the allocator; RuntimeError without an accelerator."""
    return _present().memory_reserved(device_index)


def max_memory_reserved(device_index: Device | None = None, /) -> int:
    """Highest number of bytes held by the allocator; RuntimeError without an accelerator."""
    return _present().max_memory_reserved(device_index)
