"""`torch.npu`: Ascend NPUs. Nothing of Ascend is loaded before a device is asked for. The guide is docs/npu.md.

python -m mindtorch_v2.npu emulate -- python script.py      run a program on the emulator
python -m mindtorch_v2.npu doctor                           what this host has, and what it lacks
"""

import contextlib
import ctypes
from collections import namedtuple

from mindtorch_v2._backends import npu as _backend
from mindtorch_v2._backends.npu import libraries as _libraries
from mindtorch_v2._backends.npu import runtime as _runtime
from mindtorch_v2._backends.npu import state as _state
from mindtorch_v2._backends.npu.ascendc import AscendCExtension, ascendc_load
from mindtorch_v2._backends.npu.custom_kernel import AclnnLauncher, KernelLauncher, alloc_like, ascendc_op, tensor_ptr
from mindtorch_v2._backends.npu.errors import NPUError, NPUOutOfMemoryError
from mindtorch_v2._backends.npu.graph import (
    NPUGraph,
    graph,
    graph_pool_handle,
    graph_task_group_begin,
    graph_task_group_end,
    graph_task_update_begin,
    graph_task_update_end,
    is_current_stream_capturing,
)
from mindtorch_v2._backends.npu.stream import (
    Event,
    Stream,
    current_stream,
    default_stream,
    device_index,
    set_stream,
)

__all__ = [
    "AclnnLauncher",
    "AscendCExtension",
    "Event",
    "KernelLauncher",
    "NPUError",
    "NPUGraph",
    "OutOfMemoryError",
    "Stream",
    "alloc_like",
    "ascendc_load",
    "ascendc_op",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "empty_cache",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "graph",
    "graph_pool_handle",
    "graph_task_group_begin",
    "graph_task_group_end",
    "graph_task_update_begin",
    "graph_task_update_end",
    "init",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
    "tensor_ptr",
]

OutOfMemoryError = NPUOutOfMemoryError
NPUDeviceProperties = namedtuple("NPUDeviceProperties", "name total_memory cube_core_num vector_core_num L2_cache_size")


def init():
    """Start the runtime and register the device's kernels; nothing if that was done. RuntimeError without CANN."""
    _backend.load()


def is_initialized():
    """Whether the device was asked for in this process."""
    return _backend.is_loaded()


def is_available():
    """Whether CANN (or the emulator in its place) is found and has a device."""
    if _libraries.find("libascendcl.so")[0] is None:
        return False
    try:
        return _runtime.get().device_count > 0
    except (RuntimeError, OSError):
        return False


def is_bf16_supported(including_emulation=True):
    """Whether the device computes in bfloat16: all that this package supports do."""
    return is_available()


def device_count():
    """The number of devices; 0 without CANN."""
    return _runtime.get().device_count if is_available() else 0


def current_device():
    """The index of this thread's current device."""
    return _runtime.get().thread.device


def set_device(device):
    """Make a device (an index, or `torch.device`) this thread's current one."""
    _runtime.get().set_device(device_index(device))


class device(contextlib.AbstractContextManager):
    """A device for the length of a `with` block; None or a negative index changes nothing."""

    def __init__(self, device):
        self.index = -1 if device is None else device_index(device)

    def __enter__(self):
        self.before = current_device()
        if self.index >= 0:
            _runtime.get().set_device(self.index)
        return self

    def __exit__(self, *exception):
        _runtime.get().set_device(self.before)


@contextlib.contextmanager
def stream(stream):
    """Send this thread's work to a stream for the length of a `with` block; None changes nothing."""
    if stream is None:
        yield
        return
    index, before = current_device(), current_stream(stream.device_index)
    set_stream(stream)
    try:
        yield
    finally:
        set_stream(before)
        _runtime.get().set_device(index)


def synchronize(device=None):
    """Wait for all work on a device; raises `NPUError` if some of it failed."""
    _runtime.get().synchronize(device_index(device))


def get_device_name(device=None):
    """The SoC's name; on the emulator it says "emulated"."""
    device_index(device)
    return _runtime.get().soc_name()


def get_device_properties(device=None):
    """Name, memory and numbers of cores of a device."""
    runtime = _runtime.get()
    index = device_index(device)
    values = []
    for what in (0, 1, 2):
        value = ctypes.c_int64()
        runtime.check("aclGetDeviceCapability", runtime.aclGetDeviceCapability(index, what, ctypes.byref(value)))
        values.append(value.value)
    return NPUDeviceProperties(runtime.soc_name(), runtime.memory_info(index)[1], *values)


# ---- memory ----


def _allocator(device):
    return _state.get().memory[device_index(device)]


def memory_allocated(device=None):
    """Bytes in use by tensors."""
    return _allocator(device).allocated


def max_memory_allocated(device=None):
    """The highest number of bytes in use by tensors."""
    return _allocator(device).peak_allocated


def memory_reserved(device=None):
    """Bytes held by the allocator."""
    return _allocator(device).reserved


def max_memory_reserved(device=None):
    """The highest number of bytes held by the allocator."""
    return _allocator(device).peak_reserved


def memory_stats(device=None):
    """Counts of the allocator, under PyTorch's names."""
    return _allocator(device).statistics()


def reset_peak_memory_stats(device=None):
    """Let the peaks start from the present numbers."""
    _allocator(device).reset_peaks()


def empty_cache():
    """Give memory that no tensor uses back to the devices."""
    if _backend.is_loaded():
        for allocator in _state.get().memory:
            allocator.empty()


def mem_get_info(device=None):
    """(free, total) bytes of a device."""
    return _runtime.get().memory_info(device_index(device))


# ---- random numbers ----


def _generator(device):
    _backend.load()
    return _state.get().generators[device_index(device)]


def manual_seed(seed):
    """Seed the current device's generator. Before a device was asked for, `torch.manual_seed` decides."""
    if _backend.is_loaded():
        _generator(None).manual_seed(int(seed))


def manual_seed_all(seed):
    """Seed every device's generator. Before a device was asked for, `torch.manual_seed` decides."""
    if _backend.is_loaded():
        for generator in _state.get().generators:
            generator.manual_seed(int(seed))


def seed():
    """Seed the current device's generator from the system's randomness."""
    _generator(None).seed()


def seed_all():
    """Seed every device's generator alike, from the system's randomness."""
    chosen = _generator(None).seed()
    manual_seed_all(chosen)


def initial_seed():
    """The seed of the current device's generator."""
    return _generator(None).initial_seed()


def get_rng_state(device="npu"):
    """The state of a device's generator, as a uint8 tensor on the CPU."""
    return _generator(device).get_state()


def get_rng_state_all():
    """The states of all devices' generators."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state(new_state, device="npu"):
    """Set the state of a device's generator to one that `get_rng_state` gave."""
    _generator(device).set_state(new_state)


def set_rng_state_all(new_states):
    """Set the states of all devices' generators."""
    for index, new_state in enumerate(new_states):
        set_rng_state(new_state, index)


def __getattr__(name):
    if name == "default_generators":
        _backend.load()
        return tuple(_state.get().generators)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
