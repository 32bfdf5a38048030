"""Marks and ranges that programs set for a profiler: ranges are seen by `torch.profiler` by their messages."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from mindtorch_v2.autograd.profiler import record_function

__all__ = ["annotate", "mark", "mstx", "mstx_range", "range_end", "range_pop", "range_push", "range_start"]

_numbers = itertools.count(1)
_open: dict = {}  # number -> the range
_pushed: list = []


def mark(message: str, stream: Any = None, domain: str = "default") -> None:
    """Set a mark: a range without length."""
    with record_function(message):
        pass


def range_start(message: str, stream: Any = None, domain: str = "default") -> int:
    """Begin a range, and return its number."""
    number = next(_numbers)
    _open[number] = record_function(message)
    _open[number].__enter__()
    return number


def range_end(range_id: int, domain: str = "default") -> None:
    """End the range of that number; nothing for a number that no open range has."""
    found = _open.pop(range_id, None)
    if found is not None:
        found.__exit__(None, None, None)


def range_push(message: str, stream: Any = None, domain: str = "default") -> int:
    """Begin a range within that begun last; returns how many were open."""
    _pushed.append(range_start(message))
    return len(_pushed) - 1


def range_pop(domain: str = "default") -> int:
    """End the range that was pushed last; returns how many stay open, -1 if there was none."""
    if not _pushed:
        return -1
    range_end(_pushed.pop())
    return len(_pushed)


@contextlib.contextmanager
def annotate(message: str = "", stream: Any = None, domain: str = "default") -> Iterator[None]:
    """A range for the length of a `with` block."""
    number = range_start(message)
    try:
        yield
    finally:
        range_end(number)


def mstx_range(message: str, stream: Any = None, domain: str = "default") -> Any:
    """Decorator that puts a range around each call of a function."""

    def decorate(function: Callable[..., Any]) -> Any:
        @functools.wraps(function)
        def marked(*args: Any, **kwargs: Any) -> Any:
            with annotate(message):
                return function(*args, **kwargs)

        return marked

    return decorate


class mstx:
    """The functions of this module by the older name of a class."""

    annotate = staticmethod(annotate)
    mark = staticmethod(mark)
    mstx_range = staticmethod(mstx_range)
    range_end = staticmethod(range_end)
    range_pop = staticmethod(range_pop)
    range_push = staticmethod(range_push)
    range_start = staticmethod(range_start)
