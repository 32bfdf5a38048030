"""`torch.cuda` without CUDA: nothing is available, and what would need a device raises as PyTorch's CPU build does."""

import importlib

from mindtorch_v2._errors import AcceleratorError, OutOfMemoryError
from mindtorch_v2._unavailable import unavailable_class, unavailable_function
from mindtorch_v2.cuda import memory, random
from mindtorch_v2.cuda.memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    reset_max_memory_allocated,
    reset_peak_memory_stats,
)
from mindtorch_v2.cuda.random import (
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

__all__ = [
    "AcceleratorError",
    "CUDAGraph",
    "Event",
    "MemPool",
    "OutOfMemoryError",
    "Stream",
    "amp",
    "current_device",
    "current_stream",
    "default_generators",
    "default_stream",
    "device",
    "device_count",
    "empty_cache",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "graph",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "make_graphed_callables",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "random",
    "reset_max_memory_allocated",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
    "use_mem_pool",
]

default_generators = ()
has_half = True
has_magma = False

CUDAGraph = unavailable_class("torch.cuda.CUDAGraph")
Event = unavailable_class("torch.cuda.Event")
MemPool = unavailable_class("torch.cuda.MemPool")
Stream = unavailable_class("torch.cuda.Stream")
graph = unavailable_class("torch.cuda.graph")
make_graphed_callables = unavailable_function("torch.cuda.make_graphed_callables")
use_mem_pool = unavailable_function("torch.cuda.use_mem_pool")


class DeferredCudaCallError(Exception):
    """Raised when a call put off until initialisation fails."""


class device:
    """A context in which a CUDA device is the current one; an index below zero or None selects none."""

    def __init__(self, device):
        self.idx = -1 if device is None else _index(device)

    def __enter__(self):
        if self.idx >= 0:
            init()

    def __exit__(self, *exception):
        return False


class stream:
    """A context in which a CUDA stream is the current one; None selects none."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        if self.stream is not None:
            init()

    def __exit__(self, *exception):
        return None


def _index(device):
    index = getattr(device, "index", device)
    if isinstance(index, str):
        index = int(index.partition(":")[2] or 0)
    return index if isinstance(index, int) else 0


def init():
    """Raises AssertionError: there is no CUDA to initialise."""
    raise AssertionError("Torch not compiled with CUDA enabled")


def is_available():
    """Whether a CUDA device can be used: False."""
    return False


def is_initialized():
    """Whether CUDA has been initialised: False."""
    return False


def is_bf16_supported(including_emulation=True):
    """Whether the current CUDA device computes in bfloat16: False."""
    return False


def is_tf32_supported():
    """Whether the current CUDA device computes in TF32: False."""
    return False


def is_current_stream_capturing():
    """Whether the current stream records a graph; raises RuntimeError, there is no stream."""
    raise RuntimeError("Torch not compiled with CUDA enabled")


def device_count():
    """The number of CUDA devices: 0."""
    return 0


def get_arch_list():
    """The CUDA architectures that kernels were built for: none."""
    return []


def current_device():
    """The index of the current device; raises AssertionError."""
    init()


def set_device(device):
    """Make `device` the current one; a negative index does nothing, any other raises AssertionError."""
    if _index(device) >= 0:
        init()


def current_stream(device=None):
    """The current stream; raises AssertionError."""
    init()


def default_stream(device=None):
    """The default stream; raises AssertionError."""
    init()


def set_stream(stream):
    """Make `stream` the current one; None does nothing, any other raises AssertionError."""
    if stream is not None:
        init()


def get_device_capability(device=None):
    """The (major, minor) capability of `device`; raises AssertionError."""
    init()


def get_device_name(device=None):
    """The name of `device`; raises AssertionError."""
    init()


def get_device_properties(device=None):
    """The properties of `device`; raises AssertionError."""
    init()


def ipc_collect():
    """Free memory shared with other processes; raises AssertionError."""
    init()


def synchronize(device=None):
    """Wait for `device`; raises AssertionError."""
    init()


def __getattr__(name):
    if name == "amp":  # only loaded when asked for: it needs `torch.amp`, which may still be loading
        return importlib.import_module("mindtorch_v2.cuda.amp")
    raise AttributeError(f"module 'mindtorch_v2.cuda' has no attribute {name!r}")
