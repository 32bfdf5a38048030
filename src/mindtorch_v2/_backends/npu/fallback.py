"""The explicit way out for operators that have no kernel on the NPU: to the CPU and back. Off unless it is asked for.

`torch.npu.set_cpu_fallback(True)`, or MINDTORCH_NPU_CPU_FALLBACK=1 in the environment before the device is first asked for. Each
operator that takes this way is named once by a warning: it copies its tensors over the bus and waits for the device.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

from ... import _C

VARIABLE = "MINDTORCH_NPU_CPU_FALLBACK"
_TAKES_OPERATOR = 1  # csrc/core/registry.h: PythonFlag
_registration: list[int] = []
_told: set[str] = set()


def set_cpu_fallback(enabled: bool) -> None:
    """Let operators without a kernel for the NPU run on the CPU, or refuse them again, as at first.

    Their tensors are copied to the CPU, and results and written arguments back. TypeError for what is no bool.
    """
    if not isinstance(enabled, bool):
        raise TypeError(f"set_cpu_fallback: expected True or False, got {type(enabled).__name__}")
    if enabled and not _registration:
        _registration.append(_C._set_fallback("NPU", _on_the_cpu, _TAKES_OPERATOR))
    elif not enabled and _registration:
        _C._erase_fallback("NPU", _registration.pop())
        _told.clear()


def get_cpu_fallback() -> bool:
    """Whether operators without a kernel for the NPU run on the CPU."""
    return bool(_registration)


def read_environment() -> None:
    """Turn it on where the environment says so. ValueError for a value that is neither 0 nor 1."""
    value = os.environ.get(VARIABLE, "0")
    if value not in ("", "0", "1"):
        raise ValueError(
            f"{VARIABLE} is {value!r}; it is 1 to run operators without a kernel for the NPU on the CPU, or 0"
        )
    if value == "1":
        set_cpu_fallback(True)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, _C.TensorBase)


class _Moved:
    """Tensors of one call, each moved once: an argument that is given twice is one tensor on the CPU too."""

    def __init__(self) -> None:
        self.pairs: dict[int, tuple[Any, Any]] = {}  # id of the CPU's -> (the NPU's, the CPU's)
        self._known: dict[int, Any] = {}
        self.device: Any = None

    def there(self, value: Any) -> Any:
        if _is_tensor(value):
            if value.device.type != "npu":
                return value
            if id(value) not in self._known:
                self.device = value.device if self.device is None else self.device
                moved = self._known[id(value)] = value.detach().to("cpu")
                self.pairs[id(moved)] = value, moved
            return self._known[id(value)]
        if isinstance(value, _C.device) and value.type == "npu":
            self.device = value if self.device is None else self.device
            return _C.device("cpu")
        if isinstance(value, (list, tuple)):
            return type(value)(map(self.there, value))
        return value

    def written(self, value: Any) -> None:
        """Bring back what an argument on the CPU holds now; the other tensors of the call are as they were."""
        if isinstance(value, (list, tuple)):
            for item in value:
                self.written(item)
        elif id(value) in self.pairs:
            npu, cpu = self.pairs[id(value)]
            if npu.shape != cpu.shape:
                npu.resize_(cpu.shape)
            npu.copy_(cpu)

    def back(self, value: Any) -> Any:
        if _is_tensor(value):
            if id(value) in self.pairs:
                return self.pairs[id(value)][0]
            return value.to(self.device) if value.device.type == "cpu" else value
        if isinstance(value, (list, tuple)):
            return type(value)(map(self.back, value))
        return value


def _on_the_cpu(handle: Any, *args: Any, **kwargs: Any) -> Any:
    name = handle.name if not handle.overload else f"{handle.name}.{handle.overload}"
    if name not in _told:
        _told.add(name)
        warnings.warn(
            f"{handle.namespace}::{name} has no kernel for the NPU and runs on the CPU, since {VARIABLE} or "
            "torch.npu.set_cpu_fallback asks for it; its tensors are copied both ways",
            stacklevel=3,
        )
    moved = _Moved()
    there = [moved.there(value) for value in args]
    named = {key: moved.there(value) for key, value in kwargs.items()}
    result = handle.redispatch(_C._key_bit("CPU"), *there, **named)
    for number, argument in enumerate(handle.arguments):
        if argument["is_write"]:
            moved.written(there[number] if number < len(there) else named.get(argument["name"]))
    return moved.back(result)
