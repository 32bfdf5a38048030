"""The way out for operators that have no kernel on a device: to the CPU and back. Off unless a program asks for it."""

from __future__ import annotations

import warnings
from typing import Any

from ... import _C

_TAKES_OPERATOR = 1  # csrc/core/registry.h: PythonFlag


def _is_tensor(value: Any) -> bool:
    return isinstance(value, _C.TensorBase)


class _Moved:
    """Tensors of one call, each moved once: an argument that is given twice is one tensor on the CPU too."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.pairs: dict[int, tuple[Any, Any]] = {}  # id of the CPU's -> (the device's, the CPU's)
        self._known: dict[int, Any] = {}
        self.device: Any = None

    def there(self, value: Any) -> Any:
        if _is_tensor(value):
            if value.device.type != self.kind:
                return value
            if id(value) not in self._known:
                self.device = value.device if self.device is None else self.device
                moved = self._known[id(value)] = value.detach().to("cpu")
                self.pairs[id(moved)] = value, moved
            return self._known[id(value)]
        if isinstance(value, _C.device) and value.type == self.kind:
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
            there, cpu = self.pairs[id(value)]
            if there.shape != cpu.shape:
                there.resize_(cpu.shape)
            there.copy_(cpu)

    def back(self, value: Any) -> Any:
        if _is_tensor(value):
            if id(value) in self.pairs:
                return self.pairs[id(value)][0]
            return value.to(self.device) if value.device.type == "cpu" else value
        if isinstance(value, (list, tuple)):
            return type(value)(map(self.back, value))
        return value


class Fallback:
    """The switch of a device. Each operator that takes this way is named once by a warning: it copies, and waits for the device.

    Args:
        kind: the type of device.
        key: its dispatch key.
        asked: why it is done, in the warning.
    """

    def __init__(self, kind: str, key: str, asked: str) -> None:
        self.kind, self.key, self.asked = kind, key, asked
        self._registration: list[int] = []
        self._told: set[str] = set()

    def set(self, enabled: bool) -> None:
        """Let operators without a kernel run on the CPU, or refuse them again, as at first."""
        if enabled and not self._registration:
            self._registration.append(_C._set_fallback(self.key, self._on_the_cpu, _TAKES_OPERATOR))
        elif not enabled and self._registration:
            _C._erase_fallback(self.key, self._registration.pop())
            self._told.clear()

    def get(self) -> bool:
        """Whether operators without a kernel run on the CPU."""
        return bool(self._registration)

    def _on_the_cpu(self, handle: Any, *args: Any, **kwargs: Any) -> Any:
        name = handle.name if not handle.overload else f"{handle.name}.{handle.overload}"
        if name not in self._told:
            self._told.add(name)
            warnings.warn(
                f"{handle.namespace}::{name} has no kernel for the {self.key} and runs on the CPU, since {self.asked}; "
                "its tensors are copied both ways",
                stacklevel=3,
            )
        moved = _Moved(self.kind)
        there = [moved.there(value) for value in args]
        named = {key: moved.there(value) for key, value in kwargs.items()}
        result = handle.redispatch(_C._key_bit("CPU"), *there, **named)
        for number, argument in enumerate(handle.arguments):
            if argument["is_write"]:
                moved.written(there[number] if number < len(there) else named.get(argument["name"]))
        return moved.back(result)
