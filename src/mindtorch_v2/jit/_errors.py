"""Errors of programs of TorchScript."""

from __future__ import annotations

__all__ = ["Error"]


class Error(RuntimeError):
    """An error raised by a scripted program.

    >>> issubclass(torch.jit.Error, RuntimeError)
    True
    """


Error.__module__ = "mindtorch_v2.jit"
