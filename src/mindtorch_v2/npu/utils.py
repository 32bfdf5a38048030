"""Small questions about the device and its numbers."""

from __future__ import annotations

import contextlib
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu import libraries as _libraries
from mindtorch_v2._backends.npu import runtime as _runtime
from mindtorch_v2._backends.npu import stream as _stream
from mindtorch_v2._backends.npu import versions as _versions

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


_PARTS = ("CANN", "RUNTIME", "COMPILER", "HCCL", "TOOLKIT", "OPP", "OPP_KERNEL")


def get_cann_version(module: str = "CANN") -> str:
    """The version of CANN that its files tell, "9.0.0" say; empty where they tell none, and for what is no part of it."""
    return (_versions.of_installed(_libraries.roots()) or "") if module in _PARTS else ""


def _is_gte_cann_version(version: str, module: str = "CANN") -> bool:
    """Whether CANN is of a version or newer. RuntimeError for one before 8.1.RC1, which do not tell theirs."""
    if _versions.order(version) < _versions.order("8.1.RC1"):
        raise RuntimeError(f'When the version {version} is less than "8.1.RC1", this function is not supported')
    found = get_cann_version(module)
    return bool(found) and _versions.order(found) >= _versions.order(version)


def is_support_inf_nan() -> bool:
    """Whether the device keeps infinities and NaN, as those from Ascend910B1 on do."""
    return get_soc_version() >= _CHIPS["Ascend910B1"]


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The index of an NPU, given as a number, a name or a `torch.device`; of the current one for None, where that is allowed.

    ValueError for None otherwise, and for another device; -1 for the CPU where that is allowed.
    """
    if device is None and not optional:
        raise ValueError("Expected a torch.device with a specified index or an integer, but got: None")
    found = torch.device(device) if isinstance(device, str) else device
    kind = getattr(found, "type", "npu")
    if kind == "cpu" and allow_cpu:
        return -1
    if kind != "npu":
        raise ValueError(f"Expected a npu device, but got: {device}")
    if getattr(found, "index", found) is None and not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got: {device}")
    return _stream.device_index(found)


def npu_check_overflow(grad: Any) -> bool:
    """Whether a tensor, or a number, is infinite or NaN."""
    value = grad.float().sum() if isinstance(grad, torch.Tensor) else torch.tensor(float(grad))
    return not bool(torch.isfinite(value))
