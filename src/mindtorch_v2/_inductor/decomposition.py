"""Decompositions that programs register for compiled graphs.

They are kept by operator. The back ends here lower an operator by its own kernel or composition, which gives the same values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch_v2 import _decomp

__all__ = ["decompositions", "register_decomposition"]

decompositions: dict[Any, Callable[..., Any]] = {}


def register_decomposition(ops: Any) -> Callable[..., Any]:
    """Decorator that notes a function as the decomposition of an operator or several."""
    return _decomp.register_decomposition(ops, registry=decompositions)
