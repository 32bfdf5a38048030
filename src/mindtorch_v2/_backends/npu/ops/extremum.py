"""Clamping, element-wise extrema, choice by a mask."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...._core.dtype import finfo
from ...._operators.table import aten
from ..table import call, kernel, pointwise

if TYPE_CHECKING:
    from ...._tensor import Tensor


@kernel("clamp", alias=True)
def clamp(self: Tensor, low: Any, high: Any, out: Tensor) -> None:
    if high is None:
        call("aclnnClampMin", self, low, out)
    elif low is None:
        call("aclnnClampMax", self, high, out)
    else:
        call("aclnnClamp", self, low, high, out)


@kernel("clamp.Tensor", alias=True)
def clamp_tensor(self: Tensor, low: Any, high: Any, out: Tensor) -> None:
    if high is None:
        call("aclnnClampMinTensor", self, low, out)
    elif low is None:
        call("aclnnClampMaxTensor", self, high, out)
    else:
        call("aclnnClampTensor", self, low, high, out)


def _number_wins(name, choose) -> None:
    """The larger or smaller of two, NaN only where both are."""

    @kernel(name)
    def compute(self: Tensor, other: Tensor, out: Tensor) -> None:
        if self.dtype.is_floating_point or other.dtype.is_floating_point:
            self, other = aten.where(self != self, other, self), aten.where(other != other, self, other)
        call("aclnnInplaceCopy", out, choose(self, other))


_number_wins("fmax", aten.maximum)
_number_wins("fmin", aten.minimum)


@kernel("masked_fill.Scalar", alias=True)
def masked_fill_scalar(self: Tensor, mask: Tensor, value: float, out: Tensor) -> None:
    if out.data_ptr() != self.data_ptr() or out.stride() != self.stride():
        call("aclnnInplaceCopy", out, self)
    call("aclnnInplaceMaskedFillScalar", out, mask, value)


@kernel("masked_fill.Tensor", alias=True)
def masked_fill_tensor(self: Tensor, mask: Tensor, value: Tensor, out: Tensor) -> None:
    if value.is_cpu:
        masked_fill_scalar(self, mask, value.item(), out)
        return
    if out.data_ptr() != self.data_ptr() or out.stride() != self.stride():
        call("aclnnInplaceCopy", out, self)
    call("aclnnInplaceMaskedFillTensor", out, mask, value)


def _number(value, out):
    return aten.full([], value, dtype=out.dtype, device=out.device)


@kernel("where.ScalarSelf")
def where_number_first(condition: Tensor, self: float, other: Tensor, out: Tensor) -> None:
    call("aclnnSWhere", condition, _number(self, out), other, out)


@kernel("where.ScalarOther")
def where_number_second(condition: Tensor, self: Tensor, other: float, out: Tensor) -> None:
    call("aclnnSWhere", condition, self, _number(other, out), out)


@kernel("where.Scalar")
def where_numbers(condition: Tensor, self: float, other: float, out: Tensor) -> None:
    call("aclnnSWhere", condition, _number(self, out), _number(other, out), out)


pointwise("clamp_max", "aclnnClampMax")
pointwise("clamp_max.Tensor", "aclnnClampMaxTensor")
pointwise("clamp_min", "aclnnClampMin")
pointwise("clamp_min.Tensor", "aclnnClampMinTensor")
pointwise("maximum", "aclnnMaximum")
pointwise("minimum", "aclnnMinimum")
pointwise("where.self", "aclnnSWhere")


@kernel("nan_to_num", alias=True)
def nan_to_num(self: Tensor, nan: float | None, posinf: float | None, neginf: float | None, out: Tensor) -> None:
    if not self.dtype.is_floating_point:
        call("aclnnInplaceCopy", out, self)
        return
    limits = finfo(self.dtype)
    x = self.masked_fill(self != self, 0.0 if nan is None else nan)
    x = x.masked_fill(self == math.inf, limits.max if posinf is None else posinf)
    call("aclnnInplaceCopy", out, x.masked_fill(self == -math.inf, limits.min if neginf is None else neginf))
