"""`torch.onnx.symbolic_helper`: what decorates functions that write operators in ONNX, which nobody calls here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["parse_args"]


def parse_args(*arg_descriptors: str) -> Callable[..., Any]:
    """Say of which kinds a function's arguments are; a decorator that returns the function."""
    return lambda function: function
