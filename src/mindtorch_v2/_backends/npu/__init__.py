"""The Ascend NPU: memory, streams and operators of the device `npu`, by ctypes and ACLNN. docs/npu.md is its guide."""

from __future__ import annotations

import importlib

from ... import _C
from ..common.loading import Loading
from . import environment, fallback, state


def _start() -> None:
    made = state.get()
    _C._register_device("npu", made.allocate, made.release, made.transfer, made.copy, made.fill)


def _finish() -> None:
    importlib.import_module(f"{__name__}.plugins")
    fallback.read_environment()
    environment.tell(state.get().runtime.libraries.emulated)


_loading = Loading(__name__, _start, _finish)
load, when_loaded = _loading.load, _loading.when_loaded
register_kernels, is_loaded = _loading.register_kernels, _loading.is_loaded
