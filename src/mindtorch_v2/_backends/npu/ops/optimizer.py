"""Fused optimizer steps, of operators that every device has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...._operators.table import aten
from ..table import kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor


def _adam(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    exp_avgs: Sequence[Tensor],
    exp_avg_sqs: Sequence[Tensor],
    max_exp_avg_sqs: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    lr: float,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    amsgrad: bool,
    maximize: bool,
    grad_scale: Tensor | None,
    found_inf: Tensor | None,
    decoupled: bool,
) -> None:
    if found_inf is not None and found_inf.item():
        return
    for i, (parameter, grad) in enumerate(zip(params, grads, strict=True)):
        if grad_scale is not None:
            aten.div_(grad, grad_scale)  # as PyTorch's kernel, which writes the gradients without their scale
        grad = aten.neg(grad) if maximize else grad
        if weight_decay and decoupled:
            aten.mul_(parameter, 1 - lr * weight_decay)
        elif weight_decay:
            grad = aten.add(grad, parameter, alpha=weight_decay)
        aten.lerp_(exp_avgs[i], grad, 1 - beta1)
        aten.addcmul_(aten.mul_(exp_avg_sqs[i], beta2), grad, grad, value=1 - beta2)
        second = exp_avg_sqs[i]
        if amsgrad:
            aten.copy_(max_exp_avg_sqs[i], aten.maximum(max_exp_avg_sqs[i], second))
            second = max_exp_avg_sqs[i]
        # 1 - beta ** step, of which a number of 32 bits would lose digits where the power is near 1.
        first_correction, second_correction = (
            aten.neg(aten.expm1(aten.mul(state_steps[i], math.log(beta)))) if beta else 1.0 for beta in (beta1, beta2)
        )
        denominator = aten.add(aten.div(aten.sqrt(second), second_correction**0.5), eps)
        aten.sub_(parameter, aten.div(exp_avgs[i], denominator) * (lr / first_correction))


@kernel("_fused_adam_")
def fused_adam(
    self: Sequence[Tensor],
    grads: Sequence[Tensor],
    exp_avgs: Sequence[Tensor],
    exp_avg_sqs: Sequence[Tensor],
    max_exp_avg_sqs: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    lr: float,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    amsgrad: bool,
    maximize: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    _adam(
        self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2, weight_decay, eps, amsgrad,
        maximize, grad_scale, found_inf, decoupled=False,
    )  # fmt: skip


@kernel("_fused_adamw_")
def fused_adamw(
    self: Sequence[Tensor],
    grads: Sequence[Tensor],
    exp_avgs: Sequence[Tensor],
    exp_avg_sqs: Sequence[Tensor],
    max_exp_avg_sqs: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    lr: float,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    amsgrad: bool,
    maximize: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    _adam(
        self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2, weight_decay, eps, amsgrad,
        maximize, grad_scale, found_inf, decoupled=True,
    )  # fmt: skip
