"""How often numbers occur."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from ..copies import copy
from ..indexing import Pick, Work, combine
from ..table import CONTIGUOUS, Source, blocks, element, kernel, pack

if TYPE_CHECKING:
    from ...._tensor import Tensor

_HISTOGRAM = Source("histogram.cuh", "histogram")


def _counted(self: Tensor, bins: int, low: float, high: float) -> Tensor:
    """How many elements each of equal bins has; integers add up in any order."""
    counts = aten.zeros([bins], dtype=DTYPES["int64"], device=self.device)
    flat = self.contiguous()
    if flat.numel():
        arguments = pack(flat.numel(), bins, flat, counts, float(low), float(high))
        words = (("IN", element(self.dtype)),)
        _HISTOGRAM.launch(self.device.index, words, (blocks(flat.numel(), 256),), (256,), arguments)
    return counts


@kernel("histc", flags=CONTIGUOUS)
def histc(self: Tensor, bins: int, low: Any, high: Any, out: Tensor) -> None:
    low, high = float(low), float(high)
    if low == high and self.numel():
        low, high = float(self.min().item()), float(self.max().item())
    if low == high:
        low, high = low - 1, high + 1
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    copy(out, _counted(self, bins, low, high))


@kernel("bincount")
def bincount(self: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if self.dim() != 1 or (self.numel() and int(self.min().item()) < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and (weights.dim() != 1 or weights.numel() != self.numel()):
        raise RuntimeError("weights should be 1-d and have the same length as input")
    length = max(minlength, int(self.max().item()) + 1 if self.numel() else 0)
    if weights is None:
        if not length:
            return aten.zeros([0], dtype=DTYPES["int64"], device=self.device)
        return _counted(self, length, 0.0, float(length))
    sums = aten.zeros([length], dtype=DTYPES["float64"], device=self.device)
    index, given = self.to(DTYPES["int64"]), weights.to(DTYPES["float64"])
    pick = Pick(index, list(index.stride()), length, 1)
    if self.numel():
        combine("Sum", sums, given, Work(list(self.shape), [0], list(given.stride()), [pick]))
    return sums.to(DTYPES["float32"]) if weights.dtype == DTYPES["float32"] else sums
