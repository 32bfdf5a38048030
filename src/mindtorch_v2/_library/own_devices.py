"""A device of a program's own: PrivateUse1, under the name that the program gives it.

Its kernels make the tensors and copy them; what else there is to ask, C++ registers: `own_parts.py`.
"""

from __future__ import annotations

import importlib
import threading
from typing import Any

from mindtorch_v2 import _C
from mindtorch_v2._core.above import above
from mindtorch_v2._core.dtype import DTYPES
from mindtorch_v2._ops import ops

from . import own_composites, own_streams
from .own_parts import ask, has, is_named, name, needs_guard, pointer, register, take

__all__ = [
    "accelerator",
    "ask",
    "has",
    "is_named",
    "is_pinned",
    "load",
    "name",
    "new_generator",
    "pinned_memory",
    "pointer",
    "register",
    "streams",
    "take",
]

_blocks: dict[int, Any] = {}  # address -> the tensor that a kernel made for it
_lock = threading.Lock()


def _own_kernel(operator: str) -> bool:
    return bool(_C._dispatch_has_kernel_for_dispatch_key(operator, "PrivateUse1"))


def _allocate(nbytes: int, index: int) -> int:
    if has("allocator"):
        return ask("allocator", "allocate", nbytes, index)
    device = _C.device(name(), max(index, 0))
    if _own_kernel("aten::empty.memory_format"):
        made = ops.aten.empty.memory_format([nbytes], dtype=DTYPES["uint8"], device=device)
    else:
        made = ops.aten.empty_strided.default([nbytes], [1], dtype=DTYPES["uint8"], device=device)
    with _lock:
        _blocks[made.data_ptr()] = made
    return made.data_ptr()


def _release(address: int, index: int) -> None:
    with _lock:
        made = _blocks.pop(address, None)
    if made is None:
        ask("allocator", "release", address, index)


def _transfer(to: int, source: int, nbytes: int, *_: Any) -> None:
    """Bytes within the device: a storage that takes another size moves."""
    if not has("allocator"):
        raise RuntimeError(f"{name()}: bytes can be moved by its allocator alone, and none is registered")
    ask("allocator", "copy", to, source, nbytes)


def _copy(to: Any, source: Any, non_blocking: bool = False) -> None:
    if _own_kernel("aten::copy_"):
        ops.aten.copy_.default(to, source, non_blocking)
    elif non_blocking:
        ops.aten._copy_from.default(source, to, True)
    else:  # what has its default is left out, as for every kernel in Python
        ops.aten._copy_from.default(source, to)


def _fill(to: Any, number: Any) -> None:
    fill = ops.aten.fill_.Scalar
    if _own_kernel(fill.name()):
        fill(to, number)
    else:  # the operator's kernel for the device would come here again
        fill._handle.call_fallback("PrivateUse1", to, number)


def load() -> None:
    """Give the core the device's memory."""
    kernels = ("aten::empty.memory_format", "aten::empty_strided")
    if not has("allocator") and not any(_own_kernel(each) for each in kernels):
        importlib.import_module(f"torch.{name()}")  # as PyTorch: the error says which module is not there
    _C._register_device(name(), _allocate, _release, _transfer, _copy, _fill, _copy)
    own_composites.install()


# ---- what Python asks beside memory ----


def _hooks() -> None:
    if not has("hooks"):
        raise RuntimeError("Please register PrivateUse1HooksInterface by `RegisterPrivateUse1HooksInterface` first.")


def new_generator(index: int) -> Any:
    """A generator of the device, by its hooks or by the maker that was registered."""
    if not has("hooks") and has("generator"):
        return ask("generator", "new", index)
    _hooks()
    return ask("hooks", "new_generator", index)


def is_pinned(storage: Any) -> bool:
    """Whether the hooks call the memory page-locked."""
    return has("hooks") and storage.device.type == "cpu" and bool(ask("hooks", "is_pinned", storage.data_ptr()))


class _Pinned:
    """Page-locked memory, which the hooks' allocator gives."""

    @staticmethod
    def copy_of(tensor: Any) -> Any:
        """A copy of a tensor of the CPU in such memory."""
        if not tensor.is_cpu:
            raise RuntimeError(f"cannot pin '{tensor.type()}' only dense CPU tensors can be pinned")
        block = ask("hooks", "pin", tensor.numel() * tensor.element_size())
        return block.view(tensor.dtype).view(tensor.shape).copy_(tensor.detach())


def pinned_memory() -> Any:
    """Where page-locked memory comes from; RuntimeError where no hooks are registered."""
    _hooks()
    return _Pinned


def streams() -> Any:
    """The module with the classes of its streams and events; RuntimeError without a guard."""
    needs_guard()
    return own_streams


class _Accelerator:
    """The device as `torch.accelerator` speaks to it: its guard answers, and where there is none its module."""

    def __getattr__(self, function: str) -> Any:
        return getattr(above.device_module(name()), function)

    def is_available(self) -> bool:
        return bool(ask("hooks", "is_available")) if has("hooks") else self.device_count() > 0

    def device_count(self) -> int:
        if has("guard"):
            return ask("guard", "device_count")
        module = above.device_module(name())
        return 0 if module is None else module.device_count()

    def current_device(self) -> int:
        if not has("guard"):
            return above.device_module(name()).current_device()
        return max(ask("guard", "current_device"), 0)

    def set_device(self, device: Any) -> None:
        streams()
        ask("guard", "set_device", _index(device))

    def synchronize(self, device: Any = None) -> None:
        streams()
        ask("guard", "synchronize_device", _index(device))

    def current_stream(self, device: Any = None) -> Any:
        return streams().current_stream(_index(device))

    def set_stream(self, stream: Any) -> None:
        streams()
        ask("guard", "set_device", stream.device_index)
        ask("guard", "exchange_stream", stream.stream_id, stream.device_index)


def _index(device: Any) -> int:
    if device is not None and not isinstance(device, int):
        device = _C.device(device).index
    return accelerator().current_device() if device is None else device


_accelerator = _Accelerator()


def accelerator() -> Any:
    """The object that stands for the device in `torch.accelerator`."""
    return _accelerator
