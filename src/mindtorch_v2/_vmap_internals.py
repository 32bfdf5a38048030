"""Names of the first `vmap`, which programs and tests still import: they map with today's."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from ._core.autograd.function import through_vmap
from .func._vmap import vmap as _mapped

__all__: list[str] = []


def vmap(func: Callable, in_dims: Any = 0, out_dims: Any = 0) -> Callable:
    """`torch.vmap`, with a FutureWarning that says so."""
    warnings.warn("Please use `torch.vmap` instead of `torch._vmap_internals.vmap`.", FutureWarning, stacklevel=2)
    return _mapped(_with_functions_as_they_are(func), in_dims, out_dims)


def _with_functions_as_they_are(func: Callable) -> Callable:
    """The function, in whose run an autograd.Function needs nothing for vmap: its forward meets the batched tensors."""

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        token = through_vmap.set(True)
        try:
            return func(*args, **kwargs)
        finally:
            through_vmap.reset(token)

    return run


def _vmap(func: Callable, in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False) -> Callable:
    """`torch.vmap` as it is; NotImplementedError for results that pass through where they are None."""
    if allow_none_pass_through:
        raise NotImplementedError(
            "_vmap(): allow_none_pass_through is not implemented; give torch.vmap out_dims of None"
        )
    return _mapped(_with_functions_as_they_are(func), in_dims, out_dims)
