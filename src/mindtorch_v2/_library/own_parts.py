"""The parts of a device of a program's own that C++ registers, and the name of the device.

`own_device.h` registers an allocator, a guard of devices, hooks, a maker of generators. Each answers through an operator
`(str what, int a, int b, Any given)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch_v2 import _C
from mindtorch_v2._ops import ops

__all__ = ["ask", "has", "is_named", "name", "needs_guard", "pointer", "register", "take"]

_NAMESPACE = "_own_devices"
_ONCE = {
    "hooks": "PrivateUse1HooksInterface only could be registered once.",
    "generator": "Only can register a generator to the PrivateUse1 dispatch key once!",
}
_parts: dict[str, tuple[Callable[..., Any], int]] = {}  # what -> the operator that answers, the C++ object's address


def name() -> str:
    """The name of the device."""
    return _C._own_device_name()[0]


def is_named() -> bool:
    """Whether PrivateUse1 is a program's own, and no Ascend NPU."""
    return _C._own_device_name()[1]


def take() -> None:
    """Make PrivateUse1 a program's own, if it is not: under PyTorch's own name for it, until it is renamed."""
    if not is_named():
        _C._rename_own_device("privateuseone")


def register(what: str, answering: str, address: int) -> None:
    """Take up what C++ has for the device: "allocator", "guard", "hooks" or "generator"."""
    take()
    if what in _ONCE and what in _parts:
        raise RuntimeError(_ONCE[what])
    _parts[what] = (getattr(getattr(ops, _NAMESPACE), answering), address)


def has(what: str) -> bool:
    """Whether the program registered it."""
    return what in _parts


def pointer(what: str) -> int:
    """The address of the C++ object, 0 if there is none."""
    return _parts[what][1] if what in _parts else 0


def ask(what: str, question: str, a: int = 0, b: int = 0, given: Any = None) -> Any:
    """The answer of what C++ registered."""
    return _parts[what][0](question, a, b, given)


def needs_guard() -> None:
    """RuntimeError where no guard of devices is registered."""
    if "guard" not in _parts:
        raise RuntimeError(f"PyTorch is not linked with support for {name()} devices")
