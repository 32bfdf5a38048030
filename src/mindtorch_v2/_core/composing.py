"""Whether this thread runs the parts of an operator, which modes see as calls from PyTorch's C++."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator


class _State(threading.local):
    inside = False  # whether calls are parts of an operator, or of a gradient


state = _State()


def is_composing() -> bool:
    """Whether calls are parts of an operator, or of a gradient."""
    return state.inside


@contextlib.contextmanager
def composing(inside: bool = True) -> Iterator[None]:
    """Within this block calls are parts of an operator; with `inside` false they are a program's again.

    As a part `x * 2` is `mul.Scalar`, while Python calls `mul.Tensor`, and nobody says where a new tensor is to be.
    """
    before = state.inside
    state.inside = inside
    try:
        yield
    finally:
        state.inside = before
