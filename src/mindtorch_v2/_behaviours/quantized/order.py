"""Operators that only choose among whole numbers, or change their order."""

from __future__ import annotations

from typing import Any

from ... import _C
from ..._core.quantizer import PerTensor
from ..._operators.table import aten
from .table import kernel, on_whole, with_whole

_EXTREMUM = (
    "{} operator for quantized tensors only works for per tensor quantized tensors. Please open an issue on "
    "https://github.com/pytorch/pytorch/issues if you need per channel quantized tensor support."
)

on_whole("_unsafe_view", "flip", "repeat", "sort", "sort.stable", "topk")
on_whole("max", "max.dim", text=_EXTREMUM.format("Max"))
on_whole("min", "min.dim", text=_EXTREMUM.format("Min"))
on_whole("index_select", text="Only per_tensor quantized quantized tensors are supported by index_select.")


@kernel("cat")
def _cat(tensors: list, dim: int = 0) -> Any:
    return join(tensors, dim)


def join(tensors: list, dim: int, quantizer: Any = None, dtype: Any = None) -> Any:
    """Tensors one after the other, with a quantizer: the first one's if none is given."""
    first = next((each for each in tensors if each.is_quantized), None)
    if first is None or not all(each.is_quantized for each in tensors):
        raise RuntimeError("cat(): expected all tensors to be quantized")
    if not all(isinstance(_C._quantizer(each), PerTensor) for each in tensors):
        raise RuntimeError("Only per-tensor quantization is supported in 'cat'!")
    if any(each.dtype != first.dtype for each in tensors):
        raise RuntimeError("All dtypes must be the same.")
    quantizer = quantizer or _C._quantizer(first)
    if all(_C._quantizer(each) == quantizer for each in tensors):
        return with_whole(first, aten.cat([_C._whole(each) for each in tensors], dim), quantizer)
    joined = aten.cat([aten.dequantize(each) for each in tensors], dim)
    return aten.quantize_per_tensor(joined, quantizer.scale, quantizer.zero_point, first.dtype)


@kernel("stack")
def _stack(tensors: list, dim: int = 0) -> Any:
    return join([each.unsqueeze(dim) for each in tensors], dim)
