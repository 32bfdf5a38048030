"""Questions of tests about the device, and the tensors that they are given."""

from __future__ import annotations

import functools
import os
import re
import unittest
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import mindtorch_v2 as torch
from mindtorch_v2.testing._utils import freeze_rng_state

from ..formats import npu_format_cast

if TYPE_CHECKING:
    from mindtorch_v2.types import Device


__all__ = [
    "SkipIfNotGteCANNVersion",
    "SupportedDevices",
    "check_operators_in_prof",
    "create_common_tensor",
    "create_dtype_tensor",
    "freeze_rng_state",
    "get_npu_device",
    "set_npu_device",
]


def get_npu_device() -> str:
    """The device that tests run on: npu:0, or what the environment variable SET_NPU_DEVICE names."""
    return f"npu:{os.environ.get('SET_NPU_DEVICE', '0').removeprefix('npu:')}"


def set_npu_device() -> str:
    """Make `get_npu_device()` the current device, and return its name."""
    torch.npu.set_device(get_npu_device())
    return get_npu_device()


class SupportedDevices:
    """Decorator that skips a test, or every test of a class, on chips that a list of families does not name."""

    def __init__(self, supported_list: Sequence[str]) -> None:
        self.supported_list = supported_list

    def _is_here(self) -> bool:
        name = torch.npu.get_device_name(0)
        return any(name.startswith(family) for family in self.supported_list)

    def __call__(self, function: Callable[..., Any]) -> Any:
        if isinstance(function, type):
            for name, each in list(vars(function).items()):
                if name.startswith("test") and callable(each):
                    setattr(function, name, self(each))
            return function

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            if not self._is_here():
                raise unittest.SkipTest(f"only for {', '.join(self.supported_list)}")
            return function(*args, **kwargs)

        return checked


class SkipIfNotGteCANNVersion:
    """Decorator that skips a test on a CANN before a version, "8.3.RC1" say.

    The version compared is CANN's, from the environment of the toolkit; the emulator has none, and skips nothing.
    """

    def __init__(self, base_version: str, module: str = "CANN") -> None:
        self.base_version, self.module = base_version, module

    @staticmethod
    def _parts(version) -> list:
        return [int(each) for each in re.findall(r"\d+", version)]

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            here = os.environ.get("ASCEND_TOOLKIT_VERSION", "")
            if here and self._parts(here) < self._parts(self.base_version):
                raise unittest.SkipTest(f"only for {self.module} from {self.base_version} on, not {here}")
            return function(*args, **kwargs)

        return checked


def create_common_tensor(item: Any, minValue: float, maxValue: float, device: Device | None = None) -> tuple:
    """A random tensor on the CPU and the same on the device; `item` is (dtype of NumPy, format number, sizes)."""
    dtype, _, shape = item
    values = np.random.uniform(minValue, maxValue, shape).astype(dtype)
    here = torch.from_numpy(values)
    return here, here.to(device or get_npu_device())


def create_dtype_tensor(
    shape: Sequence[int],
    dtype: torch.dtype,
    npu_format: int = -1,
    min_value: float = -5,
    max_value: float = 5,
    no_zero: bool = False,
    device: Device | None = None,
) -> tuple:
    """A random tensor on the CPU and the same on the device, with a storage format if one is given.

    Floating dtypes are uniform, booleans fair, all others int32. `no_zero` makes ones of zeros.
    """
    if dtype == torch.bool:
        values = np.random.randint(0, 2, size=shape).astype(bool)
    elif dtype in (torch.float16, torch.float32):
        kind = np.float16 if dtype == torch.float16 else np.float32
        values = np.random.uniform(min_value, max_value, shape).astype(kind)
    else:
        values = np.random.randint(int(min_value), int(max_value) + 1, size=shape).astype(np.int32)
    if no_zero:
        values = np.where(values != 0, values, np.ones_like(values))
    here = torch.from_numpy(values)
    there = here.to(device or get_npu_device())
    if npu_format != -1 and here.is_floating_point():
        there = npu_format_cast(there, npu_format)
    return here, there


def check_operators_in_prof(
    expected_operators: Sequence[str], prof: Any, unexpected_operators: Sequence[str] = ()
) -> bool:
    """Whether a profile has all of some operators and none of others."""
    found = {event.key for event in prof.key_averages()}
    return set(expected_operators) <= found and found.isdisjoint(unexpected_operators or ())
