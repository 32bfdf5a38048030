"""Fused optimizer steps, of operators that every device has."""

from __future__ import annotations

import math

from ...._operators.table import aten
from ...common.adam import AdamOptions, AdamState, register_adam
from ..table import kernel


def _adam(states: list[AdamState], options: AdamOptions) -> None:
    if options.found_inf is None or not options.found_inf.item():
        for each in states:
            _step(each, options)


def _step(of: AdamState, options: AdamOptions) -> None:
    if options.grad_scale is not None:
        aten.div_(of.grad, options.grad_scale)  # as PyTorch's kernel, which writes the gradients without their scale
    grad = aten.neg(of.grad) if options.maximize else of.grad
    if options.weight_decay and options.decoupled:
        aten.mul_(of.param, 1 - options.lr * options.weight_decay)
    elif options.weight_decay:
        grad = aten.add(grad, of.param, alpha=options.weight_decay)
    aten.lerp_(of.exp_avg, grad, 1 - options.beta1)
    aten.addcmul_(aten.mul_(of.exp_avg_sq, options.beta2), grad, grad, value=1 - options.beta2)
    second = of.exp_avg_sq
    if of.max_exp_avg_sq is not None:
        second = aten.copy_(of.max_exp_avg_sq, aten.maximum(of.max_exp_avg_sq, second))
    # 1 - beta ** step, of which a number of 32 bits would lose digits where the power is near 1.
    first_correction, second_correction = (
        aten.neg(aten.expm1(aten.mul(of.step, math.log(beta)))) if beta else 1.0
        for beta in (options.beta1, options.beta2)
    )
    denominator = aten.add(aten.div(aten.sqrt(second), second_correction**0.5), options.eps)
    aten.sub_(of.param, aten.div(of.exp_avg, denominator) * (options.lr / first_correction))


register_adam(kernel, ["_fused_adam_"], False, _adam)
register_adam(kernel, ["_fused_adamw_"], True, _adam)
