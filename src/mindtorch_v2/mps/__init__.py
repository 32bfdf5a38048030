"""`torch.mps` without Metal: nothing is available, and what would need it raises RuntimeError."""

__all__ = [
    "current_allocated_memory",
    "device_count",
    "driver_allocated_memory",
    "empty_cache",
    "get_rng_state",
    "is_available",
    "manual_seed",
    "recommended_max_memory",
    "seed",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "synchronize",
]


def _missing(call):
    raise RuntimeError(f"Cannot execute {call}() without MPS backend.")


def is_available():
    """Whether Metal can be used: False."""
    return False


def device_count():
    """The number of Metal devices: 0."""
    return 0


def synchronize():
    """Wait for the device; raises RuntimeError."""
    _missing("deviceSynchronize")


def manual_seed(seed):
    """Seed the device's generator: without a device nothing happens, as in PyTorch."""


def seed():
    """Seed the device's generator from the system; raises RuntimeError."""
    _missing("getDefaultGenerator")


def get_rng_state(device="mps"):
    """The state of the device's generator; raises RuntimeError."""
    _missing("getDefaultGenerator")


def set_rng_state(new_state, device="mps"):
    """Set the state of the device's generator; raises RuntimeError."""
    _missing("getDefaultGenerator")


def empty_cache():
    """Release cached memory; raises RuntimeError."""
    _missing("emptyCache")


def set_per_process_memory_fraction(fraction):
    """Limit the memory of this process; raises RuntimeError."""
    _missing("setMemoryFraction")


def current_allocated_memory():
    """Bytes in use by tensors; raises RuntimeError."""
    _missing("getCurrentAllocatedMemory")


def driver_allocated_memory():
    """Bytes held by the driver; raises RuntimeError."""
    _missing("getDriverAllocatedMemory")


def recommended_max_memory():
    """Bytes that the process should not exceed; raises RuntimeError."""
    _missing("getRecommendedMaxMemory")
