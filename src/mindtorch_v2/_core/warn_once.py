"""Warnings that are given once in a process, or each time where `torch.set_warn_always(True)` asks for that."""

from __future__ import annotations

__all__ = ["is_warn_always_enabled", "is_due", "set_warn_always"]

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
