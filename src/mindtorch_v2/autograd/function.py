"""torch.autograd.function: the public names of custom Functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.autograd.function import (
    BackwardCFunction,
    Function,
    FunctionCtx,
    FunctionMeta,
    InplaceFunction,
    NestedIOFunction,
    once_differentiable,
)

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "InplaceFunction",
    "NestedIOFunction",
    "once_differentiable",
]


def _nested_map(condition: Callable[[Any], bool], fn: Callable[[Any], Any], condition_msg: str | None = None) -> Any:
    """A function that applies `fn` to what fulfils the condition in lists, tuples and dictionaries; ValueError for the rest."""

    def change(value: Any) -> Any:
        if condition(value):
            return fn(value)
        if value is None:
            return None
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(change, value))
        if isinstance(value, (list, tuple)):
            return type(value)(map(change, value))
        if isinstance(value, dict):
            return {name: change(each) for name, each in value.items()}
        accepted = f". Accepted types: {condition_msg}, or lists/tuples of them" if condition_msg else ""
        raise ValueError(
            f"Auto nesting doesn't know how to process an input object of type {type(value).__name__}{accepted}"
        )

    return change
