"""Memory of NPUs: how much of it is in use, and giving it back. Sizes are bytes."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from mindtorch_v2._backends import npu as _backend
from mindtorch_v2._backends.npu import runtime as _runtime
from mindtorch_v2._backends.npu import state as _state
from mindtorch_v2._backends.npu.stream import device_index

from ._absent import NAMES as _ABSENT
from ._absent import OF_MEMORY as _OF_MEMORY

if TYPE_CHECKING:
    from mindtorch_v2.types import Device


__all__ = [
    "empty_cache",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
]
globals().update(_OF_MEMORY)
globals().update(
    {name: _ABSENT[name] for name in ("MemPool", "NPUPluggableAllocator", "change_current_allocator", "use_mem_pool")}
)


def _allocator(device):
    return _state.get().memory[device_index(device)]


def memory_allocated(device: Device | None = None) -> int:
    """Bytes in use by tensors."""
    return _allocator(device).allocated


def max_memory_allocated(device: Device | None = None) -> int:
    """The highest number of bytes in use by tensors."""
    return _allocator(device).peak_allocated


def memory_reserved(device: Device | None = None) -> int:
    """Bytes held by the allocator."""
    return _allocator(device).reserved


def max_memory_reserved(device: Device | None = None) -> int:
    """The highest number of bytes held by the allocator."""
    return _allocator(device).peak_reserved


def memory_stats(device: Device | None = None) -> dict[str, Any]:
    """Counts of the allocator, under PyTorch's names."""
    return _allocator(device).statistics()


def reset_peak_memory_stats(device: Device | None = None) -> None:
    """Let the peaks start from the present numbers."""
    _allocator(device).reset_peaks()


def empty_cache() -> None:
    """Give memory that no tensor uses back to the devices."""
    if _backend.is_loaded():
        for allocator in _state.get().memory:
            allocator.empty()


def mem_get_info(device: Device | None = None) -> tuple[int, int]:
    """(free, total) bytes of a device."""
    return _runtime.get().memory_info(device_index(device))


def memory_cached(device: Device | None = None) -> int:
    """`memory_reserved` by its older name."""
    return memory_reserved(device)


def max_memory_cached(device: Device | None = None) -> int:
    """`max_memory_reserved` by its older name."""
    return max_memory_reserved(device)


def reset_max_memory_allocated(device: Device | None = None) -> None:
    """`reset_peak_memory_stats`, which it warns of: all peaks start anew."""
    warnings.warn(
        "torch.npu.reset_max_memory_allocated now calls torch.npu.reset_peak_memory_stats, which resets /all/ peak memory "
        "stats.",
        FutureWarning,
        stacklevel=2,
    )
    reset_peak_memory_stats(device)


def reset_max_memory_cached(device: Device | None = None) -> None:
    """`reset_peak_memory_stats`, which it warns of: all peaks start anew."""
    warnings.warn(
        "torch.npu.reset_max_memory_cached now calls torch.npu.reset_peak_memory_stats, which resets /all/ peak memory stats.",
        FutureWarning,
        stacklevel=2,
    )
    reset_peak_memory_stats(device)


def memory_stats_as_nested_dict(device: Device | None = None) -> dict[str, Any]:
    """`memory_stats` as dictionaries by the parts of the names."""
    nested: dict[str, Any] = {}
    for name, value in memory_stats(device).items():
        *folders, last = name.split(".")
        place = nested
        for folder in folders:
            place = place.setdefault(folder, {})
        place[last] = value
    return nested


def memory_summary(device: Device | None = None, abbreviated: bool = False) -> str:
    """The numbers of `memory_stats` as a table to read."""
    rows = [("count", "value"), *((name, f"{value:,}") for name, value in sorted(memory_stats(device).items()))]
    left, right = (max(len(row[i]) for row in rows) for i in (0, 1))
    return "\n".join(f"{name:<{left}}  {value:>{right}}" for name, value in rows)
