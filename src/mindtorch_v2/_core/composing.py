"""Whether this thread runs the parts of an operator, which modes see as calls from PyTorch's C++."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from mindtorch_v2 import _C


def is_composing() -> bool:
    """Whether calls are parts of an operator, or of a gradient."""
    return _C._is_composing()


@contextlib.contextmanager
def composing(inside: bool = True) -> Iterator[None]:
    """Within this block calls are parts of an operator; with `inside` false they are a program's again.

    As a part `x * 2` is `mul.Scalar`, while Python calls `mul.Tensor`, and nobody says where a new tensor is to be.
    """
    before = _C._set_composing(inside)
    try:
        yield
    finally:
        _C._set_composing(before)
