"""Operators that are composed of others here, where modes and graphs look at calls.

`whole_operators.txt` names those that are of one piece in PyTorch: they are seen whole. A call whose gradient is recorded, and one
under `vmap` or forward mode, is seen in its parts: the rules for these are the parts' rules. What the others are composed of is seen as
calls from C++ are, see `_core/composing.py`. The kernels are at the key PythonDispatcher, which is there while a mode is on
that looks at calls below autograd; `composed.py` has those of operators that are of one piece here, and composed in PyTorch.
"""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Callable
from typing import Any

from mindtorch_v2 import _C
from mindtorch_v2._behaviours.functional import _call as functional
from mindtorch_v2._behaviours.functional._values import is_functional
from mindtorch_v2._core import torch_dispatch
from mindtorch_v2._core.composing import composing
from mindtorch_v2._core.torch_function import values_among
from mindtorch_v2._dispatch.keys import AUTOGRAD

__all__ = ["install"]

_FUNCTIONALIZE = _C._key_bit("Functionalize")
_PARTS = _C._key_bit("CPU")  # the kernel that calls the parts is one for all devices


@functools.cache
def install() -> None:
    """Register the kernels; once."""
    whole = set((pathlib.Path(__file__).parent / "whole_operators.txt").read_text().split())
    for handle in _C._all_operators():
        kernels = handle.kernels()
        if handle.namespace == "aten" and "CompositeImplicitAutograd" in kernels and "PythonDispatcher" not in kernels:
            name = f"{handle.name}.{handle.overload}" if handle.overload else handle.name
            handle.impl("PythonDispatcher", (_seen_whole if name in whole else _in_parts)(handle), 0)


def _in_parts(handle: Any) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        with composing():
            return handle.redispatch(_PARTS, *args, **kwargs)

    return kernel


def _seen_whole(handle: Any) -> Callable[..., Any]:
    in_parts, gives_nothing = _in_parts(handle), not handle.returns

    def kernel(*args: Any, **kwargs: Any) -> Any:
        tensors = [value for value in values_among(args, kwargs) if isinstance(value, _C.TensorBase)]
        included, excluded = _C._tls_keys()
        recording = _C.is_grad_enabled() and not excluded & int(AUTOGRAD)
        if any((recording and tensor.requires_grad) or _has_levels(tensor) for tensor in tensors):
            return in_parts(*args, **kwargs)
        if included & _FUNCTIONALIZE or any(map(is_functional, tensors)):
            made = functional.handle(handle, args, kwargs)
        else:  # kernels get tuples, and modes lists
            lists = {name: _as_list(value) for name, value in kwargs.items()}
            made = torch_dispatch.ask(handle, tuple(map(_as_list, args)), lists)
        return None if gives_nothing else made

    return kernel


def _as_list(value: Any) -> Any:
    return list(value) if type(value) is tuple else value


def _has_levels(tensor: Any) -> bool:
    """Whether it is one of `vmap`'s, or has a tangent."""
    return bool(_C._tangent_levels(tensor)) or _C._batched_parts(tensor) is not None
