"""The explicit way out for operators that have no kernel on the NPU: to the CPU and back. Off unless it is asked for.

`torch.npu.set_cpu_fallback(True)`, or MINDTORCH_NPU_CPU_FALLBACK=1 in the environment before the device is first asked for. Each
operator that takes this way is named once by a warning: it copies its tensors over the bus and waits for the device.
"""

from __future__ import annotations

import os

from ..common.fallback import Fallback

VARIABLE = "MINDTORCH_NPU_CPU_FALLBACK"
_fallback = Fallback("npu", "NPU", f"{VARIABLE} or torch.npu.set_cpu_fallback")


def set_cpu_fallback(enabled: bool) -> None:
    """Let operators without a kernel for the NPU run on the CPU, or refuse them again, as at first.

    Their tensors are copied to the CPU, and results and written arguments back. TypeError for what is no bool.
    """
    if not isinstance(enabled, bool):
        raise TypeError(f"set_cpu_fallback: expected True or False, got {type(enabled).__name__}")
    _fallback.set(enabled)


def get_cpu_fallback() -> bool:
    """Whether operators without a kernel for the NPU run on the CPU."""
    return _fallback.get()


def read_environment() -> None:
    """Turn it on where the environment says so. ValueError for a value that is neither 0 nor 1."""
    value = os.environ.get(VARIABLE, "0")
    if value not in ("", "0", "1"):
        raise ValueError(
            f"{VARIABLE} is {value!r}; it is 1 to run operators without a kernel for the NPU on the CPU, or 0"
        )
    if value == "1":
        set_cpu_fallback(True)
