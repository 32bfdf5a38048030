"""Elements by indices and masks."""

from __future__ import annotations

from typing import Any

from ... import _C
from ..._core.dtype import DTYPES
from ..._operators.composite.quantize import rounded
from ..._operators.table import ROWS, aten
from .table import KEY, inplace, kernel, on_whole, per_tensor, with_whole

on_whole("index.Tensor")


@kernel("masked_fill.Scalar", "masked_fill.Tensor")
def _masked_fill(self: Any, mask: Any, value: Any) -> Any:
    return with_whole(self, aten.masked_fill(_C._whole(self), mask, _whole_number(self, value)))


@inplace("masked_fill.Scalar", "masked_fill.Tensor")
def _masked_fill_inplace(self: Any, mask: Any, value: Any) -> Any:
    aten.masked_fill_(_C._whole(self), mask, _whole_number(self, value))
    return self


def _whole_number(self: Any, value: Any) -> Any:
    single = aten.full([], float(value), dtype=DTYPES["float32"])
    return rounded(single, per_tensor(self), self.dtype)


def _put(row: str) -> None:
    """The values, floating or quantized, become whole numbers of the tensor."""
    handle = ROWS[row].handle

    def put(self: Any, indices: list, values: Any, accumulate: bool = False, unsafe: bool = False) -> Any:
        if accumulate:
            raise RuntimeError("index_put for quantized tensors is currently not supported for accumulate=True")
        numbers = aten.dequantize(values) if values.is_quantized else values
        whole = rounded(numbers, per_tensor(self), self.dtype)
        aten.index_put_(_C._whole(self), indices, whole)
        return self

    handle.impl(KEY, put)


for _row in ("_index_put_impl_", "index_put_"):
    if _row in ROWS:
        _put(_row)
