"""Warnings that are given once in a process, or each time where `torch.set_warn_always(True)` asks for that."""

from __future__ import annotations

import sys
import warnings

__all__ = ["is_due", "is_warn_always_enabled", "set_warn_always", "warn_of_caller", "warn_once"]

_PACKAGE = __name__.partition(".")[0]

_given: set[str] = set()
_settings = {"always": False}


def is_warn_always_enabled() -> bool:
    """The value that ``set_warn_always`` was last given.

    >>> torch.set_warn_always(True)
    >>> torch.is_warn_always_enabled()
    True
    >>> torch.set_warn_always(False)
    """
    return _settings["always"]


def set_warn_always(b: bool, /) -> None:
    """Whether warnings that come once in a process come every time.

    >>> torch.set_warn_always(True)
    >>> torch.is_warn_always_enabled()
    True
    >>> torch.set_warn_always(False)
    """
    if not isinstance(b, bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    _settings["always"] = b


def is_due(what: str) -> bool:
    """Whether the warning about ``what`` is to be given now; if so, it counts as given."""
    due = _settings["always"] or what not in _given
    _given.add(what)
    return due


def warn_once(text: str, category: type[Warning] = UserWarning) -> None:
    """Give a warning once in a process, at the line of the program that came to it."""
    if is_due(text):
        warn_of_caller(text, category)


def warn_of_caller(text: str, category: type[Warning] = UserWarning) -> None:
    """Give a warning at the line outside of this package that came to it."""
    depth, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        depth, frame = depth + 1, frame.f_back
    warnings.warn(text, category, stacklevel=depth)
