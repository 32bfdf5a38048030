"""How kernels for quantized tensors are registered, and what most of them do."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from ... import _C
from ..._core.dtype import DTYPES
from ..._core.quantizer import PerTensor
from ..._operators.composite.quantize import PLAIN
from ..._operators.table import ROWS, aten, rows_of

KEY = "QuantizedCPU"
UNIFORM = "Expected quantizer->qscheme() == kPerTensorAffine to be true, but got false.  (Could this error message be improved?  If so, please report an enhancement request to PyTorch.)"


_PARTS = re.compile(r"mindtorch::quantized_\w+")


def named(name: str, fn: Callable) -> Callable:
    """`fn`, whose errors name the operator that was called where a part of it has no kernel for a device."""

    @functools.wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return fn(*args, **kwargs)
        except NotImplementedError as error:
            text, found = _PARTS.subn(name, str(error))
            if not found:
                raise
        if name.startswith("aten::"):  # of other tensors there may well be a kernel
            text = text.replace(" from the '", " from the 'Quantized").replace(": [CPU]", f": [{KEY}]")
        raise NotImplementedError(f"{text} Take the tensors to the CPU, x.cpu(), or their numbers, x.dequantize().")

    return run


def kernel(*rows: str) -> Callable[[Callable], Callable]:
    """The decorated function computes the operators of `rows` of quantized tensors."""

    def register(fn: Callable) -> Callable:
        for row in rows:
            ROWS[row].handle.impl(KEY, named(f"aten::{row.partition('.')[0]}", fn))
        return fn

    return register


def inplace(*rows: str) -> Callable[[Callable], Callable]:
    """The same for the in-place forms of `rows`."""

    def register(fn: Callable) -> Callable:
        for row in rows:
            ROWS[row].inplace.impl(KEY, named(f"aten::{row.partition('.')[0]}_", fn))
        return fn

    return register


def with_whole(x: Any, whole: Any, quantizer: Any = None) -> Any:
    """The quantized tensor of other whole numbers, with the dtype of `x`, and its quantizer if none is given."""
    return _C._make_quantized(whole, x.dtype, _C._quantizer(x) if quantizer is None else quantizer)


def per_tensor(x: Any, text: str = UNIFORM) -> PerTensor:
    """The quantizer of `x`; RuntimeError of `text` where it has several scales."""
    found = _C._quantizer(x)
    if not isinstance(found, PerTensor):
        raise RuntimeError(text)
    return found


def on_whole(*rows: str, text: str = UNIFORM) -> None:
    """The operators of `rows` only move whole numbers: what they give has the quantizer of their first argument."""
    for row in rows:
        _move(row, text)


def _move(row: str, text: str) -> None:
    handle = ROWS[row].handle

    def moved(self: Any, *args: Any, **kwargs: Any) -> Any:
        quantizer = per_tensor(self, text)
        result = handle(_C._whole(self), *args, **kwargs)
        if isinstance(result, tuple):  # values, and where they were
            return (with_whole(self, result[0], quantizer), *result[1:])
        return with_whole(self, result, quantizer)

    handle.impl(KEY, moved)


def floats(x: Any) -> Any:
    """The numbers of a quantized tensor as element-wise operators compute with them, in float32."""
    quantizer = per_tensor(x)
    return rows_of("mindtorch")["quantized_floats"].handle(_C._whole(x), quantizer.scale, quantizer.zero_point)


def of_floats(x: Any, quantizer: PerTensor, dtype: Any) -> Any:
    """The result of an element-wise operator, float32, as a quantized tensor."""
    plain = PLAIN[dtype][0]
    if plain == DTYPES["int32"]:
        return aten.quantize_per_tensor(x, quantizer.scale, quantizer.zero_point, dtype)
    number = rows_of("mindtorch")["quantized_numbers"].handle
    whole = number(x, quantizer.scale, quantizer.zero_point, plain, True)
    return _C._make_quantized(whole, dtype, quantizer)


def elementwise(*rows: str) -> None:
    """The operators of `rows` compute each element in floating point; results are quantized as their first argument was."""
    for row in rows:
        _elementwise(row)


def _elementwise(row: str) -> None:
    handle = ROWS[row].handle

    def computed(self: Any, *args: Any, **kwargs: Any) -> Any:
        return of_floats(handle(floats(self), *args, **kwargs), per_tensor(self), self.dtype)

    kernel(row)(computed)


def through_floats(*rows: str) -> None:
    """The operators of `rows` compute with floating numbers; results are quantized as their first argument was."""
    for row in rows:
        _through_floats(row)


def _through_floats(row: str) -> None:
    handle = ROWS[row].handle

    def computed(self: Any, *args: Any, **kwargs: Any) -> Any:
        quantizer = per_tensor(self)
        result = handle(aten.dequantize(self), *args, **kwargs)
        return aten.quantize_per_tensor(result, quantizer.scale, quantizer.zero_point, self.dtype)

    handle.impl(KEY, computed)


def on_numbers(*rows: str) -> None:
    """The operators of `rows` give means of whole numbers, which are rounded, halves to even ones."""
    for row in rows:
        _on_numbers(row)


def _on_numbers(row: str) -> None:
    handle = ROWS[row].handle

    def computed(self: Any, *args: Any, **kwargs: Any) -> Any:
        quantizer, (plain, low, high) = per_tensor(self), PLAIN[self.dtype]
        numbers = _C._whole(self).to(DTYPES["float64"]) - quantizer.zero_point
        if row == "avg_pool3d" and self.dim() == 5:
            numbers = numbers.contiguous(memory_format=_C.channels_last_3d)
        result = handle(numbers, *args, **kwargs)
        return with_whole(self, aten.round(result + quantizer.zero_point).clamp(low, high).to(plain), quantizer)

    handle.impl(KEY, computed)
