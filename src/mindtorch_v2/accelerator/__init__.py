"""`torch.accelerator`: the one kind of accelerator of a program, `torch.npu` where CANN or its emulator is found."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import mindtorch_v2 as torch

if TYPE_CHECKING:
    from mindtorch_v2.types import Device


__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "empty_cache",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]


def is_available() -> bool:
    """Whether an accelerator can be used.

    >>> torch.accelerator.is_available()
    False
    """
    return torch.npu.is_available()


def device_count() -> int:
    """The number of accelerators.

    >>> torch.accelerator.device_count()
    0
    """
    return torch.npu.device_count()


def current_accelerator(check_available: bool = False) -> torch.device | None:
    """The accelerator's device without index; None if there is none.

    >>> torch.accelerator.current_accelerator() is None
    True
    """
    return torch.device("npu") if is_available() else None


def _present():
    """The accelerator's module; RuntimeError if there is none."""
    if not is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return torch.npu


def current_device_index() -> int:
    """The index of the current device; RuntimeError without an accelerator."""
    return _present().current_device()


current_device_idx = current_device_index


def set_device_index(device: Device, /) -> None:
    """Make `device` the current one; RuntimeError without an accelerator."""
    _present().set_device(device)


set_device_idx = set_device_index


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
