"""Memory of the host that the device works on, at an address of its own (`aclrtHostRegister`): room beyond the device's."""

from __future__ import annotations

import ctypes
import mmap
import weakref
from collections.abc import Sequence
from typing import Any

from ... import _C
from ..._core.deterministic import fills_new_memory
from ..._core.dtype import DTYPES
from ..._operators.table import aten
from . import state
from .runtime import Runtime

_MAPPED = 0  # aclrtHostRegisterType


class _Memory:
    """Pages of the host with their device address, until no tensor uses them."""

    live: set[_Memory] = set()

    def __init__(self, runtime: Runtime, nbytes: int, index: int) -> None:
        self.runtime, self.index = runtime, index
        self.pages = mmap.mmap(-1, nbytes)
        self.buffer: Any = (ctypes.c_ubyte * nbytes).from_buffer(self.pages)
        address = ctypes.c_void_p()
        runtime.activate(index)
        code = runtime.aclrtHostRegister(ctypes.addressof(self.buffer), nbytes, _MAPPED, ctypes.byref(address))
        runtime.check("aclrtHostRegister", code)
        self.address = address.value or 0
        if not _Memory.live:
            runtime.finalizers.append(_release_all)
        _Memory.live.add(self)

    def release(self) -> None:
        """Give the pages back, when the device has done what it was given."""
        if self not in _Memory.live or self.runtime.closed:
            return
        _Memory.live.discard(self)
        self.runtime.synchronize(self.index)
        code = self.runtime.aclrtHostUnregister(ctypes.addressof(self.buffer))
        self.runtime.check("aclrtHostUnregister", code)
        self.buffer = None
        self.pages.close()


def _release_all() -> None:
    for memory in list(_Memory.live):
        memory.release()


def empty(size: Sequence[int], dtype: Any, index: int) -> Any:
    """A contiguous tensor of a device in memory of the host; uninitialised unless such tensors are to be filled."""
    count = 1
    for length in size:
        count *= length
    itemsize = dtype.itemsize
    if not count:
        return aten.empty(list(size), dtype=dtype, device=f"npu:{index}")
    memory = _Memory(state.get().runtime, count * itemsize, index)
    view = (ctypes.c_ubyte * (count * itemsize)).from_address(memory.address)
    weakref.finalize(view, memory.release).atexit = False
    flat = _C.frombuffer(view, dtype=DTYPES["uint8"]).view(dtype)
    made = _C._alias_on_device(flat.reshape(tuple(size)), _C.device("npu", index))
    if fills_new_memory():
        made.copy_(aten.empty(list(size), dtype=dtype, device=made.device))  # which is filled
    return made
