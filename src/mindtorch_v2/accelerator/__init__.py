"""`torch.accelerator`: the one kind of accelerator of this build. There is none."""

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "empty_cache",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]


def is_available():
    """Whether an accelerator can be used: False."""
    return False


def device_count():
    """The number of accelerators: 0."""
    return 0


def current_accelerator(check_available=False):
    """The accelerator's device without index: None."""
    return None


def _missing():
    raise RuntimeError("Cannot access accelerator device when none is available.")


def current_device_index():
    """The index of the current device; raises RuntimeError."""
    _missing()


current_device_idx = current_device_index


def set_device_index(device, /):
    """Make `device` the current one; raises RuntimeError."""
    _missing()


set_device_idx = set_device_index


def current_stream(device=None, /):
    """The current stream; raises RuntimeError."""
    _missing()


def set_stream(stream):
    """Make `stream` the current one; raises RuntimeError."""
    _missing()


def synchronize(device=None, /):
    """Wait for `device`; raises RuntimeError."""
    _missing()


def empty_cache():
    """Release cached memory; raises RuntimeError."""
    _missing()


def memory_stats(device_index=None, /):
    """Statistics of the allocator; raises RuntimeError."""
    _missing()


def memory_allocated(device_index=None, /):
    """Bytes in use by tensors; raises RuntimeError."""
    _missing()


def max_memory_allocated(device_index=None, /):
    """Highest number of bytes in use by tensors; raises RuntimeError."""
    _missing()


def memory_reserved(device_index=None, /):
    """Bytes held by the allocator; raises RuntimeError."""
    _missing()


def max_memory_reserved(device_index=None, /):
    """Highest number of bytes held by the allocator; raises RuntimeError."""
    _missing()
