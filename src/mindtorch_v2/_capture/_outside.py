"""Blocks of our own code while a program is recorded."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import mindtorch_v2 as torch
from mindtorch_v2._core.torch_function import DisableTorchFunction

__all__ = ["outside_of"]


@contextlib.contextmanager
def outside_of() -> Iterator[None]:
    """Code in this block is no part of the program."""
    with torch.utils._python_dispatch._disable_current_modes(), DisableTorchFunction():
        yield
