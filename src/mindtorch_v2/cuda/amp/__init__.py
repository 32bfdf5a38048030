"""`torch.cuda.amp`: the older names of `torch.amp` for CUDA devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import functools

import mindtorch_v2 as torch
from mindtorch_v2._core.warn_once import warn_of_caller

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


def _warn_of(old: str, new: str) -> None:
    warn_of_caller(f"`torch.cuda.amp.{old}` is deprecated. Please use `torch.amp.{new}` instead.", FutureWarning)


class autocast(torch.amp.autocast):
    """`torch.amp.autocast("cuda", ...)`.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"), torch.cuda.amp.autocast(enabled=False):
    ...     torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype
    torch.float32
    """

    def __init__(self, enabled: bool = True, dtype: torch.dtype | None = None, cache_enabled: bool = True) -> None:
        _warn_of("autocast(args...)", "autocast('cuda', args...)")
        super().__init__("cuda", enabled=enabled, dtype=dtype or torch.float16, cache_enabled=cache_enabled)


class GradScaler(torch.amp.GradScaler):
    """`torch.amp.GradScaler("cuda", ...)`.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.cuda.amp.GradScaler(enabled=False).is_enabled()
    False
    """

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        _warn_of("GradScaler(args...)", "GradScaler('cuda', args...)")
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd: Callable[..., Any] | None = None, **kwargs: Any) -> Callable[..., Any]:
    """`torch.amp.custom_fwd(device_type="cuda")`.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     forward = torch.cuda.amp.custom_fwd(lambda ctx, x: x * 2, cast_inputs=torch.float32)
    >>> class Double(torch.autograd.Function):
    ...     forward = staticmethod(forward)
    ...     backward = staticmethod(lambda ctx, grad: grad * 2)
    >>> Double.apply(torch.ones(2))
    tensor([2., 2.])
    """
    _warn_of("custom_fwd(args...)", "custom_fwd(args..., device_type='cuda')")
    decorate: Any = functools.partial(torch.amp.custom_fwd, device_type="cuda", **kwargs)
    return decorate if fwd is None else decorate(fwd)


def custom_bwd(bwd: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.amp.custom_bwd(device_type="cuda")`.

    >>> import warnings
    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    >>> with warnings.catch_warnings(action="ignore"):
    ...     Double.forward = staticmethod(torch.cuda.amp.custom_fwd(Double.forward))
    ...     Double.backward = staticmethod(torch.cuda.amp.custom_bwd(lambda ctx, grad: grad * 2))
    >>> x = torch.ones(2, requires_grad=True)
    >>> Double.apply(x).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """
    _warn_of("custom_bwd(args...)", "custom_bwd(args..., device_type='cuda')")
    return torch.amp.custom_bwd(bwd, device_type="cuda")
