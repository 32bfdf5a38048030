"""The functions of `torch.cuda` where there is a driver; `torch.cuda` hands its calls on to these."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from typing import Any, NamedTuple

from ..common import memory_report
from . import compiler, libraries
from . import runtime as _runtime
from . import state as _state
from .stream import current_stream, default_stream, device_index

__all__ = ["current_stream", "default_stream"]


class _CudaDeviceProperties(NamedTuple):
    """Facts that the driver tells of a device; sizes are bytes."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    is_integrated: int
    is_multi_gpu_board: int
    max_threads_per_multi_processor: int
    max_threads_per_block: int
    warp_size: int
    regs_per_multiprocessor: int
    shared_memory_per_block: int
    shared_memory_per_block_optin: int
    shared_memory_per_multiprocessor: int
    L2_cache_size: int
    clock_rate: int
    memory_clock_rate: int
    memory_bus_width: int


# PyTorch's name -> the driver's number of the attribute
_ATTRIBUTES = {
    "major": 75, "minor": 76, "multi_processor_count": 16, "is_integrated": 18, "is_multi_gpu_board": 84,
    "max_threads_per_multi_processor": 39, "max_threads_per_block": 1, "warp_size": 10, "regs_per_multiprocessor": 82,
    "shared_memory_per_block": 8, "shared_memory_per_block_optin": 97, "shared_memory_per_multiprocessor": 81,
    "L2_cache_size": 38, "clock_rate": 13, "memory_clock_rate": 36, "memory_bus_width": 37,
}  # fmt: skip


def is_available() -> bool:
    try:
        return _runtime.get().device_count > 0
    except (AssertionError, RuntimeError):
        return False


def device_count() -> int:
    return _runtime.get().device_count if is_available() else 0


def is_initialized() -> bool:
    return _state.started()


def is_bf16_supported(including_emulation: bool = True) -> bool:
    return including_emulation or get_device_capability()[0] >= 8


def is_tf32_supported() -> bool:
    return get_device_capability()[0] >= 8


def get_arch_list() -> list[str]:
    runtime = _runtime.get()
    return sorted({"sm_{}{}".format(*runtime.capability(index)) for index in range(runtime.device_count)})


def init() -> None:
    from . import load

    load()


def current_device() -> int:
    init()
    return _runtime.get().thread.device


def set_device(device: Any) -> None:
    index = device_index(device)
    if index >= 0:
        init()
        _runtime.get().set_device(index)


def synchronize(device: Any = None) -> None:
    _runtime.get().synchronize(_checked(device))


def _checked(device: Any) -> int:
    index = device_index(device)
    _runtime.get().check_index(index)
    return index


def get_device_name(device: Any = None) -> str:
    return _runtime.get().name(_checked(device))


def get_device_capability(device: Any = None) -> tuple[int, int]:
    return _runtime.get().capability(_checked(device))


def get_device_properties(device: Any = None) -> _CudaDeviceProperties:
    index, runtime = _checked(device), _runtime.get()
    told = {name: runtime.attribute(number, index) for name, number in _ATTRIBUTES.items()}
    return _CudaDeviceProperties(name=runtime.name(index), total_memory=runtime.memory_info(index)[1], **told)


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    runtime = _runtime.get()
    pair = [runtime.devices[_checked(each)] for each in (device, peer_device)]
    return bool(runtime._int(runtime.cuDeviceCanAccessPeer, *pair))


def is_current_stream_capturing() -> bool:
    runtime = _runtime.get()
    index = runtime.thread.device
    runtime.activate(index)
    handle = runtime.stream_handle(index)
    return bool(handle) and runtime._int(lambda told: runtime.cuStreamIsCapturing(handle, told)) == 1


def get_stream_from_external(data_ptr: int, device: Any = None) -> Any:
    from .stream import ExternalStream

    return ExternalStream(data_ptr, device)


def set_sync_debug_mode(debug_mode: int | str) -> None:
    _state.waits.set(debug_mode)


def get_sync_debug_mode() -> int:
    return _state.waits.mode


def graph_pool_handle() -> Any:
    from .graph import graph_pool_handle as handle

    return handle()


def current_blas_handle() -> int:
    from .cublas import current_handle

    return current_handle(_runtime.get().thread.device).handle


