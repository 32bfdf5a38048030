"""Cross entropy."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from .kernels import OUT, fused

_FLOAT = DTYPES["float32"]


def _weight(weight: Any) -> Any:
    return None if weight is None else weight.to(_FLOAT)


@fused("npu::npu_cross_entropy_loss", "aclnnCrossEntropyLoss")
def cross_entropy_loss(
    input: Any, target: Any, weight: Any, reduction: str, ignore_index: int, label_smoothing: float,
    lse_square_scale_for_zloss: float, return_zloss: bool,
) -> tuple | None:  # fmt: skip
    if input.numel() == 0:
        return None
    rest = (reduction, ignore_index, label_smoothing, lse_square_scale_for_zloss, return_zloss)
    return input, target, _weight(weight), *rest, *OUT[:4]


@fused("npu::npu_cross_entropy_loss_backward", "aclnnCrossEntropyLossGrad")
def cross_entropy_loss_backward(
    grad_loss: Any, log_prob: Any, target: Any, weight: Any, grad_zloss: Any, lse_for_zloss: Any, reduction: str,
    ignore_index: int, label_smoothing: float, lse_square_scale_for_zloss: float,
) -> tuple | None:  # fmt: skip
    if log_prob.numel() == 0 or grad_zloss is not None:
        return None
    grad = aten.contiguous(grad_loss).to(log_prob.dtype)
    rest = (reduction, ignore_index, label_smoothing, lse_square_scale_for_zloss)
    return grad, log_prob, target, _weight(weight), None, None, *rest, OUT[0]
