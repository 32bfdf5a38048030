"""Marks and ranges that programs set for a profiler: ranges are seen by `torch.profiler` by their messages.

A message or domain that is no text, or a stream that is none, is warned of and sets nothing, so that a mark never ends a program.
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from . import _mstx

__all__ = ["annotate", "mark", "mstx", "mstx_range", "range_end", "range_pop", "range_push", "range_start"]


def _valid(function: str, domain: Any, message: Any = "-", stream: Any = None) -> bool:
    """Whether a call's arguments can be used; if not, with a warning that names the first that cannot."""
    wrong = (
        "message" if not isinstance(message, str) or not message
        else "domain" if not isinstance(domain, str) or not domain
        else "stream" if stream is not None and not hasattr(stream, "npu_stream")
        else None
    )  # fmt: skip
    if wrong:
        warnings.warn(f"mstx.{function}: invalid {wrong}; nothing was marked", stacklevel=3)
    return not wrong


def _place(stream: Any) -> tuple[int, int, int]:
    return stream.stream_id, stream.device_index, stream.device_type


def mark(message: str, stream: Any = None, domain: str = "default") -> None:
    """Set a mark: a range without length."""
    if not _valid("mark", domain, message, stream):
        return
    if stream is None:
        _mstx._mark_on_host(message, domain)
    else:
        _mstx._mark(message, *_place(stream), domain)


def range_start(message: str, stream: Any = None, domain: str = "default") -> int:
    """Begin a range, and return its number; 0 for arguments that cannot be used."""
    if not _valid("range_start", domain, message, stream):
        return 0
    if stream is None:
        return _mstx._range_start_on_host(message, domain)
    return _mstx._range_start(message, *_place(stream), domain)


def range_end(range_id: int, domain: str = "default") -> None:
    """End the range of that number; nothing for a number that no open range has."""
    if not isinstance(range_id, int):
        warnings.warn("mstx.range_end: invalid range_id; it is what range_start gave", stacklevel=2)
    elif _valid("range_end", domain):
        _mstx._range_end(range_id, domain)


def range_push(message: str, stream: Any = None, domain: str = "default") -> int:
    """Begin a range within that begun last in its domain; returns how many were open there, -1 for what cannot be used."""
    if not _valid("range_push", domain, message, stream):
        return -1
    if stream is None:
        return _mstx._range_push_on_host(message, domain)
    return _mstx._range_push(message, *_place(stream), domain)


def range_pop(domain: str = "default") -> int:
    """End the range that was pushed last in a domain; returns how many stay open there, -1 if there was none."""
    return _mstx._range_pop(domain) if _valid("range_pop", domain) else -1


@contextlib.contextmanager
def annotate(message: str = "", stream: Any = None, domain: str = "default") -> Iterator[None]:
    """A range for the length of a `with` block."""
    number = range_start(message, stream, domain)
    try:
        yield
    finally:
        range_end(number, domain)


def mstx_range(message: str, stream: Any = None, domain: str = "default") -> Any:
    """Decorator that puts a range around each call of a function."""

    def decorate(function: Callable[..., Any]) -> Any:
        @functools.wraps(function)
        def marked(*args: Any, **kwargs: Any) -> Any:
            with annotate(message, stream, domain):
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