def ipc_collect() -> None:
    """Nothing: no memory is shared between processes."""


# ---- memory ----


def _allocator(device: Any) -> Any:
    return _state.get().memory[_checked(device)]


def memory_allocated(device: Any = None) -> int:
    return _allocator(device).allocated


def max_memory_allocated(device: Any = None) -> int:
    return _allocator(device).peak_allocated


def memory_reserved(device: Any = None) -> int:
    return _allocator(device).reserved


def max_memory_reserved(device: Any = None) -> int:
    return _allocator(device).peak_reserved


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    return OrderedDict(_allocator(device).statistics())


def reset_peak_memory_stats(device: Any = None) -> None:
    _allocator(device).reset_peaks()


def empty_cache() -> None:
    if _state.started():
        for allocator in _state.get().memory:
            allocator.empty()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    return _runtime.get().memory_info(_checked(device))


def memory_snapshot(mempool_id: Any = None, include_traces: bool = True) -> list[dict[str, Any]]:
    return [segment for allocator in _state.get().memory for segment in allocator.snapshot()]


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    index = _checked(device)
    _allocator(index).limit = None if fraction == 1 else int(fraction * _runtime.get().memory_info(index)[1])


def get_per_process_memory_fraction(device: Any = None) -> float:
    index = _checked(device)
    limit = _allocator(index).limit
    return 1.0 if limit is None else limit / _runtime.get().memory_info(index)[1]


_given: dict[int, Any] = {}  # addresses that programs asked for, and the allocators that gave them


def caching_allocator_alloc(size: int, device: Any = None, stream: Any = None) -> int:
    allocator = _allocator(device)
    address = allocator.allocate(size)
    _given[address] = allocator
    return address


def caching_allocator_delete(mem_ptr: int) -> None:
    allocator = _given.pop(mem_ptr, None)
    if allocator is None:
        raise RuntimeError(f"caching_allocator_delete(): {mem_ptr:#x} is no address of caching_allocator_alloc")
    allocator.release(mem_ptr)


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    return memory_report.nested(memory_stats(device))


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    index = _checked(device)
    return memory_report.summary("CUDA", "GPU", "cudaMalloc", index, memory_stats(index))


def get_allocator_backend() -> str:
    return "native"


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    return memory_report.nested(host_memory_stats())


def reset_peak_host_memory_stats() -> None:
    _state.get().pinned.reset_peaks()


def reset_accumulated_host_memory_stats() -> None:
    _state.get().pinned.reset_counts()


def host_memory_stats() -> OrderedDict[str, Any]:
    return OrderedDict(_state.get().pinned.statistics())


# ---- random numbers ----


def _generator(device: Any) -> Any:
    init()
    return _state.get().generators[_checked(device)]


def manual_seed(seed: int) -> None:
    from . import when_loaded

    number = int(seed)
    when_loaded(lambda: _generator(None).manual_seed(number))


def manual_seed_all(seed: int) -> None:
    from . import when_loaded

    number = int(seed)

    def all_of_them() -> None:
        for generator in _state.get().generators:
            generator.manual_seed(number)

    when_loaded(all_of_them, alone=True)


def seed() -> None:
    _generator(None).seed()


def seed_all() -> None:
    manual_seed_all(_generator(None).seed())


def initial_seed() -> int:
    return _generator(None).initial_seed()


def get_rng_state(device: Any = "cuda") -> Any:
    return _generator(device).get_state()


def get_rng_state_all() -> list[Any]:
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    _generator(device).set_state(new_state)


def set_rng_state_all(new_states: Any) -> None:
    for index, new_state in enumerate(new_states):
        set_rng_state(new_state, index)


def default_generators() -> tuple[Any, ...]:
    init()
    return tuple(_state.get().generators)


def _dump_snapshot(filename: str = "dump_snapshot.pickle") -> None:
    with open(filename, "wb") as file:
        pickle.dump({"segments": memory_snapshot(), "device_traces": []}, file)


def driver_version() -> str:
    """CUDA's version that the driver speaks, "13.0" say."""
    return libraries.version_of(_runtime.get().version)


def cache_folder() -> str:
    """Where compiled kernels are kept."""
    return str(compiler.cache_folder())
