"""Special functions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..table import call, kernel, pointwise

if TYPE_CHECKING:
    from ...._tensor import Tensor


pointwise("erf", "aclnnErf")
pointwise("erfc", "aclnnErfc")
pointwise("erfinv", "aclnnErfinv")


@kernel("logit")
def logit(self: Tensor, eps: float, out: Tensor) -> None:
    x = self if eps is None else self.clamp(eps, 1 - eps)
    call("aclnnLog", x / (1 - x), out)


@kernel("logit_backward")
def logit_backward(grad_output: Tensor, self: Tensor, eps: float, out: Tensor) -> None:
    low, high, outside = (0.0, 1.0, math.nan) if eps is None else (eps, 1 - eps, 0.0)
    slope = (grad_output / (self * (1 - self))).masked_fill((self < low) | (self > high), outside)
    call("aclnnInplaceCopy", out, slope)


pointwise("logaddexp", "aclnnLogAddExp")
pointwise("logaddexp2", "aclnnLogAddExp2")
pointwise("sinc", "aclnnSinc")
pointwise("xlogy.Scalar_Other", "aclnnXLogYScalarOther")
pointwise("xlogy.Scalar_Self", "aclnnXLogYScalarSelf")
pointwise("xlogy.Tensor", "aclnnXLogYTensor")
