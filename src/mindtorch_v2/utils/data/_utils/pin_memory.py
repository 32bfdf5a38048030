"""Pinning of a batch's memory, for copies to a device that run beside the program."""

from __future__ import annotations

import collections.abc
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2.utils.data._utils.collate import _rebuild_mapping, _rebuild_sequence

if TYPE_CHECKING:
    from mindtorch_v2.types import Device


def pin_memory(data: Any, device: Device | None = None) -> Any:
    """`data` with every tensor in it pinned; objects with a `pin_memory` method are asked to."""
    if isinstance(data, torch.Tensor):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, collections.abc.Mapping):
        return _rebuild_mapping(data, {key: pin_memory(value, device) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(pin_memory(value, device) for value in data))
    if isinstance(data, tuple):
        return [pin_memory(value, device) for value in data]
    if isinstance(data, collections.abc.Sequence):
        return _rebuild_sequence(data, [pin_memory(value, device) for value in data])
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    return data
