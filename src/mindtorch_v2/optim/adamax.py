"""Adamax, Adam by the infinity norm (Kingma & Ba, 2015), and its functional form."""

from __future__ import annotations

import mindtorch_v2 as torch
from mindtorch_v2.optim._algorithm import Algorithm, apply_weight_decay, as_real, gradients, prepare
from mindtorch_v2.optim.optimizer import Optimizer as Optimizer
from mindtorch_v2.optim.optimizer import ParamsT as ParamsT
from mindtorch_v2.optim.optimizer import _check_beta_range, _check_lr, _check_not_negative, _get_value

__all__ = ["Adamax", "adamax"]


def adamax(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    exp_avgs: list[torch.Tensor],
    exp_infs: list[torch.Tensor],
    state_steps: list[torch.Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    eps: float,
    beta1: float | torch.Tensor,
    beta2: float | torch.Tensor,
    lr: float | torch.Tensor,
    weight_decay: float,
) -> None:
    """One Adamax step on parallel lists, in place.

    >>> from mindtorch_v2.optim.adamax import adamax
    >>> x, grad = torch.tensor([1.0]), torch.tensor([0.5])
    >>> first, largest, step = [torch.zeros(1)], [torch.zeros(1)], [torch.zeros(())]
    >>> adamax([x], [grad], first, largest, step, eps=1e-8, beta1=0.9, beta2=0.999, lr=0.1, weight_decay=0.0)
    >>> x
    tensor([0.9000])
    """
    lr = prepare(params, state_steps, capturable, lr)
    rows = zip(params, gradients(grads, maximize), exp_avgs, exp_infs, state_steps, strict=True)
    for param, grad, exp_avg, exp_inf, step_t in rows:
        step_t += 1
        grad = apply_weight_decay(param, grad, weight_decay)
        param, grad, exp_avg, exp_inf = as_real(param, grad, exp_avg, exp_inf)
        exp_avg.lerp_(grad, 1 - beta1)
        if differentiable:
            exp_inf.copy_(torch.maximum(exp_inf * beta2, grad.abs().add_(eps)))
        else:
            exp_inf.copy_(torch.maximum(exp_inf.mul_(beta2), grad.abs().add_(eps)))
        if capturable:
            # addcdiv_ takes no tensor for its factor, so the factor goes into the divisor.
            negative_bias = beta1**step_t - 1
            param.addcdiv_(exp_avg, exp_inf * (negative_bias / lr))
        else:
            step_size = lr / (1 - beta1 ** _get_value(step_t))
            if differentiable:
                # The next step changes both in place, which the graph of this one must not see.
                exp_avg, exp_inf = exp_avg.clone(), exp_inf.clone()
            if differentiable and isinstance(lr, torch.Tensor):
                param.sub_(step_size * (exp_avg / exp_inf))  # a gradient by the rate too
            else:
                param.addcdiv_(exp_avg, exp_inf, value=-_get_value(step_size))


class Adamax(Algorithm):
    """Adamax (`torch.optim.Adamax`).

    m = b1 m + (1 - b1) g; u = max(b2 u, |g| + eps); p -= lr / (1 - b1^t) * m / u.
    State: `step`, `exp_avg` (m), `exp_inf` (u).

    >>> x = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.Adamax([x], lr=0.1)
    >>> x.sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([0.9000, 0.9000])
    """

    _function = staticmethod(adamax)
    _state = {"exp_avg": "exp_avgs", "exp_inf": "exp_infs", "step": "state_steps"}
    _old = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 2e-3,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
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
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)
