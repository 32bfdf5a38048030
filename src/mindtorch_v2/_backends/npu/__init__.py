"""The Ascend NPU: memory, streams and operators of the device `npu`, by ctypes and ACLNN. docs/npu.md is its guide."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable

from ... import _C
from . import environment, fallback, state

_loaded = False
_waiting: list[Callable[[], None]] = []


def load() -> None:
    """Start the runtime and register memory and kernels. RuntimeError if CANN is not found or there is no device."""
    global _loaded
    if _loaded:
        return
    made = state.get()
    _C._register_device("npu", made.allocate, made.release, made.transfer, made.copy, made.fill)
    _loaded = True
    register_kernels()
    importlib.import_module(f"{__name__}.plugins")
    fallback.read_environment()
    environment.tell(made.runtime.libraries.emulated)
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
    """Register the kernels of the rows. Nothing is called yet: this needs neither CANN nor a device."""
    ops = importlib.import_module(f"{__name__}.ops")
    for module in sorted(m.name for m in pkgutil.iter_modules(ops.__path__)):
        importlib.import_module(f"{ops.__name__}.{module}")


def is_loaded() -> bool:
    """Whether the device was asked for in this process."""
    return _loaded
