"""Bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...._operators.table import aten
from ..table import call, kernel, pointwise

if TYPE_CHECKING:
    from ...._tensor import Tensor


pointwise("bitwise_and.Tensor", "aclnnBitwiseAndTensor")
pointwise("bitwise_left_shift.Tensor", "aclnnLeftShift")
pointwise("bitwise_not", "aclnnBitwiseNot")
pointwise("bitwise_or.Tensor", "aclnnBitwiseOrTensor")
pointwise("bitwise_right_shift.Tensor", "aclnnRightShift")
pointwise("bitwise_xor.Tensor", "aclnnBitwiseXorTensor")


def _number(value, out):
    return aten.full([], value, dtype=out.dtype, device=out.device)


def _with_number(name, symbol, after="Scalar", before="Scalar_Tensor") -> None:
    @kernel(f"{name}.{after}", alias=True)
    def number_after(self: Tensor, other: int, out: Tensor) -> None:
        call(symbol, self, _number(other, out), out)

    @kernel(f"{name}.{before}")
    def number_before(self: int, other: Tensor, out: Tensor) -> None:
        call(symbol, _number(self, out), other, out)


_with_number("bitwise_and", "aclnnBitwiseAndTensor")
_with_number("bitwise_left_shift", "aclnnLeftShift", after="Tensor_Scalar")
_with_number("bitwise_or", "aclnnBitwiseOrTensor")
_with_number("bitwise_right_shift", "aclnnRightShift", after="Tensor_Scalar")
_with_number("bitwise_xor", "aclnnBitwiseXorTensor")
