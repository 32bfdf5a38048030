"""Activations."""

from __future__ import annotations

from typing import Any

from ... import _C
from ..._core.dtype import DTYPES
from ..._core.quantizer import PerTensor
from ..._operators.composite.quantize import PLAIN, rounded
from ..._operators.table import ROWS, aten
from .table import elementwise, floats, inplace, kernel, of_floats, per_tensor, with_whole

elementwise("gelu", "leaky_relu", "threshold")

# ---- between two bounds ----


def bound(self: Any, number: float) -> int:
    """The whole number that a bound becomes."""
    return int(rounded(aten.full([], float(number), dtype=DTYPES["float32"]), per_tensor(self), self.dtype))


def between(self: Any, low: Any = None, high: Any = None) -> Any:
    """The elements, not below `low` nor above `high`."""
    bounds = [None if each is None else bound(self, each) for each in (low, high)]
    if bounds == [None, None]:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    return with_whole(self, aten.clamp(_C._whole(self), *bounds))


def rectified(self: Any) -> Any:
    """The elements, not below 0."""
    return with_whole(self, aten.clamp_min(_C._whole(self), per_tensor(self).zero_point))


def _written(self: Any, result: Any) -> Any:
    _C._whole(self).copy_(_C._whole(result))
    return self


kernel("clamp")(between)
kernel("clamp_min")(lambda self, low: between(self, low))
kernel("clamp_max")(lambda self, high: between(self, None, high))
kernel("hardtanh")(lambda self, min_val=-1, max_val=1: between(self, min_val, max_val))
inplace("hardtanh")(lambda self, min_val=-1, max_val=1: _written(self, between(self, min_val, max_val)))
kernel("relu")(rectified)
inplace("relu")(lambda self: _written(self, rectified(self)))


@inplace("leaky_relu")
def _leaky_relu_inplace(self: Any, negative_slope: Any = 0.01) -> Any:
    return _written(self, aten.leaky_relu(self, negative_slope))


# ---- into a range of their own ----

_RANGES = {"hardsigmoid": (1 / 256, 0), "sigmoid": (1 / 256, 0), "tanh": (2 / 256, 128)}


def range_of(name: str, dtype: Any) -> PerTensor:
    """The quantizer by which the results of an activation fill the range of a dtype."""
    scale, zero_point = _RANGES[name]
    _, low, high = PLAIN[dtype]
    if dtype == DTYPES["qint32"]:
        scale = scale * 256 * 2.0**-32 if name != "tanh" else 2.0**-31
        return PerTensor(scale, 0 if name == "tanh" else low)
    return PerTensor(scale, zero_point + low)


def _into_range(name: str) -> None:
    handle = ROWS[name].handle
    kernel(name)(lambda self: of_floats(handle(floats(self)), range_of(name, self.dtype), self.dtype))


for _name in _RANGES:
    _into_range(_name)
