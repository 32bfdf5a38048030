"""`torch.fft`: discrete Fourier transforms, under the names that the operators' rows bind here.

A name of PyTorch's that no row binds raises AttributeError, which says so.
"""

from __future__ import annotations

from mindtorch_v2._operators.table import bound

_PYTORCH_NAMES = """
    fft fft2 fftfreq fftn fftshift hfft hfft2 hfftn ifft ifft2 ifftn ifftshift ihfft ihfft2 ihfftn irfft irfft2
    irfftn rfft rfft2 rfftfreq rfftn
""".split()

_functions = bound("fft")
globals().update(_functions)

__all__ = [*sorted(name for name in _functions if not name.startswith("_"))]


def __getattr__(name: str) -> None:
    if name in _PYTORCH_NAMES:
        raise AttributeError(f"torch.fft.{name} is not implemented in mindtorch_v2")
    raise AttributeError(f"module 'mindtorch_v2.fft' has no attribute {name!r}")
