"""Memory statistics of CUDA devices: there are none, so nothing is in use."""

from collections import OrderedDict

__all__ = [
    "empty_cache",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_max_memory_allocated",
    "reset_peak_memory_stats",
]


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
    raise AssertionError("Torch not compiled with CUDA enabled")


def reset_peak_memory_stats(device=None):
    """Reset the highest values of the statistics; raises AssertionError."""
    raise AssertionError("Torch not compiled with CUDA enabled")


def reset_max_memory_allocated(device=None):
    """Reset the highest values of the statistics; raises AssertionError."""
    reset_peak_memory_stats(device)
