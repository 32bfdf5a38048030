"""`torch.npu.backends`: plans of Fourier transforms, of which none are kept here."""

from __future__ import annotations

__all__ = ["fft_plan_cache"]


class _Plans:
    """The plans that are kept, of which there are none: transforms are products with matrices, made anew."""

    def __init__(self) -> None:
        self._max_size = 0

    @property
    def size(self) -> int:
        """How many are kept: 0."""
        return 0

    @property
    def max_size(self) -> int:
        """How many may be kept; the number is held, and nothing follows from it."""
        return self._max_size

    @max_size.setter
    def max_size(self, number: int) -> None:
        if not isinstance(number, int) or number < 0:
            raise RuntimeError(f"fft_plan_cache.max_size must be a whole number from 0 on, but it is {number!r}")
        self._max_size = number

    def clear(self) -> None:
        """Do nothing, as there is none."""


fft_plan_cache = _Plans()
