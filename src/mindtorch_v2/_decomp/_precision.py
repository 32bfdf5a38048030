"""The precision that decompositions compute in: that of the kernels, which take halves as float32."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["in_float32"]

_HALVES = (torch.float16, torch.bfloat16)


def in_float32(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function that computes in float32 where its first tensor is of 16 bits, and gives results of that type."""

    @functools.wraps(function)
    def computed(*args: Any, **kwargs: Any) -> Any:
        first = next((each for each in pytree.arg_tree_leaves(*args, **kwargs) if isinstance(each, torch.Tensor)), None)
        if first is None or first.dtype not in _HALVES:
            return function(*args, **kwargs)
        args, kwargs = pytree.tree_map_only(torch.Tensor, _widened, (args, kwargs))
        return pytree.tree_map_only(
            torch.Tensor, lambda x: x.to(first.dtype) if x.dtype is torch.float32 else x, function(*args, **kwargs)
        )

    return computed


def _widened(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.dtype in _HALVES else tensor
