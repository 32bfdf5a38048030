"""Whether a call of a compiled function is compiled: what this thread is doing, and the stance of the process."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from mindtorch_v2._core.tracer import paused

__all__ = ["STANCES", "capturing", "compiling_allowed", "disabled", "exporting", "is_capturing", "stance", "thread"]

STANCES = (
    "default",
    "force_eager",
    "eager_on_recompile",
    "fail_on_recompile",
    "eager_then_compile",
    "aot_eager_then_compile",
)


class _Thread(threading.local):
    def __init__(self) -> None:
        self.capturing = 0
        self.exporting = 0
        self.disabled = 0


class _Stance:
    """The stance that `torch.compiler.set_stance` set."""

    def __init__(self, name: str = "default", force_backend: Any = None) -> None:
        self.name = name
        self.force_backend = force_backend


thread = _Thread()
_current = _Stance()


def stance() -> _Stance:
    """The stance of the process."""
    return _current


def set_current(new: _Stance) -> _Stance:
    """Set the stance; returns the one before."""
    global _current
    before, _current = _current, new
    return before


def is_capturing() -> bool:
    """Whether this thread runs a program in order to capture it."""
    return thread.capturing > 0


@contextlib.contextmanager
def capturing() -> Iterator[None]:
    """Mark what runs in the block as captured."""
    thread.capturing += 1
    try:
        yield
    finally:
        thread.capturing -= 1


@contextlib.contextmanager
def exporting() -> Iterator[None]:
    """Mark what runs in the block as captured by `torch.export`."""
    thread.exporting += 1
    try:
        with capturing():
            yield
    finally:
        thread.exporting -= 1


@contextlib.contextmanager
def disabled() -> Iterator[None]:
    """Within the block compiled functions run eagerly."""
    thread.disabled += 1
    try:
        with paused("a function that is kept out of graphs"):
            yield
    finally:
        thread.disabled -= 1


def compiling_allowed() -> bool:
    """Whether a call of a compiled function may use graphs now."""
    return not (thread.capturing or thread.disabled)
