"""Marks and ranges by the functions that `mstx` calls; a range is seen by `torch.profiler` by its message."""

from __future__ import annotations

import itertools
from typing import Any

from mindtorch_v2.autograd.profiler import record_function

_numbers = itertools.count(1)
_open: dict[int, Any] = {}  # number -> the range
_pushed: dict[str, list[int]] = {}  # by domain


def _mark_on_host(message: str, domain: str = "default") -> None:
    """A range without length."""
    with record_function(message):
        pass


def _range_start_on_host(message: str, domain: str = "default") -> int:
    """Begin a range, and return its number."""
    number = next(_numbers)
    _open[number] = record_function(message)
    _open[number].__enter__()
    return number


def _range_end(range_id: int, domain: str = "default") -> None:
    """End the range of that number; nothing for a number that no open range has."""
    found = _open.pop(range_id, None)
    if found is not None:
        found.__exit__(None, None, None)


def _range_push_on_host(message: str, domain: str = "default") -> int:
    """Begin a range within that begun last in its domain; returns how many were open there."""
    pushed = _pushed.setdefault(domain, [])
    pushed.append(_range_start_on_host(message, domain))
    return len(pushed) - 1


def _range_pop(domain: str = "default") -> int:
    """End the range that was pushed last in a domain; returns how many stay open there, -1 if there was none."""
    pushed = _pushed.get(domain)
    if not pushed:
        return -1
    _range_end(pushed.pop(), domain)
    return len(pushed)


def _mark(
    message: str, stream_id: int = 0, device_index: int = 0, device_type: int = 0, domain: str = "default"
) -> None:
    """The same for work of a stream: it is set when the program comes by, as only the host's time is recorded."""
    _mark_on_host(message, domain)


def _range_start(
    message: str, stream_id: int = 0, device_index: int = 0, device_type: int = 0, domain: str = "default"
) -> int:
    """The same for work of a stream."""
    return _range_start_on_host(message, domain)


def _range_push(
    message: str, stream_id: int = 0, device_index: int = 0, device_type: int = 0, domain: str = "default"
) -> int:
    """The same for work of a stream."""
    return _range_push_on_host(message, domain)
