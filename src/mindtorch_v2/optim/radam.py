"""RAdam, Adam with a rectified adaptive rate (Liu et al., 2020), and its functional form."""

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

__all__ = ["RAdam", "radam"]


class RAdam(Optimizer):
    """RAdam (`torch.optim.RAdam`): Adam without its adaptive rate until the rate's variance can be estimated.

    State: `step`, `exp_avg`, `exp_avg_sq`.
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
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
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state):
        super().__setstate__(state)
        set_group_defaults(
            self, foreach=None, maximize=False, differentiable=False, decoupled_weight_decay=False, capturable=False
        )
        _step_counters_to_tensors(self)

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Makes one step; returns the loss of `closure` if one is given."""
        loss = _run_closure(closure)

        def create(p):
            return {
                "exp_avg": torch.zeros_like(p, memory_format=torch.preserve_format),
                "exp_avg_sq": torch.zeros_like(p, memory_format=torch.preserve_format),
            }

        for group in self.param_groups:
            has_complex, params, grads, steps, exp_avgs, exp_avg_sqs = collect(
                self, group, create, ("step", "exp_avg", "exp_avg_sq"), "RAdam does not support sparse gradients"
            )
            beta1, beta2 = group["betas"]
            radam(
                params,
                grads,
                exp_avgs,
                exp_avg_sqs,
                steps,
                beta1=beta1,
                beta2=beta2,
                lr=group["lr"],
                weight_decay=group["weight_decay"],
                eps=group["eps"],
                maximize=group["maximize"],
                foreach=group["foreach"],
                capturable=group["capturable"],
                differentiable=group["differentiable"],
                decoupled_weight_decay=group["decoupled_weight_decay"],
                has_complex=has_complex,
            )
        return loss


def radam(
    params,
    grads,
    exp_avgs,
    exp_avg_sqs,
    state_steps,
    decoupled_weight_decay=False,
    foreach=None,
    differentiable=False,
    capturable=False,
    has_complex=False,
    maximize=False,
    *,
    beta1,
    beta2,
    lr,
    weight_decay,
    eps,
):
    """One RAdam step on parallel lists, in place."""
    _require_tensor_steps(state_steps)
    if capturable:
        _check_capturable(params, state_steps)
    lr = _to_scalar(lr)
    # The length of the simple moving average that the exponential one stands for, in the limit.
    rho_inf = 2 / (1 - beta2) - 1
    for i, param in enumerate(params):
        grad = -grads[i] if maximize else grads[i]
        exp_avg, exp_avg_sq, step_t = exp_avgs[i], exp_avg_sqs[i], state_steps[i]
        if torch.is_complex(param):
            param, grad, exp_avg, exp_avg_sq = (torch.view_as_real(t) for t in (param, grad, exp_avg, exp_avg_sq))
        step_t += 1
        step = step_t if capturable else _get_value(step_t)
        if weight_decay != 0:
            if decoupled_weight_decay:
                param.mul_(1 - lr * weight_decay)
            else:
                grad = grad.add(param, alpha=weight_decay)
        exp_avg.lerp_(grad, 1 - beta1)
        exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        bias_correction1 = 1 - beta1**step
        bias_correction2 = 1 - beta2**step
        corrected = exp_avg / bias_correction1
        rho_t = rho_inf - 2 * step * (beta2**step) / bias_correction2

        def rectify(rho_t=rho_t):
            scale = (rho_t - 4) * (rho_t - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho_t)
            return scale**0.5

        def adaptive(exp_avg_sq=exp_avg_sq, bias_correction2=bias_correction2):
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
