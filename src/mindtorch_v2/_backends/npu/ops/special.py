"""Special functions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...._core.dtype import DTYPES
from ..table import call, kernel, pointwise

if TYPE_CHECKING:
    from ...._tensor import Tensor


pointwise("erf", "aclnnErf")
pointwise("erfc", "aclnnErfc")
pointwise("erfinv", "aclnnErfinv")


def _wide(x: Tensor) -> Tensor:
    """A tensor whose sums and quotients are rounded once, at the end."""
    return x.to(DTYPES["float32"]) if x.dtype in (DTYPES["float16"], DTYPES["bfloat16"]) else x


@kernel("logit")
def logit(self: Tensor, eps: float, out: Tensor) -> None:
    x = _wide(self) if eps is None else _wide(self).clamp(eps, 1 - eps)
    odds = x / (1 - x)
    if odds.dtype == out.dtype:
        call("aclnnLog", odds, out)
    else:
        call("aclnnInplaceCopy", out, odds.log())


@kernel("logit_backward")
def logit_backward(grad_output: Tensor, self: Tensor, eps: float, out: Tensor) -> None:
    low, high, outside = (0.0, 1.0, math.nan) if eps is None else (eps, 1 - eps, 0.0)
    self = _wide(self)
    slope = (grad_output / (self * (1 - self))).masked_fill((self < low) | (self > high), outside)
    call("aclnnInplaceCopy", out, slope)


pointwise("logaddexp", "aclnnLogAddExp")
pointwise("logaddexp2", "aclnnLogAddExp2")
pointwise("sinc", "aclnnSinc")
pointwise("xlogy.Scalar_Other", "aclnnXLogYScalarOther")
pointwise("xlogy.Scalar_Self", "aclnnXLogYScalarSelf")
pointwise("xlogy.Tensor", "aclnnXLogYTensor")
