"""NVIDIA GPUs: memory, streams and operators of the device `cuda`, by CUDA's driver and kernels that are compiled at first use.

Nothing of CUDA is needed to install or import this package; docs/cuda.md is the guide.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable

from ... import _C
from . import libraries as libraries

_loaded = False
_waiting: list[Callable[[], None]] = []


def load() -> None:
    """Start the runtime and register memory and kernels. AssertionError without a driver, RuntimeError without a device."""
    global _loaded
    if _loaded:
        return
    from . import state

    made = state.get()
    _C._register_device("cuda", made.allocate, made.release, made.transfer, made.copy, made.fill)
    made.make_generators()
    _loaded = True
    register_kernels()
    while _waiting:
        _waiting.pop(0)()


def when_loaded(callback: Callable[[], None], *, alone: bool = False) -> None:
    """Call a function once the device is asked for: now, if it was. `alone`: in the place of all that waits."""
    if _loaded:
        callback()
        return
    if alone:
        _waiting.clear()
    _waiting.append(callback)


def register_kernels() -> None:
    """Register the kernels of the rows. Nothing is compiled yet: this needs neither a driver nor a device."""
    ops = importlib.import_module(f"{__name__}.ops")
    for module in sorted(m.name for m in pkgutil.iter_modules(ops.__path__)):
        importlib.import_module(f"{ops.__name__}.{module}")


def is_loaded() -> bool:
    """Whether the device was asked for in this process."""
    return _loaded
