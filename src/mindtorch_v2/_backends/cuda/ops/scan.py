"""Running sums, products and extrema."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from ..table import CONTIGUOUS, Source, blocks, element, kernel, pack

if TYPE_CHECKING:
    from ...._tensor import Tensor

_PARTS, _ROWS, _COLUMNS = (Source("scan.cuh", entry) for entry in ("scan_parts", "scan_rows", "scan_columns"))
_LARGEST = 16  # bytes of what a running result is
_EACH = 8  # elements of a thread at a time
_BLOCKS = 256  # that keep a device busy


def _scan(op: str, self: Tensor, dim: int, out: Tensor, second: Tensor | None = None, fact: str = "") -> None:
    """Write running results along a dimension. Outputs are contiguous."""
    if not self.numel():
        return
    self = self.contiguous()
    dim = dim % self.dim() if self.dim() else 0
    n = self.shape[dim] if self.dim() else 1
    outer, inner = math.prod(self.shape[:dim]), math.prod(self.shape[dim + 1 :])
    lanes = min(256, max(32, 1 << ((n - 1) // _EACH).bit_length()))
    words = (
        ("IN", element(self.dtype)), ("OUT", element(out.dtype)), ("OP", op), ("SECOND", str(int(second is not None))),
        ("LANES", str(lanes)), *(((fact, "1"),) if fact else ()),
    )  # fmt: skip
    device = self.device.index
    if inner > 1:
        arguments = pack(outer, n, inner, 1, self, out, second, None)
        _COLUMNS.launch(device, words, (blocks(outer * inner, 128),), (128,), arguments)
        return
    parts = max(1, min(_BLOCKS // outer, n // (lanes * _EACH * 4)))
    totals = aten.empty([outer * parts * _LARGEST], dtype=DTYPES["uint8"], device=self.device) if parts > 1 else None
    arguments = pack(outer, n, inner, parts, self, out, second, totals)
    for source in (_PARTS, _ROWS) if parts > 1 else (_ROWS,):
        source.launch(device, words, (outer, parts), (lanes,), arguments, shared=lanes * _LARGEST)


def _numbers(name: str, op: str) -> None:
    @kernel(name, flags=CONTIGUOUS)
    def compute(self: Tensor, dim: int, dtype: Any, out: Tensor) -> None:
        _scan(op, self if self.dtype == out.dtype else self.to(out.dtype), dim, out)


_numbers("cumsum", "Sum")
_numbers("cumprod", "Prod")


@kernel("logcumsumexp", flags=CONTIGUOUS)
def logcumsumexp(self: Tensor, dim: int, out: Tensor) -> None:
    _scan("LogSum", self, dim, out, fact="REAL")


def _extrema(name: str, op: str) -> None:
    @kernel(name, flags=CONTIGUOUS)
    def compute(self: Tensor, dim: int, values: Tensor, indices: Tensor) -> None:
        _scan(op, self, dim, values, indices, fact="ORDERED")


_extrema("cummax", "Max")
_extrema("cummin", "Min")
