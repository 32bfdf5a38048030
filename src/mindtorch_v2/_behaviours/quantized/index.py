"""Elements by indices and masks."""

from __future__ import annotations

from typing import Any

from ... import _C
from ..._core.dtype import DTYPES
from ..._operators.composite.quantize import rounded
from ..._operators.table import aten
from .table import inplace, kernel, on_whole, per_tensor, with_whole

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


def _put(self: Any, indices: list, values: Any, accumulate: bool = False, unsafe: bool = False) -> Any:
    """The values, floating or quantized, become whole numbers of the tensor."""
    if accumulate:
        raise RuntimeError("index_put for quantized tensors is currently not supported for accumulate=True")
    numbers = aten.dequantize(values) if values.is_quantized else values
    aten.index_put_(_C._whole(self), indices, rounded(numbers, per_tensor(self), self.dtype))
    return self


kernel("_index_put_impl_")(_put)
inplace("index_put")(_put)


@kernel("index_put")
def _index_put(self: Any, indices: list, values: Any, accumulate: bool = False) -> Any:
    return _put(aten.clone(self), indices, values, accumulate)
