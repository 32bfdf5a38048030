"""State that the back end holds for the process: runtime, memory of each device, the operator caller, random generators."""

from __future__ import annotations

import threading
from typing import Any

from ... import _C
from ..._core.deterministic import are_deterministic_algorithms_enabled, listeners
from ..._operators.table import aten
from ..common.allocator import allocators
from ..common.allocator_settings import Settings
from ..common.in_flight import InFlight
from ..common.pinned import PinnedMemory
from . import runtime as _runtime
from .aclnn import Borrowed, Caller, operator
from .runtime import D2D, D2H, H2D
from .settings import waits

_DETERMINISTIC = 0  # aclSysParamOpt
settings = Settings("PYTORCH_NPU_ALLOC_CONF")
"""The options of the allocators of all devices."""


class State:
    """Made when the device is first asked for."""

    def __init__(self) -> None:
        self.runtime = _runtime.get()
        self.memory = allocators(self.runtime, settings)
        self.caller = Caller(self.runtime, self.memory)
        self.formats = self.caller.descriptors.formats
        # As after torch.manual_seed, which may have been called before the device was asked for.
        self.generators = [_C.Generator(f"npu:{index}") for index in range(len(self.memory))]
        for generator in self.generators:
            generator.manual_seed(_C.default_generator.initial_seed())
        self.pinned = PinnedMemory(self.runtime)
        self.in_flight = InFlight(self.runtime)

        if are_deterministic_algorithms_enabled():
            self._set_deterministic(True)
        listeners.append(self._set_deterministic)

    def _set_deterministic(self, on: bool) -> None:
        """Whether operators have to give the same numbers each time; their first phase reads it."""
        code = self.runtime.aclrtSetSysParamOpt(_DETERMINISTIC, int(on))
        self.runtime.check("aclrtSetSysParamOpt", code)

    # ---- what the core asks for ----

    def allocate(self, nbytes: int, index: int) -> int:
        if index >= len(self.memory):
            raise RuntimeError(f"invalid NPU device {index}: there are {len(self.memory)}")
        return self.memory[index].allocate(nbytes)

    def release(self, address: int, index: int) -> None:
        if not self.runtime.closed:
            if self.formats.in_blocks or self.formats.named:
                self.formats.forget(index, address)
            self.memory[index].release(address)

    def transfer(self, to: int, source: int, nbytes: int, kind: int, index: int, non_blocking: bool, host: Any) -> None:
        if self.formats.in_blocks:
            self._transfer_in_rows(to, source, nbytes, kind, index, non_blocking, host)
        else:
            self._transfer(to, source, nbytes, kind, index, non_blocking, host)

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
            self._transfer(to, source, nbytes, kind, index, non_blocking, host)
            borrowed.settle()
        finally:
            borrowed.release()

    def _transfer(
        self, to: int, source: int, nbytes: int, kind: int, index: int, non_blocking: bool, host: Any
    ) -> None:
        runtime = self.runtime
        stream = runtime.stream_handle(index)
        runtime.copy(to, source, nbytes, kind, index, stream)
        if kind == D2D and not runtime.waits:
            return
        if non_blocking and kind != D2D and self.pinned.holds(host):
            draws = runtime.thread.draws
            if draws is None:
                self.in_flight.hold(host, index, stream)
            else:  # each replay copies anew
                draws.events.append(host)
        else:
            if waits.mode and kind == D2H:
                waits.tell()
            runtime.synchronize_stream(index, stream)

    def copy(self, to: Any, source: Any) -> None:
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

    # ---- numbers of the host among operands ----

    def host_number(self, tensor: Any, arguments: tuple) -> Any:
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


_state: State | None = None
_lock = threading.RLock()


def get() -> State:
    """The state of this process; RuntimeError if CANN is not found or there is no device."""
    global _state
    if _state is None:
        with _lock:
            if _state is None:
                made = State()
                made.caller.host_number = made.host_number
                _state = made
    return _state


def started() -> bool:
    """Whether the device was asked for in this process."""
    return _state is not None


__all__ = ["D2D", "D2H", "H2D", "State", "get", "started"]
