"""Names of the first `vmap`, which programs and tests still import: they map with today's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .func._vmap import vmap as _mapped

__all__: list[str] = []


def vmap(func: Callable, in_dims: Any = 0, out_dims: Any = 0) -> Callable:
    """`torch.vmap`, with a FutureWarning that says so."""
    warnings.warn("Please use `torch.vmap` instead of `torch._vmap_internals.vmap`.", FutureWarning, stacklevel=2)
    return _mapped(func, in_dims, out_dims)


def _vmap(func: Callable, in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False) -> Callable:
    """`torch.vmap` as it is; NotImplementedError for results that pass through where they are None."""
    if allow_none_pass_through:
        raise NotImplementedError(
            "_vmap(): allow_none_pass_through is not implemented; give torch.vmap out_dims of None"
        )
    return _mapped(func, in_dims, out_dims)
