"""Small questions about the device and its numbers."""

from __future__ import annotations

import contextlib
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu import runtime as _runtime
from mindtorch_v2._backends.npu import stream as _stream

__all__ = ["StreamContext", "get_cann_version", "get_soc_version", "is_support_inf_nan", "npu_check_overflow"]

# The numbers that torch_npu gives the names of chips (its csrc/core/npu/NpuVariables.h, August 2026).
_CHIPS = {
    "Ascend910PremiumA": 100, "Ascend910ProA": 101, "Ascend910A": 102, "Ascend910ProB": 103, "Ascend910B": 104,
    "Ascend310P1": 200, "Ascend310P2": 201, "Ascend310P3": 202, "Ascend310P4": 203, "Ascend310P5": 204,
    "Ascend310P7": 205, "Ascend910B1": 220, "Ascend910B2": 221, "Ascend910B2C": 222, "Ascend910B3": 223,
    "Ascend910B4": 224, "Ascend910B4-1": 225, "Ascend310B1": 240, "Ascend310B2": 241, "Ascend310B3": 242,
    "Ascend310B4": 243, "Ascend910_9391": 250, "Ascend910_9392": 251, "Ascend910_9381": 252, "Ascend910_9382": 253,
    "Ascend910_9372": 254, "Ascend910_9362": 255, "Ascend910_9363": 256, "Ascend950": 260,
}  # fmt: skip


def get_soc_version() -> int:
    """The number of the chip, 220 for Ascend910B1; RuntimeError for a chip that is not known."""
    name = _runtime.get().soc_name().removesuffix("-emulated")
    if name not in _CHIPS:
        raise RuntimeError(f"get_soc_version(): the chip {name!r} has no number; known are {', '.join(_CHIPS)}")
    return _CHIPS[name]


class StreamContext(contextlib.AbstractContextManager):
    """A stream for the length of a `with` block, and the device before it afterwards; None changes nothing."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self._before: list[tuple[int, Any]] = []

    def __enter__(self) -> None:
        if self.stream is not None:
            index = _runtime.get().thread.device
            self._before.append((index, _stream.current_stream(self.stream.device_index)))
            _stream.set_stream(self.stream)

    def __exit__(self, *exception: object) -> None:
        if self.stream is not None:
            index, before = self._before.pop()
            _stream.set_stream(before)
            _runtime.get().set_device(index)


def get_cann_version(module: str = "CANN") -> str:
    """The version of the runtime that CANN brings, "1.15.0" say; RuntimeError without CANN."""
    return ".".join(map(str, _runtime.get().version()))


def is_support_inf_nan() -> bool:
    """Whether the device keeps infinities and NaN, as those from Ascend910B1 on do."""
    return get_soc_version() >= _CHIPS["Ascend910B1"]


def npu_check_overflow(grad: Any) -> bool:
    """Whether a tensor, or a number, is infinite or NaN."""
    value = grad.float().sum() if isinstance(grad, torch.Tensor) else torch.tensor(float(grad))
    return not bool(torch.isfinite(value))
