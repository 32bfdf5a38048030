"""Where the tensors of one call may lie, as its row states it; the dispatcher checks it (csrc/core/device_check.cpp)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_WORDS = ("any", "host", "number")


def place(handle: Any, devices: str | Mapping[str, str]) -> None:
    """Tell the dispatcher which tensor arguments need not lie on the device of the others; see `FactWords`."""
    names = {a["name"]: i for i, a in enumerate(handle.arguments) if a["type"].startswith("Tensor")}
    words = dict.fromkeys(names, devices) if isinstance(devices, str) else devices
    if not set(words) <= set(names) or not set(words.values()) <= set(_WORDS):
        raise ValueError(f"{handle.name}: devices={devices!r} names tensor arguments, and one of {_WORDS} for each")
    handle.set_devices(*(sum(1 << names[name] for name, word in words.items() if word == kind) for kind in _WORDS))
