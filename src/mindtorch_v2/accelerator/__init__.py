"""`torch.accelerator`: the one kind of accelerator of a program, `torch.npu` where CANN or its emulator is found."""

import mindtorch_v2 as torch

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
    """Whether an accelerator can be used."""
    return torch.npu.is_available()


def device_count():
    """The number of accelerators."""
    return torch.npu.device_count()


def current_accelerator(check_available=False):
    """The accelerator's device without index; None if there is none."""
    return torch.device("npu") if is_available() else None


def _present():
    """The accelerator's module; RuntimeError if there is none."""
    if not is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return torch.npu


def current_device_index():
    """The index of the current device; RuntimeError without an accelerator."""
    return _present().current_device()


current_device_idx = current_device_index


def set_device_index(device, /) -> None:
    """Make `device` the current one; RuntimeError without an accelerator."""
    _present().set_device(device)


set_device_idx = set_device_index


def current_stream(device=None, /):
    """The current stream; RuntimeError without an accelerator."""
    return _present().current_stream(device)


def set_stream(stream) -> None:
    """Make `stream` the current one; RuntimeError without an accelerator."""
    _present().set_stream(stream)


def synchronize(device=None, /) -> None:
    """Wait for `device`; RuntimeError without an accelerator."""
    _present().synchronize(device)


def empty_cache() -> None:
    """Release cached memory; RuntimeError without an accelerator."""
    _present().empty_cache()


def memory_stats(device_index=None, /):
    """Statistics of the allocator; RuntimeError without an accelerator."""
    return _present().memory_stats(device_index)


def memory_allocated(device_index=None, /):
    """Bytes in use by tensors; RuntimeError without an accelerator."""
    return _present().memory_allocated(device_index)


def max_memory_allocated(device_index=None, /):
    """Highest number of bytes in use by tensors; RuntimeError without an accelerator."""
    return _present().max_memory_allocated(device_index)


def memory_reserved(device_index=None, /):
    """Bytes held by the allocator; RuntimeError without an accelerator."""
    return _present().memory_reserved(device_index)


def max_memory_reserved(device_index=None, /):
    """Highest number of bytes held by the allocator; RuntimeError without an accelerator."""
    return _present().max_memory_reserved(device_index)
