"""`torch._custom_ops`: older names of `torch.library`'s functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch_v2 import library
from mindtorch_v2._core.unavailable import unavailable_function
from mindtorch_v2.library import get_ctx

__all__ = ["custom_op", "get_ctx", "impl", "impl_abstract", "impl_backward", "impl_save_for_backward"]

_REMEDY = "torch.library.custom_op, with register_kernel and register_autograd, is its successor"
custom_op = unavailable_function("torch._custom_ops.custom_op", _REMEDY)
impl = unavailable_function("torch._custom_ops.impl", _REMEDY)
impl_backward = unavailable_function("torch._custom_ops.impl_backward", _REMEDY)
impl_save_for_backward = unavailable_function("torch._custom_ops.impl_save_for_backward", _REMEDY)


def impl_abstract(qualname: str, *, func: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Kernel that says what operator `qualname` gives for tensors without values, as `torch.library.register_fake`; a decorator without `func`."""
    return library.register_fake(qualname, func)
