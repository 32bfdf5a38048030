"""Comparisons: of the numbers that are stood for."""

from __future__ import annotations

from typing import Any

from ... import _C
from ..._operators.table import ROWS, aten
from .table import KEY, kernel


def _number(x: Any) -> Any:
    return aten.dequantize(x) if getattr(x, "is_quantized", False) else x


def _compared(row: str) -> None:
    handle = ROWS[row].handle
    handle.impl(KEY, lambda self, other: handle(_number(self), _number(other)))


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _compared(f"{_name}.Scalar")
    _compared(f"{_name}.Tensor")


@kernel("equal")
def _equal(self: Any, other: Any) -> bool:
    if not self.is_quantized or not other.is_quantized:
        return False
    if self.dtype != other.dtype or self.shape != other.shape or _C._quantizer(self) != _C._quantizer(other):
        return False
    return bool(aten.equal(_C._whole(self).contiguous(), _C._whole(other).contiguous()))
