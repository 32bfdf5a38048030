"""NNPACK, which is absent."""

from __future__ import annotations

from mindtorch_v2.backends._settings import contextual

__all__ = ["flags", "is_available", "set_flags"]

_enabled = False


def is_available() -> bool:
    """Whether NNPACK computes: False."""
    return False


def set_flags(_enabled: bool | None) -> tuple:
    """Let NNPACK compute, or not; returns the earlier setting as a 1-tuple."""
    values = globals()
    before = (values["_enabled"],)
    values["_enabled"] = bool(_enabled)
    return before


def _set_flags_defaults(enabled=False):
    return set_flags(enabled)


flags = contextual(_set_flags_defaults)
