"""The explicit way out for operators that have no kernel on the NPU: to the CPU and back. Off unless it is asked for.

`torch.npu.set_cpu_fallback(True)`, or MINDTORCH_NPU_CPU_FALLBACK=1 in the environment before the device is first asked for. A
program that imports torch_npu counts on it, and has it unless one of MINDTORCH_NPU_CPU_FALLBACK=0 and torch_npu's own
TORCH_NPU_FALLBACK_CPU_DISABLE=1 says no. Each operator that takes this way is named once by a warning: it copies its tensors over
the bus and waits for the device.
"""

from __future__ import annotations

import os
import sys

from ..common.fallback import Fallback

VARIABLE = "MINDTORCH_NPU_CPU_FALLBACK"
_REFUSED = "TORCH_NPU_FALLBACK_CPU_DISABLE"
_fallback = Fallback("npu", "NPU", f"{VARIABLE} or torch.npu.set_cpu_fallback asks for it")


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
    """Turn it on where the environment says so, or torch_npu is imported. ValueError for a value that is neither 0 nor 1."""
    value = os.environ.get(VARIABLE, "")
    if value not in ("", "0", "1"):
        raise ValueError(
            f"{VARIABLE} is {value!r}; it is 1 to run operators without a kernel for the NPU on the CPU, or 0"
        )
    if value == "1":
        set_cpu_fallback(True)
    elif value == "" and "torch_npu" in sys.modules and os.environ.get(_REFUSED) != "1":
        _fallback.asked = f"programs for torch_npu count on that ({_REFUSED}=1 refuses it)"
        set_cpu_fallback(True)
