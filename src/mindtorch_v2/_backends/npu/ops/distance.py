"""Distances between rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...._operators.table import aten
from ..table import call, kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor


@kernel("_cdist_forward")
def cdist(x1: Tensor, x2: Tensor, p: float, compute_mode: int | None, out: Tensor) -> None:
    if x1.shape[-1] == 0:
        call("aclnnInplaceZero", out)
        return
    apart = (x1.unsqueeze(-2) - x2.unsqueeze(-3)).abs()
    if p == 0:
        found = (apart != 0).sum(-1)
    elif p == 1:
        found = apart.sum(-1)
    elif p == math.inf:
        found = apart.amax(-1)
    else:
        found = aten.pow(aten.pow(apart, p).sum(-1), 1 / p)
    call("aclnnInplaceCopy", out, found)


@kernel("_cdist_backward")
def cdist_backward(grad: Tensor, x1: Tensor, x2: Tensor, p: float, cdist: Tensor, out: Tensor) -> None:
    if p == 0 or out.numel() == 0 or grad.numel() == 0:
        call("aclnnInplaceZero", out)
        return
    apart, far = x1.unsqueeze(-2) - x2.unsqueeze(-3), cdist.unsqueeze(-1)
    slope = apart.sign()
    if p == math.inf:
        slope = slope * (apart.abs() == far)
    elif p != 1:
        slope = (slope * aten.pow(apart.abs() / far, p - 1)).masked_fill(far == 0, 0)
    call("aclnnInplaceCopy", out, (slope * grad.unsqueeze(-1)).sum(-2))
