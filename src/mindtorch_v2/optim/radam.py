"""RAdam, Adam with a rectified adaptive rate (Liu et al., 2020), and its functional form."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.optim._algorithm import Algorithm, apply_weight_decay, as_real, gradients, prepare, update_moments
from mindtorch_v2.optim.optimizer import Optimizer as Optimizer
from mindtorch_v2.optim.optimizer import ParamsT as ParamsT
from mindtorch_v2.optim.optimizer import _check_beta_range, _check_lr, _check_not_negative, _get_value

__all__ = ["RAdam", "radam"]


def radam(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    exp_avgs: list[torch.Tensor],
    exp_avg_sqs: list[torch.Tensor],
    state_steps: list[torch.Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float | torch.Tensor,
    beta2: float | torch.Tensor,
    lr: float | torch.Tensor,
    weight_decay: float,
    eps: float,
) -> None:
    """One RAdam step on parallel lists, in place.

    >>> from mindtorch_v2.optim.radam import radam
    >>> x, grad = torch.tensor([1.0]), torch.tensor([0.5])
    >>> first, second, step = [torch.zeros(1)], [torch.zeros(1)], [torch.zeros(())]
    >>> radam([x], [grad], first, second, step, beta1=0.9, beta2=0.999, lr=0.1, weight_decay=0.0, eps=1e-8)
    >>> x
    tensor([0.9500])
    """
    lr = prepare(params, state_steps, capturable, lr)
    # The length of the simple moving average that the exponential one stands for, in the limit.
    rho_inf = 2 / (1 - beta2) - 1
    rows = zip(params, gradients(grads, maximize), exp_avgs, exp_avg_sqs, state_steps, strict=True)
    for param, grad, exp_avg, exp_avg_sq, step_t in rows:
        param, grad, exp_avg, exp_avg_sq = as_real(param, grad, exp_avg, exp_avg_sq)
        step_t += 1
        step = step_t if capturable else _get_value(step_t)
        grad = apply_weight_decay(param, grad, weight_decay, lr, decoupled_weight_decay)
        update_moments(exp_avg, exp_avg_sq, grad, beta1, beta2)
        bias_correction1 = 1 - beta1**step
        bias_correction2 = 1 - beta2**step
        corrected = exp_avg / bias_correction1
        rho_t = rho_inf - 2 * step * (beta2**step) / bias_correction2

        def rectify(rho_t: Any = rho_t) -> Any:
            scale = (rho_t - 4) * (rho_t - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho_t)
            return scale**0.5

        def adaptive(exp_avg_sq: torch.Tensor = exp_avg_sq, bias_correction2: Any = bias_correction2) -> torch.Tensor:
            root = exp_avg_sq.sqrt()
            root = root.add(eps) if differentiable else root.add_(eps)
            return (bias_correction2**0.5) / root

        if capturable:
            update = torch.where(rho_t > 5.0, rectify() * adaptive(), 1.0)
            param.add_(corrected * lr * update, alpha=-1.0)
        elif rho_t > 5.0:
            param.add_(corrected * lr * adaptive() * rectify(), alpha=-1.0)
        else:
            param.add_(corrected * lr, alpha=-1.0)


class RAdam(Algorithm):
    """RAdam (`torch.optim.RAdam`): Adam without its adaptive rate until the rate's variance can be estimated.

    State: `step`, `exp_avg`, `exp_avg_sq`.

    >>> x = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.RAdam([x], lr=0.1)
    >>> x.sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([0.9000, 0.9000])
    """

    _function = staticmethod(radam)
    _state = {"exp_avg": "exp_avgs", "exp_avg_sq": "exp_avg_sqs", "step": "state_steps"}
    _old = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
        "capturable": False,
    }

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-3,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        _check_lr(lr)
        _check_not_negative(epsilon=eps)
        _check_beta_range(betas)
        _check_not_negative(weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)
