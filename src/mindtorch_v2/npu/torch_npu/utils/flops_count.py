"""Counts of floating point operations."""

from __future__ import annotations

from mindtorch_v2.utils.flop_counter import FlopCounterMode

__all__ = ["FlopsCounter"]


class FlopsCounter:
    """Count the operations of matrix products, convolutions and attention between `start` and `stop`."""

    def __init__(self) -> None:
        self._before = 0
        self._mode: FlopCounterMode | None = None

    def start(self) -> None:
        """Begin to count."""
        self._before = 0
        self.resume()

    def resume(self) -> None:
        """Go on after `pause`."""
        if self._mode is None:
            self._mode = FlopCounterMode(display=False)
            self._mode.__enter__()

    def pause(self) -> None:
        """Count no more until `resume`."""
        if self._mode is not None:
            self._mode.__exit__(None, None, None)
            self._before += self._mode.get_total_flops()
            self._mode = None

    def stop(self) -> None:
        """End the counting, and forget the count."""
        self.pause()
        self._before = 0

    def get_flops(self) -> list[int]:
        """The operations counted, and once more: of those seen none is left out."""
        now = self._before + (self._mode.get_total_flops() if self._mode is not None else 0)
        return [now, now]
