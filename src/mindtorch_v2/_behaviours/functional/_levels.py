"""Which functionalizations are under way on this thread: they nest, and each sees only its own functional tensors."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ... import _C
from ..._dispatch.keys import AUTOGRAD

_KEY = _C._key_bit("Functionalize")
_ABOVE = int(AUTOGRAD) | _C._key_bit("ADInplaceOrView")


class _State(threading.local):
    """Of each level, outermost first: whether views are made again as views (else as copies)."""

    def __init__(self) -> None:
        self.stack: list[bool] = []


_state = _State()


def active_level() -> int:
    """The number of the innermost functionalization under way; 0 if there is none."""
    return len(_state.stack)


def reapplies_views() -> bool:
    """Whether the innermost functionalization makes views again as views. Outside of any it does."""
    return _state.stack[-1] if _state.stack else True


def _watch() -> None:
    """Factories come to the key only while the thread includes it."""
    include, exclude = _C._tls_keys()
    _C._set_tls_keys(include | _KEY if _state.stack else include & ~_KEY, exclude)


def begin(reapply_views: bool) -> int:
    """Enter a level and return its number."""
    _state.stack.append(reapply_views)
    _watch()
    return len(_state.stack)


def end() -> None:
    """Leave the innermost level."""
    _state.stack.pop()
    _watch()


@contextmanager
def entered(reapply_views: bool = True) -> Iterator[int]:
    """A level for what runs inside; gives its number."""
    before = _state.stack
    keys = _C._tls_keys()
    _state.stack = [*before, reapply_views]
    _C._set_tls_keys(keys[0] | _KEY, keys[1] & ~_KEY)  # what was excluded around it comes to this level all the same
    try:
        yield len(_state.stack)
    finally:
        _state.stack = before
        _C._set_tls_keys(*keys)


@contextmanager
def below(level: int) -> Iterator[None]:
    """Within this block only the levels outside of `level` are under way: its tensors' values are what operators see.

    Autograd has recorded the call already, on the functional tensors: nothing of it is recorded again.
    """
    before = _state.stack
    keys = _C._tls_keys()
    _state.stack = before[: level - 1]
    _C._set_tls_keys(keys[0], keys[1] | _ABOVE)
    _watch()
    try:
        yield
    finally:
        _state.stack = before
        _C._set_tls_keys(*keys)
