"""Decorators of PyTorch's references, by the names that its tests import."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

__all__: list[str] = []


def _maybe_remove_out_wrapper(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function inside of what a decorator gave an `out=`; functions that have one of their own are as they were."""
    return inspect.unwrap(fn, stop=lambda f: not hasattr(f, "_torch_decompositions_out_wrapper"))
