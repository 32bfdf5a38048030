"""Operators that are defined when the first of them is asked for, so that no program waits for them at import.

The rows of `_operators/inner` are such, and the `out=` forms that PyTorch generates: they are found by name alone, as
``torch.ops.aten.isnan.out``. The registry calls :func:`read` for a name that it does not know, and before it lists all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from ... import _C

__all__ = ["begin", "read", "when_asked"]

_lock = threading.RLock()
_waiting: list[Callable[[], None]] = []
_begun = _done = _reading = False


def when_asked(define: Callable[[], None]) -> None:
    """Call `define`, which defines operators, when one is asked for that is not there; at once if that has been."""
    if _done:
        define()
    else:
        _waiting.append(define)


def begin() -> None:
    """From now on a name that is not known has the others defined."""
    global _begun
    _begun = True
    _C._set_late_operators(read)


def read() -> bool:
    """Define what waits; False where that is going on, as rows look for operators themselves."""
    global _done, _reading
    with _lock:
        if _reading or not _begun:
            return False
        if _done:
            return True
        _reading = True
        try:
            while _waiting:  # rows that are read add to it
                _waiting.pop(0)()
        finally:
            _reading = False
        _done = True
        _C._set_late_operators(None)
    return True
