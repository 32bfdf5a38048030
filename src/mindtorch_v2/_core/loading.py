"""Loading shared libraries whose static initialisers register operators."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator

from .stable_libraries import prepare_for

__all__ = ["is_loading", "load_failed", "load_shared_library", "prepare_for", "reporting_failures"]

_waiting: list[list[BaseException]] = []


@contextlib.contextmanager
def reporting_failures() -> Iterator[None]:
    """Raise what a library's static initialisers reported while it was loaded: they cannot throw."""
    failures: list[BaseException] = []
    _waiting.append(failures)
    try:
        yield
    finally:
        _waiting.remove(failures)
        if failures:
            raise failures[0]


def load_failed(exception: BaseException) -> bool:
    """Hand over what an initialiser reports; False if nobody is there to raise it."""
    if _waiting:
        _waiting[-1].append(exception)
    return bool(_waiting)


def is_loading() -> bool:
    """Whether somebody is there to raise what an initialiser reports."""
    return bool(_waiting)


def load_shared_library(path: str) -> ctypes.CDLL:
    """dlopen, with the errors of registrations raised; OSError if the file cannot be loaded."""
    prepare_for(path)
    with reporting_failures():
        return ctypes.CDLL(path)
