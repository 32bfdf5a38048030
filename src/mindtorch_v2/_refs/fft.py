"""`torch._refs.fft`: the functions of `torch.fft`, see `torch._refs`."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._operators.load import FFT

__all__ = sorted(FFT)


def __getattr__(name: str) -> Any:
    return getattr(torch.fft, name)
