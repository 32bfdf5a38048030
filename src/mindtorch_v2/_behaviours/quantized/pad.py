"""Borders around quantized tensors."""

from __future__ import annotations

from typing import Any

from ... import _C
from ..._core.dtype import DTYPES
from ..._operators.composite.quantize import rounded
from ..._operators.table import ROWS, aten
from .table import KEY, kernel, per_tensor, with_whole


def _mirrored(row: str) -> None:
    handle = ROWS[row].handle
    handle.impl(
        KEY, lambda self, padding: with_whole(self, handle(_C._whole(self), padding).contiguous(), per_tensor(self))
    )


for _row in ("reflection_pad1d", "reflection_pad2d"):
    _mirrored(_row)


@kernel("constant_pad_nd")
def _constant_pad(self: Any, pad: list[int], value: Any = 0) -> Any:
    single = aten.full([], float(value), dtype=DTYPES["float32"])
    whole = rounded(single, per_tensor(self), self.dtype)
    return with_whole(self, aten.constant_pad_nd(_C._whole(self), pad, int(whole)))
