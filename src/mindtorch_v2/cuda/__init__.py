"""`torch.cuda`: NVIDIA GPUs, and the emulated one. Without a driver nothing is available, and what would need a device raises.

Nothing of CUDA is loaded before a device is asked for. The guide is docs/cuda.md.
"""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import importlib

from mindtorch_v2._core.absent_devices import functions as _functions
from mindtorch_v2._core.errors import AcceleratorError, OutOfMemoryError
from mindtorch_v2._core.unavailable import unavailable_names
from mindtorch_v2.cuda._handed import handing_on as _handing_on
from mindtorch_v2.cuda._handed import implementation as _implementation
from mindtorch_v2.cuda import memory, random
from mindtorch_v2.cuda.memory import *
from mindtorch_v2.cuda.random import *

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindtorch_v2._tensor import Tensor
    from mindtorch_v2.types import Device


_ABSENT = {name: _handing_on(function) for name, function in _functions("cuda").items()}
_UNAVAILABLE = unavailable_names(
    "torch.cuda", functions="use_mem_pool", classes="CUDAPluggableAllocator GreenContext MemPool"
)
# name -> the module of the back end that has it
_CLASSES = {
    "CUDAGraph": "graph", "Event": "stream", "ExternalStream": "stream", "Stream": "stream", "graph": "graph",
    "make_graphed_callables": "graphed",
}  # fmt: skip
globals().update(_ABSENT | _UNAVAILABLE)
__all__ = sorted(
    [
        *_ABSENT,
        *_CLASSES,
        *_UNAVAILABLE,
        *memory.__all__,
        *random.__all__,
        "AcceleratorError",
        "DeferredCudaCallError",
        "OutOfMemoryError",
        "StreamContext",
        "amp",
        "default_generators",
        "device",
        "device_of",
        "memory",
        "random",
        "set_device",
        "set_stream",
        "stream",
    ]
)

_init = _lazy_init = _ABSENT["init"]  # the second by the name that megatron imports
has_half = True
has_magma = False


class DeferredCudaCallError(Exception):
    """Raised when a call put off until initialisation fails.

    >>> issubclass(torch.cuda.DeferredCudaCallError, Exception)
    True
    """


class device:
    """A context in which a CUDA device is the current one; an index below zero or None selects none.

    >>> with torch.cuda.device(-1):
    ...     print(torch.ones(2).sum())
    tensor(2.)
    """

    def __init__(self, device: Device | None) -> None:
        self.idx = -1 if device is None else _index(device)

    def __enter__(self) -> None:
        if self.idx >= 0:
            _init()
            self.before = _ABSENT["current_device"]()
            set_device(self.idx)

    def __exit__(self, *exception: Any) -> None:
        if self.idx >= 0:
            set_device(self.before)


class device_of(device):
    """A context in which the device of a tensor is the current one: of one that is not on CUDA, none.

    >>> with torch.cuda.device_of(torch.ones(2)):
    ...     print(torch.ones(2).sum())
    tensor(2.)
    """

    def __init__(self, obj: Tensor) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else -1)


class StreamContext:
    """A context in which a CUDA stream is the current one; None selects none.

    >>> with torch.cuda.StreamContext(None):
    ...     print(torch.ones(2).sum())
    tensor(2.)
    """

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            _init()
            self.device = _ABSENT["current_device"]()
            self.before = _ABSENT["current_stream"](self.stream.device_index)
            set_stream(self.stream)

    def __exit__(self, *exception: Any) -> None:
        if self.stream is not None:
            set_stream(self.before)
            set_device(self.device)


def stream(stream: Any) -> StreamContext:
    """`StreamContext(stream)`.

    >>> with torch.cuda.stream(None):
    ...     print(torch.ones(2).sum())
    tensor(2.)
    """
    return StreamContext(stream)


def _lazy_call(callback: Callable[[], Any], **options: Any) -> None:
    """Call a function once CUDA is there: at once where it is, never where there is no device of it. `options` order PyTorch's queue."""
    if _ABSENT["is_available"]():
        _init()
        callback()


def _index(device) -> int:
    index = getattr(device, "index", device)
    if isinstance(index, str):
        index = int(index.partition(":")[2] or 0)
    return index if isinstance(index, int) else 0


def set_device(device: Device) -> None:
    """Make `device` the current one; a negative index does nothing, any other raises AssertionError without CUDA.

    >>> torch.cuda.set_device(-1)
    >>> torch.cuda.is_initialized()
    False
    """
    if _index(device) >= 0:
        _init()
        _implementation().set_device(_index(device))


def set_stream(stream: Any) -> None:
    """Make `stream` the current one; None does nothing, any other raises AssertionError without CUDA.

    >>> torch.cuda.set_stream(None)
    >>> torch.cuda.is_initialized()
    False
    """
    if stream is not None:
        _init()
        _backend_module("stream").set_stream(stream)


def _backend_module(name) -> Any:
    return importlib.import_module(f"mindtorch_v2._backends.cuda.{name}")


def __getattr__(name: str) -> Any:
    if name in ("amp", "jiterator", "nvtx"):  # only loaded when asked for: `torch.amp` may still be loading
        return importlib.import_module(f"mindtorch_v2.cuda.{name}")
    if name in _CLASSES:
        return getattr(_backend_module(_CLASSES[name]), name)
    if name == "_compile_kernel":
        return _backend_module("user_kernel").compile_kernel
    if name == "default_generators":
        held = _implementation()
        return () if held is None else held.default_generators()
    if name.endswith("Storage"):
        from mindtorch_v2.storage import _CUDA_STORAGES as classes
    else:
        from mindtorch_v2._operators.tensor_types import _CUDA_TYPES as classes
    if name in classes:
        return classes[name]
    raise AttributeError(f"module 'mindtorch_v2.cuda' has no attribute {name!r}")
