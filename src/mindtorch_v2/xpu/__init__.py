"""`torch.xpu` without Intel GPUs: nothing is available, and what would need a device raises."""

from collections import OrderedDict

from mindtorch_v2._unavailable import unavailable_class

__all__ = [
    "Event",
    "Stream",
    "current_device",
    "current_stream",
    "default_generators",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "set_device",
    "set_rng_state_all",
    "synchronize",
]

default_generators = ()
Event = unavailable_class("torch.xpu.Event")
Stream = unavailable_class("torch.xpu.Stream")


def init():
    """Raises AssertionError: there is no XPU to initialise."""
    raise AssertionError("Torch not compiled with XPU enabled")


def is_available():
    """Whether an XPU can be used: False."""
    return False


def is_initialized():
    """Whether XPU has been initialised: False."""
    return False


def is_bf16_supported(including_emulation=True):
    """Whether the current XPU computes in bfloat16: False."""
    return False


def device_count():
    """The number of XPUs: 0."""
    return 0


def current_device():
    """The index of the current XPU; raises AssertionError."""
    init()


def current_stream(device=None):
    """The current stream; raises AssertionError."""
    init()


def set_device(device):
    """Make `device` the current one; raises AssertionError."""
    init()


def get_device_capability(device=None):
    """What `device` can do; raises AssertionError."""
    init()


def get_device_name(device=None):
    """The name of `device`; raises AssertionError."""
    init()


def get_device_properties(device=None):
    """The properties of `device`; raises AssertionError."""
    init()


def synchronize(device=None):
    """Wait for `device`; raises AssertionError."""
    init()


def manual_seed(seed):
    """Seed the current device's generator: without devices nothing happens, as in PyTorch."""


def manual_seed_all(seed):
    """Seed every device's generator: without devices nothing happens, as in PyTorch."""


def get_rng_state(device="xpu"):
    """The state of a device's generator; raises AssertionError."""
    init()


def get_rng_state_all():
    """The states of every device's generator: an empty list."""
    return []


def set_rng_state_all(new_states):
    """Set the states of every device's generator; raises AssertionError if there is one to set."""
    for _ in new_states:
        init()


def empty_cache():
    """Release cached memory: there is none."""


def memory_allocated(device=None):
    """Bytes in use by tensors: 0."""
    return 0


def max_memory_allocated(device=None):
    """Highest number of bytes in use by tensors: 0."""
    return 0


def memory_reserved(device=None):
    """Bytes held by the allocator: 0."""
    return 0


def max_memory_reserved(device=None):
    """Highest number of bytes held by the allocator: 0."""
    return 0


def memory_stats(device=None):
    """Statistics of the allocator: an empty OrderedDict."""
    return OrderedDict()


def mem_get_info(device=None):
    """Free and total bytes of `device`; raises AssertionError."""
    init()
