"""`torch.cuda.amp`: the older names of `torch.amp` for CUDA devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import functools

import mindtorch_v2 as torch

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(torch.amp.autocast):
    """`torch.amp.autocast("cuda", ...)`."""

    def __init__(self, enabled: bool = True, dtype: torch.dtype | None = None, cache_enabled: bool = True) -> None:
        super().__init__("cuda", enabled=enabled, dtype=dtype or torch.float16, cache_enabled=cache_enabled)


class GradScaler(torch.amp.GradScaler):
    """`torch.amp.GradScaler("cuda", ...)`."""

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd: Callable[..., Any] | None = None, **kwargs: Any) -> Callable[..., Any]:
    """`torch.amp.custom_fwd(device_type="cuda")`."""
    decorate: Any = functools.partial(torch.amp.custom_fwd, device_type="cuda", **kwargs)
    return decorate if fwd is None else decorate(fwd)


def custom_bwd(bwd: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.amp.custom_bwd(device_type="cuda")`."""
    return torch.amp.custom_bwd(bwd, device_type="cuda")
