"""Parts of programs that a compiler may compile once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["mark_compile_region"]


def mark_compile_region(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
    """The function itself, or a decorator that returns it: graphs here compile what they hold once per graph."""
    return (lambda function: function) if fn is None else fn
