"""State that the back end holds for the process: runtime, memory of each device, the operator caller, random generators."""

from __future__ import annotations

from typing import Any

from ... import _C
from ..._core.deterministic import are_deterministic_algorithms_enabled, listeners
from ..._core.dtype import DTYPES
from ..._operators.table import aten
from ..common import state as _common
from ..common.allocator_settings import Settings
from ..common.once import once
from . import runtime as _runtime
from .aclnn import Borrowed, Caller, operator
from .complex_numbers import is_set
from .runtime import D2D, D2H, H2D
from .settings import waits

_DETERMINISTIC = 0  # aclSysParamOpt
_CAPTURED = 107027
settings = Settings("PYTORCH_NPU_ALLOC_CONF")
"""The options of the allocators of all devices."""


def _host_number(tensor: Any, arguments: tuple) -> Any:
    """A 0-dim tensor of the host as one on the device; RuntimeError for any other."""
    devices = [a.device for a in arguments if isinstance(a, _C.TensorBase) and a.device.type == "npu"]
    if tensor.dim() != 0 or not devices:
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, npu and cpu!"
        )
    dtype = tensor.dtype
    if dtype.is_floating_point:
        for other in arguments:
            if isinstance(other, _C.TensorBase) and other.device.type == "npu" and other.dtype.is_floating_point:
                dtype = other.dtype
                break
    return tensor.detach().to(devices[0], dtype)


class State(_common.State):
    """Made when the device is first asked for."""

    def __init__(self) -> None:
        super().__init__(_runtime.get(), settings)
        self.caller = Caller(self.runtime, self.memory, _host_number)
        self.formats = self.caller.descriptors.formats
        self.make_generators("npu")
        if are_deterministic_algorithms_enabled():
            self._set_deterministic(True)
        listeners.append(self._set_deterministic)

    def _set_deterministic(self, on: bool) -> None:
        """Whether operators have to give the same numbers each time; their first phase reads it."""
        code = self.runtime.aclrtSetSysParamOpt(_DETERMINISTIC, int(on))
        self.runtime.check("aclrtSetSysParamOpt", code)

    # ---- what the core asks for ----

    def release(self, address: int, index: int) -> None:
        if not self.runtime.closed and (self.formats.in_blocks or self.formats.named):
            self.formats.forget(index, address)
        super().release(address, index)

    def transfer(self, to: int, source: int, nbytes: int, kind: int, index: int, non_blocking: bool, host: Any) -> None:
        if kind == D2H and self.runtime.thread.draws is not None and not (non_blocking and self.pinned.holds(host)):
            # Refused before CANN is asked for the copy, which would spoil the recording: it goes on.
            self.runtime.fail(
                "aclrtSynchronizeStream",
                _CAPTURED,
                "elements of a tensor cannot be read while a graph is recorded; read them before, or after a replay",
            )
        if self.formats.in_blocks:
            self._transfer_in_rows(to, source, nbytes, kind, index, non_blocking, host)
        else:
            super().transfer(to, source, nbytes, kind, index, non_blocking, host)

    def _transfer_in_rows(
        self, to: int, source: int, nbytes: int, kind: int, index: int, non_blocking: bool, host: Any
    ) -> None:
        """A transfer that may be from and to storages in blocks, whose elements are put into rows for it."""
        borrowed = Borrowed(self.caller, None)

        def rows(address: int, write: bool) -> int:
            found = self.formats.around(index, address)
            if write and found is not None and address + nbytes > found[0] + found[1].in_rows:
                self.caller.put_in_rows((index, found[0]))
                return address
            return address if found is None else borrowed.at((index, found[0]), write) + address - found[0]

        try:
            source = source if kind == H2D else rows(source, False)
            to = to if kind == D2H else rows(to, True)
            super().transfer(to, source, nbytes, kind, index, non_blocking, host)
            borrowed.settle()
        finally:
            borrowed.release()

    def before_waiting(self, kind: int) -> None:
        if kind == D2H:
            waits.tell()

    def copy(self, to: Any, source: Any) -> None:
        if to.dtype is DTYPES["bool"] and source.is_complex():
            source = is_set(source)
        operator("aclnnInplaceCopy")(to, source)

    def fill(self, to: Any, number: Any) -> None:
        if number == 0 and str(number) != "-0.0":
            operator("aclnnInplaceZero")(to)
        elif to.is_complex():
            pairs = aten.view_as_real(to)
            for place, part in enumerate((complex(number).real, complex(number).imag)):
                operator("aclnnInplaceFillScalar")(pairs.select(-1, place), part)
        else:
            operator("aclnnInplaceFillScalar")(to, number)


get, started = once(State)

__all__ = ["D2D", "D2H", "H2D", "State", "get", "started"]
