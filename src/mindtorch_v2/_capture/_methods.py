"""Methods that were read and are not called yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["BoundSlot", "TensorMethod"]


class TensorMethod:
    """A method of a tensor, not called yet."""

    __slots__ = ("name", "tensor")

    def __init__(self, tensor: Any, name: str) -> None:
        self.tensor, self.name = tensor, name


class BoundSlot:
    """A method in C of an object, as `super()` finds it."""

    __slots__ = ("descriptor", "obj")

    def __init__(self, descriptor: Callable[..., Any], obj: Any) -> None:
        self.descriptor, self.obj = descriptor, obj
