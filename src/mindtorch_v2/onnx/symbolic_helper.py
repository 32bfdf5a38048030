"""`torch.onnx.symbolic_helper`: what decorates functions that write operators in ONNX, which nobody calls here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["parse_args"]


def parse_args(*arg_descriptors: str) -> Callable[..., Any]:
    """Say of which kinds a function's arguments are; a decorator that returns the function.

    >>> from mindtorch_v2.onnx.symbolic_helper import parse_args
    >>> @parse_args("v", "i")
    ... def double(g, x, dim):
    ...     return g.op("Add", x, x)
    >>> double.__name__
    'double'
    """
    return lambda function: function
