"""Bits."""

from ...._ops._table import aten
from ..table import call, kernel, pointwise

pointwise("bitwise_and.Tensor", "aclnnBitwiseAndTensor")
pointwise("bitwise_not", "aclnnBitwiseNot")
pointwise("bitwise_or.Tensor", "aclnnBitwiseOrTensor")
pointwise("bitwise_xor.Tensor", "aclnnBitwiseXorTensor")


def _with_number(name, symbol):
    @kernel(f"{name}.Scalar", alias=True)
    def compute(self, other, out):
        call(symbol, self, aten.full([], other, dtype=out.dtype, device=out.device), out)


_with_number("bitwise_and", "aclnnBitwiseAndTensor")
_with_number("bitwise_or", "aclnnBitwiseOrTensor")
_with_number("bitwise_xor", "aclnnBitwiseXorTensor")
