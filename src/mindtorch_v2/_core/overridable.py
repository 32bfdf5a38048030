"""`@overridable`: a function written in Python of which classes and modes may take calls over, by `__torch_function__`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .. import _C

_F = TypeVar("_F", bound=Callable[..., Any])


def overridable(function: _F) -> _F:
    """``function``, whose calls go first to active modes and to arguments whose class has a ``__torch_function__``.

    They see the call as PyTorch announces it: what has no default by position, the rest by keyword. Where nobody asks, a
    call costs a look at the types of its arguments. The result looks like the function: it has its name, signature, code
    and class.
    """
    made: _F = _C.Overridable(function)
    return made


def overridable_as(name: str) -> Callable[[_F], _F]:
    """``overridable`` for a part of the public function ``name`` of the same module, as which calls are announced."""

    def decorate(function: _F) -> _F:
        function.__announced__ = name  # type: ignore[attr-defined]  # (a mark on the function)
        return overridable(function)

    return decorate
