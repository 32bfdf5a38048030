"""The Ascend NPU: memory, streams and operators of the device `npu`, by ctypes and ACLNN. docs/npu.md is its guide."""

from __future__ import annotations

import importlib
import pkgutil

from ... import _C
from . import environment, fallback, state

_loaded = False


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


def register_kernels() -> None:
    """Register the kernels of the rows. Nothing is called yet: this needs neither CANN nor a device."""
    ops = importlib.import_module(f"{__name__}.ops")
    for module in sorted(m.name for m in pkgutil.iter_modules(ops.__path__)):
        importlib.import_module(f"{ops.__name__}.{module}")


def is_loaded() -> bool:
    """Whether the device was asked for in this process."""
    return _loaded
