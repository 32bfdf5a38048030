"""Errors of programs of TorchScript, and the warning that all of it is deprecated."""

from __future__ import annotations

import warnings

__all__ = ["Error"]


class Error(RuntimeError):
    """An error raised by a scripted program.

    >>> issubclass(torch.jit.Error, RuntimeError)
    True
    """


def warn_of_deprecation(name: str) -> None:
    """Say that `torch.jit.<name>` is deprecated, as a line of this package: Python shows that only where it is asked to."""
    text = f"`torch.jit.{name}` is deprecated. Please switch to `torch.compile` or `torch.export`."
    warnings.warn(text, DeprecationWarning, stacklevel=1)


Error.__module__ = "mindtorch_v2.jit"
