"""Copying within a device, from any dtype and memory order to any other, and filling with a number."""

from __future__ import annotations

from typing import Any

from .pointwise import Pointwise

_COPY = Pointwise("copying", 1, ["src"], "r0 = to<decltype(r0)>(src);", compute="src")
_FILL = Pointwise("writing of a number", 1, ["value"], "value")


def copy(to: Any, source: Any) -> None:
    """Copy a tensor into another of the device; it is broadcast."""
    _COPY.launcher.run((to,), (source,))


def fill(to: Any, number: Any) -> None:
    """Write a number to all elements of a tensor."""
    _FILL.launcher.run((to,), (_plain(number),))


def _plain(number: Any) -> Any:
    return int(number) if isinstance(number, bool) else number
