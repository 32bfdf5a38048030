"""Functions of `torch.cuda` that are the back end's where there is a driver, and say that there is no device elsewhere."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any


@functools.cache
def implementation() -> Any:
    """The functions for devices, `_backends/cuda/api.py`; None on a host without a driver, where nothing more is loaded."""
    libraries = importlib.import_module("mindtorch_v2._backends.cuda.libraries")
    return importlib.import_module("mindtorch_v2._backends.cuda.api") if libraries.has_driver() else None


def handing_on(absent: Callable[..., Any]) -> Callable[..., Any]:
    """A function that calls the back end's function of the same name; without one, or without a driver, `absent`."""

    @functools.wraps(absent)
    def function(*args: Any, **kwargs: Any) -> Any:
        return getattr(implementation(), absent.__name__, absent)(*args, **kwargs)

    return function
