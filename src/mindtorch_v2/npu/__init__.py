"""`torch.npu`: Ascend NPUs. Nothing of Ascend is loaded before a device is asked for. The guide is docs/npu.md.

python -m mindtorch_v2.npu emulate -- python script.py      run a program on the emulator
python -m mindtorch_v2.npu doctor                           what this host has, and what it lacks
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self, TYPE_CHECKING

import contextlib
import ctypes
import os
import warnings

from mindtorch_v2._backends import npu as _backend
from mindtorch_v2._backends.npu import libraries as _libraries
from mindtorch_v2._backends.npu import runtime as _runtime
from mindtorch_v2._backends.npu import state as _state
from mindtorch_v2._backends.npu.ascendc import AscendCExtension, ascendc_load
from mindtorch_v2._backends.npu.casts import check_exportable as _check_exportable
from mindtorch_v2._backends.npu.custom_kernel import AclnnLauncher, KernelLauncher, alloc_like, ascendc_op, tensor_ptr
from mindtorch_v2._backends.npu.errors import NPUError, NPUOutOfMemoryError
from mindtorch_v2._backends.npu.fallback import get_cpu_fallback, set_cpu_fallback
from mindtorch_v2._backends.npu.graph import NPUGraph, graph, graph_pool_handle, is_current_stream_capturing
from mindtorch_v2._backends.npu.graph_updates import NpuGraphOpHandler, register_npu_graph_handler
from mindtorch_v2._backends.npu.host_functions import launch as _launch_host_func
from mindtorch_v2._backends.npu.host_functions import subscribe as _subscribe_report
from mindtorch_v2._backends.npu.host_functions import unsubscribe as _unsubscribe_report
from mindtorch_v2._backends.npu.stream import (
    Event,
    ExternalStream,
    Stream,
    current_stream,
    default_stream,
    device_index,
    set_stream,
)
from mindtorch_v2._backends.npu.task_groups import (
    graph_task_group_begin,
    graph_task_group_end,
    graph_task_update_begin,
    graph_task_update_end,
)

from . import _recovery, amp, backends, graphs, memory, mstx, npu_config, precision, random, streams, utils
from ._absent import NAMES as _ABSENT
from ._typed import STORAGES as _STORAGES
from ._typed import (
    BFloat16Tensor,
    BoolTensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
)
from .graphs import make_graphed_callables
from .memory import (
    MemPool,
    caching_allocator_alloc,
    caching_allocator_delete,
    empty_cache,
    get_per_process_memory_fraction,
    host_memory_stats,
    host_memory_stats_as_nested_dict,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_stats_as_nested_dict,
    memory_summary,
    reset_accumulated_host_memory_stats,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_host_memory_stats,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
    use_mem_pool,
)
from .npu_config import aclnn, config, conv, is_jit_compile_false, matmul, set_compile_mode, set_option
from .random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from .switches import *
from .switches import __all__ as _SWITCHES
from .utils import StreamContext, _get_device_index, get_soc_version

if TYPE_CHECKING:
    from mindtorch_v2.types import Device


__all__ = [
    "AclnnLauncher",
    "AscendCExtension",
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "Event",
    "ExternalStream",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "KernelLauncher",
    "LongTensor",
    "MemPool",
    "NPUError",
    "NPUGraph",
    "NpuGraphOpHandler",
    "OutOfMemoryError",
    "ShortTensor",
    "Stream",
    "StreamContext",
    "aclnn",
    "alloc_like",
    "amp",
    "ascendc_load",
    "ascendc_op",
    "backends",
    "caching_allocator_alloc",
    "caching_allocator_delete",
    "can_device_access_peer",
    "config",
    "conv",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_cpu_fallback",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_per_process_memory_fraction",
    "get_rng_state",
    "get_rng_state_all",
    "get_soc_version",
    "graph",
    "graphs",
    "graph_pool_handle",
    "graph_task_group_begin",
    "graph_task_group_end",
    "graph_task_update_begin",
    "graph_task_update_end",
    "init",
    "host_memory_stats",
    "host_memory_stats_as_nested_dict",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "is_jit_compile_false",
    "make_graphed_callables",
    "manual_seed",
    "manual_seed_all",
    "matmul",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "mstx",
    "npu_config",
    "npurt",
    "random",
    "register_npu_graph_handler",
    "reset_accumulated_host_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_host_memory_stats",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_compile_mode",
    "set_cpu_fallback",
    "set_device",
    "set_option",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "streams",
    "synchronize",
    "tensor_ptr",
    "utilization",
    "utils",
    *(name for name in _ABSENT if not name.startswith("_")),
    *_SWITCHES,
    "use_mem_pool",
]
globals().update(_ABSENT)

OutOfMemoryError = NPUOutOfMemoryError


class NPUDeviceProperties(NamedTuple):
    """Name, memory in bytes, numbers of cores, and bytes of the cache; the rest are of other devices, None as in torch_npu."""

    name: str
    total_memory: int
    cube_core_num: int
    vector_core_num: int
    L2_cache_size: int
    major: int | None = None
    minor: int | None = None
    is_multi_gpu_board: int | None = None
    is_integrated: int | None = None
    multi_processor_count: int | None = None
    max_threads_per_multi_processor: int | None = None
    warp_size: int | None = None
    regs_per_multiprocessor: int | None = None
    gcnArchName: str | None = None
    uuid: str | None = None


def init() -> None:
    """Start the runtime and register the device's kernels; nothing if that was done. RuntimeError without CANN."""
    _backend.load()


