"""Comparison and logic."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...._operators.table import aten
from ..table import call, kernel, pointwise

if TYPE_CHECKING:
    from ...._tensor import Tensor


_MIRRORED = {"Eq": "Eq", "Ne": "Ne", "Gt": "Lt", "Lt": "Gt", "Ge": "Le", "Le": "Ge"}


def _comparison(name, symbol) -> None:
    number, mirrored = f"aclnn{symbol}Scalar", f"aclnn{_MIRRORED[symbol]}Scalar"

    @kernel(f"{name}.Tensor", alias=True)
    def compare(self: Tensor, other: Tensor, out: Tensor) -> None:
        if other.is_cpu and other.dim() == 0:
            call(number, self, other.item(), out)
        elif self.is_cpu and self.dim() == 0:
            call(mirrored, other, self.item(), out)
        else:
            call(f"aclnn{symbol}Tensor", self, other, out)

    pointwise(f"{name}.Scalar", number)


for _symbol in _MIRRORED:
    _comparison(_symbol.lower(), _symbol)


@kernel("equal")
def equal(self: Tensor, other: Tensor) -> bool:
    return self.shape == other.shape and bool((self == other).all().item())


@kernel("isnan", alias=True)
def isnan(self: Tensor, out: Tensor) -> None:
    if self.is_complex():
        out.copy_(aten.view_as_real(self).isnan().any(-1))
    else:
        call("aclnnNeTensor", self, self, out)


@kernel("isclose", alias=True)
def isclose(self: Tensor, other: Tensor, rtol: float, atol: float, equal_nan: bool, out: Tensor) -> None:
    if not self.is_complex():
        call("aclnnIsClose", self, other, rtol, atol, equal_nan, out)
        return
    one, another = aten.view_as_real(self), aten.view_as_real(other)
    close = (one == another).all(-1)
    if equal_nan:
        close |= self.isnan() & other.isnan()
    apart, size = (aten.sqrt((each * each).sum(-1)) for each in (one - another, another))
    out.copy_(close | (apart.isfinite() & (apart <= size * rtol + atol)))


pointwise("isfinite", "aclnnIsFinite")
pointwise("isinf", "aclnnIsInf")
pointwise("logical_and", "aclnnLogicalAnd")
pointwise("logical_not", "aclnnLogicalNot")
pointwise("logical_or", "aclnnLogicalOr")
pointwise("logical_xor", "aclnnLogicalXor")
pointwise("signbit", "aclnnSignbit")


@kernel("isposinf", alias=True)
def isposinf(self: Tensor, out: Tensor) -> None:
    call("aclnnEqScalar", self, math.inf, out)


@kernel("isneginf", alias=True)
def isneginf(self: Tensor, out: Tensor) -> None:
    call("aclnnEqScalar", self, -math.inf, out)
