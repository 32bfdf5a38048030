"""Mark how stable a public name of `torch.fx` is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["compatibility"]

_BACK_COMPAT_OBJECTS: dict[Any, None] = {}  # what is stable, in the order in which it was marked
_MARKED_WITH_COMPATIBILITY: dict[Any, None] = {}  # what is marked, either way


def compatibility(is_backward_compatible: bool) -> Callable[..., Any]:
    """A decorator that states how stable a name is; it returns what it decorates.

    >>> @compatibility(is_backward_compatible=True)
    ... def kept(x):
    ...     return x
    >>> kept in _BACK_COMPAT_OBJECTS
    True
    """

    def mark(fn: Any) -> Any:
        _MARKED_WITH_COMPATIBILITY.setdefault(fn)
        if is_backward_compatible:
            _BACK_COMPAT_OBJECTS.setdefault(fn)
        return fn

    return mark
