"""Functionalization under the names of PyTorch's Python version of it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._behaviours.functional import entered, from_functional, to_functional
from mindtorch_v2._core.unavailable import unavailable_class, unavailable_function
from mindtorch_v2.utils import _pytree as pytree

__all__ = [
    "FunctionalTensor",
    "FunctionalTensorMode",
    "dispatch_functionalize",
    "mb_unwrap_functional_tensor",
]

FunctionalTensor = unavailable_class("torch._subclasses.functional_tensor.FunctionalTensor")
FunctionalTensorMode = unavailable_class("torch._subclasses.functional_tensor.FunctionalTensorMode")
mb_unwrap_functional_tensor = unavailable_function("torch._subclasses.functional_tensor.mb_unwrap_functional_tensor")


def dispatch_functionalize(func: Callable[..., Any], mode: Any = None) -> Callable[..., Any]:
    """The function without writes below it. Unlike `torch.func.functionalize` it leaves its arguments as they were.

    >>> from mindtorch_v2._subclasses.functional_tensor import dispatch_functionalize
    >>> x = torch.zeros(2)
    >>> dispatch_functionalize(lambda x: x.add_(1))(x), x
    (tensor([1., 1.]), tensor([0., 0.]))
    """

    @functools.wraps(func)
    def without_writes(*args: Any, **kwargs: Any) -> Any:
        with entered(True) as level:
            shown = pytree.tree_map_only(torch.Tensor, lambda x: to_functional(x, level), (args, kwargs))
            results = func(*shown[0], **shown[1])
        return pytree.tree_map_only(torch.Tensor, lambda x: from_functional(x, level), results)

    return without_writes
