"""Functions that libtorch_cpu.so (csrc/stable) calls: what the stable ABI asks for and the boundary's table does not have."""

from __future__ import annotations

from typing import Any

from mindtorch_v2 import _C
from mindtorch_v2._core.exchange import accelerator, current_stream, stream_handle
from mindtorch_v2._core.loading import is_loading
from mindtorch_v2._operators.table.names import BOUND

from .compiled import forget_library

__all__ = [
    "current_device",
    "current_stream",
    "first_name",
    "forget_library",
    "generator_device",
    "is_loading",
    "item",
    "parse_device",
    "set_device",
    "set_python_module",
    "stream_handle",
    "stream_id",
    "tensor_of_class",
]


def set_python_module(library: Any, module: str, context: str) -> None:
    """Note where fake kernels of this library's operators are to be found, for the message where one is missing."""
    library.python_module = (module, context)


def tensor_of_class(tensor: Any, cls: type) -> Any:
    return tensor if type(tensor) is cls else tensor.as_subclass(cls)


def first_name(name: str) -> str | None:
    """The operator that a second name of one stands for, "aten::div" for "aten::divide"; None if it is none."""
    namespace, _, short = name.partition("::")
    handles = BOUND["function"].get(short) or BOUND["method"].get(short) if namespace == "aten" else None
    return f"aten::{handles[0].name}" if handles else None


def item(tensor: _C.TensorBase) -> bool | int | float | complex:
    """The number of a tensor of one element; what is beyond 63 bits as the signed number of the same bits."""
    value = tensor.item()
    return value - (1 << 64) if type(value) is int and value >= 1 << 63 else value


# ---- devices ----


def parse_device(text: str) -> _C.device:
    return _C.device(text)


def generator_device(generator: _C.Generator) -> _C.device:
    return generator.device


def current_device() -> int:
    return accelerator().current_device_index()


def set_device(index: int) -> None:
    accelerator().set_device_index(index)


def stream_id(stream: Any) -> int:
    return stream.stream_id
