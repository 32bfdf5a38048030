"""`torch.mtia` without such devices."""

__all__ = [
    "device_count",
    "empty_cache",
    "init",
    "is_available",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "memory_allocated",
    "synchronize",
]


def init():
    """Raises AssertionError: there is no MTIA to initialise."""
    raise AssertionError("Torch not compiled with MTIA enabled.")


def is_available():
    """Whether an MTIA device can be used: False."""
    return False


def is_initialized():
    """Whether MTIA has been initialised: False."""
    return False


def device_count():
    """The number of MTIA devices: 0."""
    return 0


def manual_seed(seed):
    """Seed the current device's generator: without devices nothing happens, as in PyTorch."""


def manual_seed_all(seed):
    """Seed every device's generator: without devices nothing happens, as in PyTorch."""


def memory_allocated(device=None):
    """Bytes in use by tensors: 0."""
    return 0


def max_memory_allocated(device=None):
    """Highest number of bytes in use by tensors: 0."""
    return 0


def empty_cache():
    """Release cached memory; raises RuntimeError."""
    raise RuntimeError("Cannot execute emptyCache() without MTIA backend.")


def synchronize(device=None):
    """Wait for `device`; raises RuntimeError."""
    raise RuntimeError("Cannot execute getCurrentDevice() without MTIA backend.")
