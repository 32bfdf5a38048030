"""NNPACK, which is absent."""

from __future__ import annotations

from mindtorch_v2.backends._settings import contextual

__all__ = ["flags", "is_available", "set_flags"]

_enabled = False


def is_available() -> bool:
    """Whether NNPACK computes: False.

    >>> torch.backends.nnpack.is_available()
    False
    """
    return False


def set_flags(_enabled: bool | None) -> tuple:
    """Let NNPACK compute, or not; returns the earlier setting as a 1-tuple.

    >>> before = torch.backends.nnpack.set_flags(False)
    >>> torch.backends.nnpack.set_flags(*before)
    (False,)
    """
    values = globals()
    before = (values["_enabled"],)
    values["_enabled"] = bool(_enabled)
    return before


def _set_flags_defaults(enabled=False):
    """Let NNPACK compute, or not, inside of a with statement.

    >>> with torch.backends.nnpack.flags(enabled=False):
    ...     torch.nn.functional.conv1d(torch.ones(1, 1, 3), torch.ones(1, 1, 2))
    tensor([[[2., 2.]]])
    """
    return set_flags(enabled)


flags = contextual(_set_flags_defaults)