def _lazy_call(callback, **options) -> None:
    """Call a function once the device is there, which it is for this call."""
    init()
    callback()


class _Runtime:
    """Functions of CANN's runtime for streams of a program's own. Each returns CANN's code, 0 where all went well."""

    def npuStreamCreate(self, stream: int) -> int:
        """Make a stream on the current device; its handle is written to the address `stream`."""
        if not stream:
            return 107000  # ACL_ERROR_RT_PARAM_INVALID
        runtime = _runtime.get()
        ctypes.c_void_p.from_address(stream).value = runtime.create_stream(runtime.thread.device)
        return 0

    def npuStreamDestroy(self, stream: int) -> int:
        """Destroy a stream that `npuStreamCreate` made."""
        return int(_runtime.get().aclrtDestroyStream(stream)) if stream else 107000

    def npuHostRegister(self, ptr: int, size: int, flags: int) -> int:
        """Let the device reach memory of the host, `size` bytes at `ptr`: flags 2 (mapped) and 0x10000000 (pinned)."""
        if not ptr or not size:
            return 107000
        return int(_runtime.get().aclrtHostRegisterV2(ptr, size, flags))

    def npuHostUnregister(self, ptr: int) -> int:
        """The end of `npuHostRegister`."""
        return int(_runtime.get().aclrtHostUnregister(ptr)) if ptr else 107000


_RUNTIME = _Runtime()


def npurt() -> Any:
    """Functions of CANN's runtime: `npuStreamCreate`, `npuHostRegister`, and the ends of what they begin."""
    init()
    return _RUNTIME


def is_initialized() -> bool:
    """Whether the device was asked for in this process."""
    return _backend.is_loaded()


def is_available() -> bool:
    """Whether CANN (or the emulator in its place) is found and has a device."""
    if _libraries.find("libascendcl.so")[0] is None:
        return False
    try:
        return _runtime.get().device_count > 0
    except (RuntimeError, OSError):
        return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the device computes in bfloat16: all that this package supports do."""
    return is_available()


def device_count() -> int:
    """The number of devices; 0 without CANN."""
    return _runtime.get().device_count if is_available() else 0


def current_device() -> int:
    """The index of this thread's current device."""
    return _runtime.get().thread.device


def set_device(device: Device) -> None:
    """Make a device (an index, or `torch.device`) this thread's current one."""
    init()
    _runtime.get().set_device(device_index(device))


class device(contextlib.AbstractContextManager):
    """A device for the length of a `with` block; None or a negative index changes nothing."""

    def __init__(self, device: Device | None) -> None:
        self.index = -1 if device is None else device_index(device)

    def __enter__(self) -> Self:
        self.before = current_device()
        if self.index >= 0:
            _runtime.get().set_device(self.index)
        return self

    def __exit__(self, *exception: Any) -> None:
        _runtime.get().set_device(self.before)


def stream(stream: Any) -> StreamContext:
    """Send this thread's work to a stream for the length of a `with` block; None changes nothing."""
    return StreamContext(stream)


class device_of(device):
    """The device of a tensor for the length of a `with` block; a tensor elsewhere changes nothing."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.device.type == "npu" else None)


def can_device_access_peer(device_id: int, peer_device_id: int) -> bool:
    """Whether one device can read another's memory: all but itself, as the runtime copies between any two."""
    count = device_count()
    for what, index in (("device", device_id), ("peer device", peer_device_id)):
        if not 0 <= index < count:
            raise AssertionError(f"Invalid {what} id: there are {count} devices, but {index} was asked for")
    return device_id != peer_device_id


def get_device_capability(device: Device | None = None) -> tuple | None:
    """None, unless the environment variable TORCH_NPU_DEVICE_CAPABILITY gives a pair "major.minor"; a warning for what is none."""
    given = os.environ.get("TORCH_NPU_DEVICE_CAPABILITY")
    if given is None:
        return None
    major, _, minor = given.partition(".")
    if not (major.isdecimal() and (minor or "0").isdecimal()):
        warnings.warn(f"TORCH_NPU_DEVICE_CAPABILITY must be two numbers, 8.0 say, but it is {given!r}", stacklevel=2)
        return None
    return int(major), int(minor or 0)


def ipc_collect() -> None:
    """Release memory that other processes have let go of: none is shared between processes."""


def synchronize(device: Device | None = None) -> None:
    """Wait for all work on a device; raises `NPUError` if some of it failed."""
    _runtime.get().synchronize(device_index(device))


def utilization(device: Device | None = None) -> int:
    """The share of time, in per cent, in which a device works; on the emulator 100 or 0, as it does now."""
    return _runtime.get().utilization(device_index(device))


def get_device_name(device: Device | None = None) -> str:
    """The SoC's name; on the emulator it says "emulated"."""
    device_index(device)
    return _runtime.get().soc_name()


def get_device_properties(device: Device | None = None) -> Any:
    """Name, memory and numbers of cores of a device."""
    runtime = _runtime.get()
    index = device_index(device)
    values = []
    for what in (0, 1, 2):
        value = ctypes.c_int64()
        runtime.check("aclGetDeviceCapability", runtime.aclGetDeviceCapability(index, what, ctypes.byref(value)))
        values.append(value.value)
    cubes, vectors, cache = values
    return NPUDeviceProperties(runtime.soc_name(), runtime.memory_info(index)[1], cubes, vectors, cache)


def __getattr__(name: str) -> Any:
    if name in _STORAGES:
        return _STORAGES[name]
    if name == "default_generators":
        _backend.load()
        return tuple(_state.get().generators)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
