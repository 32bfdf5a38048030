"""Operators of libraries that have no gradient: they run, and whoever asks for the gradient is told.

PyTorch calls it the autograd fallback. In its mode "warn", the default, results of such an operator require grad if an argument does, a
warning says in the way back what is missing, and the arguments get no gradient by way of it; "error" raises instead; with
"nothing" the operator is nothing to autograd. Operations that the operator's kernel does on tensors are recorded in every mode.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

from mindtorch_v2 import _C
from mindtorch_v2._core.autograd.fallback_mode import get_mode
from mindtorch_v2._core.autograd.function import Function
from mindtorch_v2._tensor import Tensor

from .names import qualified

__all__ = ["install"]

_TAKES_OPERATOR, _TAKES_KEYS, _ONLY_RECORDING = 1, 2, 4  # csrc/core/registry.h: PythonFlag


def _tell(name: str) -> None:
    text = (
        f"{name}: an autograd kernel was not registered to the Autograd key(s) but we are trying to backprop through it. "
        "This may lead to silently incorrect behavior. Give it a gradient (torch.library.register_autograd), or say that it has "
        "none: torch.library.Library(...).impl(name, torch.library.fallthrough_kernel, 'Autograd')"
    )
    if get_mode() == "error":
        raise RuntimeError(text)
    warnings.warn(text, UserWarning, stacklevel=2)


def _hook(name: str, gradient: Any) -> None:
    _tell(name)


class _Untold(Function):
    """Let a tensor that a call wrote or made be of the call's arguments, which get no gradient."""

    @staticmethod
    def forward(ctx: Any, name: str, result: Tensor, *arguments: Tensor) -> Tensor:
        ctx.name = name
        ctx.mark_dirty(result)
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[None, ...]:
        _tell(ctx.name)
        return (None,) * len(ctx.needs_input_grad)


def _tensors(values: Any) -> list[Tensor]:
    found = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += [each for each in value if isinstance(each, Tensor)]
    return found


def _run(handle: Any, keys: int, *args: Any, **kwargs: Any) -> Any:
    asking = [each for each in _tensors((*args, *kwargs.values())) if each.requires_grad]
    result = handle.redispatch(keys & _below_autograd(), *args, **kwargs)
    if get_mode() == "nothing":
        return result
    name = qualified(handle)
    tell = functools.partial(_hook, name)
    written = handle.mutates
    for made in _tensors(result if isinstance(result, (list, tuple)) else (result,)):
        if not made.is_floating_point() and not made.is_complex():
            continue
        if made.requires_grad:
            made.register_hook(tell)
            base = made._base if written and made._is_view() else None
            if base is not None and base.requires_grad:
                base.register_hook(tell)
        else:
            _Untold.apply(name, made, *asking)
    return result


@functools.cache
def _below_autograd() -> int:
    return _C._key_bit("AutogradOther") - 1


@functools.cache
def install() -> None:
    """Let operators of libraries run by this; once, as the first one is defined."""
    _C._set_fallback("Autograd", _run, _TAKES_OPERATOR | _TAKES_KEYS | _ONLY_RECORDING)
