"""Adamax, Adam by the infinity norm (Kingma & Ba, 2015), and its functional form."""

import mindtorch_v2 as torch
from mindtorch_v2.optim._lists import collect, set_group_defaults
from mindtorch_v2.optim.optimizer import (
    Optimizer,
    _check_beta_range,
    _check_capturable,
    _check_lr,
    _check_not_negative,
    _get_value,
    _require_tensor_steps,
    _run_closure,
    _step_counters_to_tensors,
    _to_scalar,
    _use_grad_for_differentiable,
)

__all__ = ["Adamax", "adamax"]


class Adamax(Optimizer):
    """Adamax (`torch.optim.Adamax`).

    m = b1 m + (1 - b1) g; u = max(b2 u, |g| + eps); p -= lr / (1 - b1^t) * m / u.
    State: `step`, `exp_avg` (m), `exp_inf` (u).
    """

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
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

    def __setstate__(self, state):
        super().__setstate__(state)
        set_group_defaults(self, foreach=None, maximize=False, differentiable=False, capturable=False)
        _step_counters_to_tensors(self)

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Makes one step; returns the loss of `closure` if one is given."""
        loss = _run_closure(closure)

        def create(p):
            return {
                "exp_avg": torch.zeros_like(p, memory_format=torch.preserve_format),
                "exp_inf": torch.zeros_like(p, memory_format=torch.preserve_format),
            }

        for group in self.param_groups:
            has_complex, params, grads, steps, exp_avgs, exp_infs = collect(
                self, group, create, ("step", "exp_avg", "exp_inf"), "Adamax does not support sparse gradients"
            )
            beta1, beta2 = group["betas"]
            adamax(
                params,
                grads,
                exp_avgs,
                exp_infs,
                steps,
                eps=group["eps"],
                beta1=beta1,
                beta2=beta2,
                lr=group["lr"],
                weight_decay=group["weight_decay"],
                foreach=group["foreach"],
                maximize=group["maximize"],
                differentiable=group["differentiable"],
                capturable=group["capturable"],
                has_complex=has_complex,
            )
        return loss


def adamax(
    params,
    grads,
    exp_avgs,
    exp_infs,
    state_steps,
    foreach=None,
    maximize=False,
    differentiable=False,
    capturable=False,
    has_complex=False,
    *,
    eps,
    beta1,
    beta2,
    lr,
    weight_decay,
):
    """One Adamax step on parallel lists, in place."""
    _require_tensor_steps(state_steps)
    if capturable:
        _check_capturable(params, state_steps)
    lr = _to_scalar(lr)
    for param, grad, exp_avg, exp_inf, step_t in zip(params, grads, exp_avgs, exp_infs, state_steps, strict=True):
        if maximize:
            grad = -grad
        step_t += 1
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        if torch.is_complex(param):
            param, grad, exp_avg, exp_inf = (torch.view_as_real(t) for t in (param, grad, exp_avg, exp_inf))
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
            param.addcdiv_(exp_avg, exp_inf, value=-_get_value(step_size))
