"""Marks how stable a public name of `torch.fx` is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["compatibility"]


def compatibility(is_backward_compatible: bool) -> Callable[..., Any]:
    """A decorator that states how stable a name is; it returns what it decorates."""

    def mark(fn: Any) -> Any:
        return fn

    return mark
