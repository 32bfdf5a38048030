"""Automatic casts on NPUs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


def custom_fwd(fwd: Callable[..., Any] | None = None, *, cast_inputs: torch.dtype | None = None) -> Callable[..., Any]:
    """`torch.amp.custom_fwd` for NPUs."""
    if fwd is None:
        return functools.partial(custom_fwd, cast_inputs=cast_inputs)
    return torch.amp.custom_fwd(fwd, device_type="npu", cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.amp.custom_bwd` for NPUs."""
    return torch.amp.custom_bwd(bwd, device_type="npu")


class autocast(torch.amp.autocast):
    """`torch.amp.autocast("npu", ...)`, float16 unless told otherwise."""

    def __init__(self, enabled: bool = True, dtype: torch.dtype | None = None, cache_enabled: bool = True) -> None:
        super().__init__("npu", enabled=enabled, dtype=dtype or torch.float16, cache_enabled=cache_enabled)
