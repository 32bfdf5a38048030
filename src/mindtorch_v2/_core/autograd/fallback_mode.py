"""The fate of a gradient that goes through an operator of a library which has none: see `_library/without_gradient.py`."""

from __future__ import annotations

__all__ = ["get_mode", "set_mode"]

_MODES = ("nothing", "warn", "error")
_mode = "warn"


def get_mode() -> str:
    """The mode: "nothing", "warn" or "error"."""
    return _mode


def set_mode(mode: str) -> None:
    """Set the mode, for all threads. RuntimeError for a word that is none."""
    global _mode
    if mode not in _MODES:
        raise RuntimeError(f"Unsupported AutogradFallbackMode {mode!r}; expected one of {', '.join(_MODES)}")
    _mode = mode
