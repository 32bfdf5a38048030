"""Arguments brought to a device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch

if TYPE_CHECKING:
    from mindtorch_v2.types import Device


def moved(value: Any, device: Device) -> Any:
    """The arguments that `forward` gets, with its tensors on the device."""
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(moved(item, device) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(moved(item, device) for item in value)
    if isinstance(value, dict):
        return type(value)((name, moved(item, device)) for name, item in value.items())
    return value
