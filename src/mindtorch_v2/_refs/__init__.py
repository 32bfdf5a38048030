"""`torch._refs`: in PyTorch, operators written in other operators, which its tests hold against the operators themselves.

Here each name is the public function itself, which is such a composition or a kernel: programs that call these get the same
values. What has no function of its own is the tensor's method, on a copy for what draws random numbers in place.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

_REVERSED: dict[str, Callable[..., Any]] = {
    "rpow": torch.pow,
    "rtruediv": torch.true_divide,
    "rfloordiv": torch.floor_divide,
}


def _method(name: str) -> Callable[..., Any]:
    def call(a: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        return getattr(a, name)(*args, **kwargs)

    return _named(call, name)


def _drawn(name: str) -> Callable[..., Any]:
    def call(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        return getattr(self.clone(), name + "_")(*args, **kwargs)

    return _named(call, name)


def _reversed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(a: Any, b: Any) -> torch.Tensor:
        return function(b, a)

    return _named(call, name)


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    return function


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _reversed(name, function) for name, function in _REVERSED.items()},
    "swap_axes": torch.swapaxes,
    "zero": torch.zeros_like,
    "copy_to": lambda a, b, **kwargs: a.copy_(b, **kwargs),
    "trunc_divide": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "T": lambda a: a.T,
}
globals().update(_FUNCTIONS)


def __getattr__(name: str) -> Any:
    """Any other is torch's own function, or the method of a tensor; one that only writes is called on a copy."""
    if name == "_conversions":
        return importlib.import_module("mindtorch_v2._refs._conversions")
    if name.startswith("_") and not name.startswith("__r"):
        raise AttributeError(f"module 'torch._refs' has no attribute '{name}'")
    if hasattr(torch, name):
        return getattr(torch, name)
    if callable(getattr(torch.Tensor, name, None)):
        return _method(name)
    if callable(getattr(torch.Tensor, name + "_", None)):
        return _drawn(name)
    raise AttributeError(f"module 'torch._refs' has no attribute '{name}'")
