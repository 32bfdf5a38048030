"""Arithmetic. A number of the host beside a tensor takes the operator's form for numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...._operators.table import aten
from ..aclnn import operator
from ..table import call, kernel, pointwise

if TYPE_CHECKING:
    from ...._tensor import Tensor


_NUMBERS = (bool, int, float, complex)


def _is_here(value):
    """Whether it is on the host: a tensor there, or a number."""
    return isinstance(value, _NUMBERS) or value.is_cpu


def _is_number(value):
    """A number, or a 0-dim tensor of the host, which a number becomes as a rule."""
    return isinstance(value, _NUMBERS) or (value.is_cpu and value.dim() == 0)


def _number(value):
    return value if isinstance(value, _NUMBERS) else value.item()


def _with_numbers(name, symbol, number, swapped=None) -> None:
    """`symbol(self, other, out)`, or `number(self, other, out)`; `swapped` takes a number on the left."""
    tensors = operator(symbol)

    @kernel(name, alias=True)
    def compute(self: Tensor, other: Tensor, out: Tensor) -> None:
        if not (_is_here(self) or _is_here(other)):
            tensors.run(self, other, out)
        elif _is_number(other):
            call(number, self, _number(other), out)
        elif swapped is not None and _is_number(self):
            call(swapped, other, _number(self), out)
        else:
            call(symbol, self, other, out)


_ADD, _SUB = operator("aclnnAdd"), operator("aclnnSub")


@kernel("add.Tensor", alias=True)
def add(self: Tensor, other: Tensor, alpha: float, out: Tensor) -> None:
    if not (_is_here(self) or _is_here(other)):
        _ADD.run(self, other, alpha, out)
    elif _is_number(other):
        call("aclnnAdds", self, _number(other), alpha, out)
    elif _is_number(self) and alpha == 1:
        call("aclnnAdds", other, _number(self), alpha, out)
    else:
        call("aclnnAdd", self, other, alpha, out)


@kernel("sub.Tensor", alias=True)
def sub(self: Tensor, other: Tensor, alpha: int, out: Tensor) -> None:
    if not (_is_here(self) or _is_here(other)):
        _SUB.run(self, other, alpha, out)
    elif _is_number(other):
        call("aclnnSubs", self, _number(other), alpha, out)
    elif _is_number(self):
        call("aclnnRsubs", other, _number(self), alpha, out)
    else:
        call("aclnnSub", self, other, alpha, out)


@kernel("rsub.Tensor", alias=True)
def rsub(self: Tensor, other: Tensor, alpha: int, out: Tensor) -> None:
    call("aclnnSub", other, self, alpha, out)


_with_numbers("mul.Tensor", "aclnnMul", "aclnnMuls", "aclnnMuls")
_with_numbers("div.Tensor", "aclnnDiv", "aclnnDivs")
_with_numbers("floor_divide", "aclnnFloorDivide", "aclnnFloorDivides")
_with_numbers("fmod.Tensor", "aclnnFmodTensor", "aclnnFmodScalar")
_with_numbers("remainder.Tensor", "aclnnRemainderTensorTensor", "aclnnRemainderTensorScalar")

_MODES = {None: 0, "trunc": 1, "floor": 2}


@kernel("div.Tensor_mode", alias=True)
def div_mode(self: Tensor, other: Tensor, rounding_mode: str, out: Tensor) -> None:
    if _is_number(other):
        call("aclnnDivMods", self, _number(other), _MODES[rounding_mode], out)
    else:
        call("aclnnDivMod", self, other, _MODES[rounding_mode], out)


@kernel("div.Scalar_mode", alias=True)
def div_scalar_mode(self: Tensor, other: int, rounding_mode: str, out: Tensor) -> None:
    call("aclnnDivMods", self, other, _MODES[rounding_mode], out)


pointwise("abs", "aclnnAbs")
pointwise("add.Scalar", "aclnnAdds", "self other alpha out")
pointwise("addcdiv", "aclnnAddcdiv")
pointwise("addcmul", "aclnnAddcmul")
pointwise("div.Scalar", "aclnnDivs")
pointwise("floor_divide.Scalar", "aclnnFloorDivides")
pointwise("fmod.Scalar", "aclnnFmodScalar")
pointwise("lerp.Scalar", "aclnnLerps")
pointwise("lerp.Tensor", "aclnnLerp")
pointwise("mul.Scalar", "aclnnMuls")
pointwise("neg", "aclnnNeg")
pointwise("pow.Scalar", "aclnnPowScalarTensor")
pointwise("pow.Tensor_Scalar", "aclnnPowTensorScalar")
pointwise("pow.Tensor_Tensor", "aclnnPowTensorTensor")
pointwise("reciprocal", "aclnnReciprocal")
pointwise("remainder.Scalar", "aclnnRemainderTensorScalar")
pointwise("rsqrt", "aclnnRsqrt")
pointwise("rsub.Scalar", "aclnnRsubs")
pointwise("sgn", "aclnnSign")
pointwise("sign", "aclnnSign")
pointwise("sqrt", "aclnnSqrt")
pointwise("square", "aclnnSquare")
pointwise("sub.Scalar", "aclnnSubs")


def _signed(size: Tensor, sign: Tensor, out: Tensor) -> None:
    size = size.to(out.dtype).abs()
    call("aclnnInplaceCopy", out, aten.where(aten.signbit(sign), -size, size))


@kernel("copysign.Tensor")
def copysign(self: Tensor, other: Tensor, out: Tensor) -> None:
    _signed(self, other, out)


@kernel("copysign.Scalar")
def copysign_scalar(self: Tensor, other: float, out: Tensor) -> None:
    size = self.to(out.dtype).abs()
    call("aclnnInplaceCopy", out, -size if math.copysign(1, other) < 0 else size)


@kernel("heaviside")
def heaviside(self: Tensor, values: Tensor, out: Tensor) -> None:
    call("aclnnInplaceCopy", out, aten.where(self == 0, values, (self > 0).to(values.dtype)))


@kernel("hypot")
def hypot(self: Tensor, other: Tensor, out: Tensor) -> None:
    """Scaled by the larger one, so that no square overflows; infinite where either is, whatever the other."""
    a, b = self.to(out.dtype).abs(), other.to(out.dtype).abs()
    larger = aten.maximum(a, b)
    scale = larger.masked_fill(larger == 0, 1)
    root = (aten.square(a / scale) + aten.square(b / scale)).sqrt() * scale
    call("aclnnInplaceCopy", out, root.masked_fill(aten.isinf(a) | aten.isinf(b), math.inf))
