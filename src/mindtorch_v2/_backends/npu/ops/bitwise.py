"""Bits."""

from ..table import pointwise

pointwise("bitwise_and.Tensor", "aclnnBitwiseAndTensor")
pointwise("bitwise_not", "aclnnBitwiseNot")
pointwise("bitwise_or.Tensor", "aclnnBitwiseOrTensor")
pointwise("bitwise_xor.Tensor", "aclnnBitwiseXorTensor")
