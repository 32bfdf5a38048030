"""`torch._refs.fft`: the functions of `torch.fft`, see `torch._refs`."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

__all__ = (
    "fft fft2 fftn hfft hfft2 hfftn rfft rfft2 rfftn ifft ifft2 ifftn ihfft ihfft2 ihfftn irfft irfft2 irfftn "
    "fftshift ifftshift "
).split()


def __getattr__(name: str) -> Any:
    return getattr(torch.fft, name)
