"""Memory of NPUs: how much of it is in use, and giving it back. Sizes are bytes."""

from __future__ import annotations

import pickle
import warnings
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from mindtorch_v2._backends import npu as _backend
from mindtorch_v2._backends.common import memory_report as _report
from mindtorch_v2._backends.common.memory_history import History as _History
from mindtorch_v2._backends.npu import runtime as _runtime
from mindtorch_v2._backends.npu import state as _state
from mindtorch_v2._backends.npu.private_pools import MemPool, use_mem_pool
from mindtorch_v2._backends.npu.stream import device_index

from ._absent import NAMES as _ABSENT
from ._error_code import ErrCode, pta_error
from .utils import StreamContext

if TYPE_CHECKING:
    from mindtorch_v2.types import Device


__all__ = [
    "MemPool",
    "caching_allocator_alloc",
    "caching_allocator_delete",
    "empty_cache",
    "get_per_process_memory_fraction",
    "host_memory_stats",
    "host_memory_stats_as_nested_dict",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "reset_accumulated_host_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_host_memory_stats",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
    "use_mem_pool",
]
globals().update({name: _ABSENT[name] for name in ("NPUPluggableAllocator", "change_current_allocator")})


def _allocator(device):
    index, memory = device_index(device), _state.get().memory
    if index not in range(len(memory)):
        raise RuntimeError(f"Invalid device argument: npu:{index}; there are {len(memory)} devices")
    return memory[index]


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


def memory_stats(device: Device | None = None) -> OrderedDict[str, Any]:
    """Counts of the allocator, under PyTorch's names."""
    return OrderedDict(_allocator(device).statistics())


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


def memory_snapshot() -> list[dict[str, Any]]:
    """The segments of all devices and the blocks in them, as PyTorch's function of this name gives them."""
    return [segment for allocator in _state.get().memory for segment in allocator.snapshot()]


def set_per_process_memory_fraction(fraction: float, device: Device | None = None) -> None:
    """Let this process hold at most a share of a device's memory; what asks for more is out of memory.

    Raises:
        TypeError: `fraction` is no float.
        ValueError: it is not from 0 to 1.
    """
    if not isinstance(fraction, float):
        raise TypeError(
            f"Invalid type for fraction argument, must be `float`, not {type(fraction).__name__}"
            + pta_error(ErrCode.TYPE)
        )
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1" + pta_error(ErrCode.VALUE))
    index = device_index(device)
    total = _runtime.get().memory_info(index)[1]
    _allocator(index).limit = None if fraction == 1 else int(fraction * total)


def get_per_process_memory_fraction(device: Device | None = None) -> float:
    """The share of a device's memory that this process may hold; 1 at first."""
    limit = _allocator(device).limit
    return 1.0 if limit is None else limit / _runtime.get().memory_info(device_index(device))[1]


_given: dict[int, Any] = {}  # addresses that programs asked for, and the allocators that gave them


def caching_allocator_alloc(size: int, device: Device | None = None, stream: Any = None) -> int:
    """The address of a block of memory, for a stream (the current one), until `caching_allocator_delete`."""
    with StreamContext(stream):
        allocator = _allocator(device)
        address = allocator.allocate(size)
    _given[address] = allocator
    return address


def caching_allocator_delete(mem_ptr: int) -> None:
    """Give a block of `caching_allocator_alloc` back. RuntimeError for an address that it did not give."""
    allocator = _given.pop(mem_ptr, None)
    if allocator is None:
        raise RuntimeError(f"caching_allocator_delete(): {mem_ptr:#x} is no address of caching_allocator_alloc")
    allocator.release(mem_ptr)


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
    return _report.nested(memory_stats(device))


def memory_summary(device: Device | None = None, abbreviated: bool = False) -> str:
    """The numbers of `memory_stats` as a table to read, in PyTorch's form; `abbreviated` changes nothing, as there are no pools."""
    index = device_index(device)
    return _report.summary("NPU", "NPU", "npuMalloc", index, memory_stats(index))


def host_memory_stats() -> OrderedDict[str, Any]:
    """Counts of the blocks of pinned memory of the host and of their bytes, under PyTorch's names."""
    return OrderedDict(_state.get().pinned.statistics())


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    """`host_memory_stats` as dictionaries by the parts of the names."""
    return _report.nested(host_memory_stats())


def reset_peak_host_memory_stats() -> None:
    """Let the peaks of pinned memory start from the present numbers."""
    _state.get().pinned.reset_peaks()


def reset_accumulated_host_memory_stats() -> None:
    """Count the blocks of pinned memory that come and go from here on."""
    _state.get().pinned.reset_counts()


def _set_allocator_settings(env: str) -> None:
    """Take options of the allocator over, as PYTORCH_NPU_ALLOC_CONF writes them. ValueError for what is none."""
    _state.settings.read(env)
    if _state.settings.fraction is not None:
        for index in range(len(_state.get().memory)):
            set_per_process_memory_fraction(_state.settings.fraction, index)


def _record_memory_history(
    enabled: str | bool | None = "all",
    context: str | None = "all",
    stacks: str = "all",
    max_entries: int = 1 << 20,
    device: Any = None,
    clear_history: bool = False,
) -> None:
    """Note what the allocators of all devices give out and take back, for `_snapshot`; None or False ends it.

    Args:
        enabled: "state" or "all".
        context: None leaves the places in the program out.
        stacks: "python" or "all": those of Python in either case.
        max_entries: how many of the last events are kept, for each device.
        device: all of them, whatever it says.
        clear_history: forget what was noted before; so does each new beginning.
    """
    if enabled not in (None, True, False, "state", "all"):
        raise RuntimeError(f"_record_memory_history(): enabled must be None, 'state' or 'all', but it is {enabled!r}")
    for allocator in _state.get().memory:
        allocator.history = _History(max_entries, context is not None) if enabled else None


def _snapshot(device: Any = None) -> dict[str, Any]:
    """The segments of all devices, and the events of each since `_record_memory_history`, as PyTorch's viewer of memory reads them."""
    allocators = _state.get().memory
    return {
        "segments": memory_snapshot(),
        "device_traces": [list(each.history.events) if each.history is not None else [] for each in allocators],
    }


def _dump_snapshot(filename: str = "dump_snapshot.pickle") -> None:
    """Write `_snapshot` to a file, for PyTorch's viewer of memory."""
    with open(filename, "wb") as file:
        pickle.dump(_snapshot(), file)
