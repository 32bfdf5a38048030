"""Marks for functions in exported programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T", bound=Callable[..., object])


def mark_subclass_constructor_exportable_experimental(constructor_subclass: T) -> T:
    """A constructor of a class of tensors, as it is: exported programs here take no classes of tensors, marked or not.

    Raises RuntimeError for a function that is no `__init__`, or one of no class.
    """
    name = getattr(constructor_subclass, "__qualname__", "")
    if not name.endswith(".__init__"):
        raise RuntimeError(
            "torch._export.wrappers.mark_constructor_exportable can only be applied on subclass tensor.__init__"
        )
    return constructor_subclass
