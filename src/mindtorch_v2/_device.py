"""Default devices: `torch.set_default_device`, `torch.get_default_device`, `@torch.device(...)` on a function."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from . import _C


def set_default_device(device: Any) -> None:
    """Where tensors are made when nothing says otherwise (this thread)."""
    _C._set_default_device(device)


def get_default_device() -> Any:
    """The device on which ``torch.empty(...)`` without ``device=`` makes tensors."""
    return _C._get_default_device()


def decorate(device: Any, function: Callable) -> Callable:
    """``function`` run with ``device`` as the default device."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with device:
            return function(*args, **kwargs)

    return run
