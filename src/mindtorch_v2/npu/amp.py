"""`torch.npu.amp`: automatic mixed precision on NPUs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


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


class GradScaler(torch.amp.GradScaler):
    """`torch.amp.GradScaler("npu", ...)`.

    `dynamic=False` keeps the scale as it is.
    """

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        dynamic: bool = True,
        enabled: bool = True,
    ) -> None:
        super().__init__("npu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
        self._dynamic = dynamic

    def update(self, new_scale: float | torch.Tensor | None = None) -> None:
        """Set the scale for the next iteration: to `new_scale`, or by what the steps of this one found."""
        if new_scale is None and not self._dynamic:
            self._per_optimizer_states.clear()
            return
        super().update(new_scale)
