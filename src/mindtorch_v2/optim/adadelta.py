"""Adadelta (Zeiler, 2012) and its functional form."""

import mindtorch_v2 as torch
from mindtorch_v2.optim._lists import collect, set_group_defaults
from mindtorch_v2.optim.optimizer import (
    Optimizer,
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

__all__ = ["Adadelta", "adadelta"]


class Adadelta(Optimizer):
    """Adadelta (`torch.optim.Adadelta`).

    v = rho v + (1 - rho) g^2; d = sqrt(u + eps) / sqrt(v + eps) * g; u = rho u + (1 - rho) d^2; p -= lr d.
    State: `step`, `square_avg` (v), `acc_delta` (u).
    """

    def __init__(
        self,
        params,
        lr=1.0,
        rho=0.9,
        eps=1e-6,
        weight_decay=0,
        foreach=None,
        *,
        capturable=False,
        maximize=False,
        differentiable=False,
    ):
        _check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        _check_not_negative(epsilon=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
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
                "square_avg": torch.zeros_like(p, memory_format=torch.preserve_format),
                "acc_delta": torch.zeros_like(p, memory_format=torch.preserve_format),
            }

        for group in self.param_groups:
            has_complex, params, grads, steps, square_avgs, acc_deltas = collect(
                self,
                group,
                create,
                ("step", "square_avg", "acc_delta"),
                "Adadelta does not support sparse gradients",
            )
            adadelta(
                params,
                grads,
                square_avgs,
                acc_deltas,
                steps,
                lr=group["lr"],
                rho=group["rho"],
                eps=group["eps"],
                weight_decay=group["weight_decay"],
                foreach=group["foreach"],
                maximize=group["maximize"],
                differentiable=group["differentiable"],
                capturable=group["capturable"],
                has_complex=has_complex,
            )
        return loss


def adadelta(
    params,
    grads,
    square_avgs,
    acc_deltas,
    state_steps,
    capturable=False,
    foreach=None,
    differentiable=False,
    has_complex=False,
    *,
    lr,
    rho,
    eps,
    weight_decay,
    maximize,
):
    """One Adadelta step on parallel lists, in place."""
    _require_tensor_steps(state_steps)
    if capturable:
        _check_capturable(params, state_steps)
    lr = _to_scalar(lr)
    for param, grad, square_avg, acc_delta, step in zip(
        params, grads, square_avgs, acc_deltas, state_steps, strict=True
    ):
        step += 1
        if maximize:
            grad = -grad
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        if torch.is_complex(param):
            param, grad, square_avg, acc_delta = (torch.view_as_real(t) for t in (param, grad, square_avg, acc_delta))
        square_avg.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        std = square_avg.add(eps).sqrt_()
        delta = acc_delta.add(eps).sqrt_()
        if differentiable:
            delta = delta.clone()
        delta.div_(std).mul_(grad)
        acc_delta.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        if isinstance(lr, torch.Tensor) and (capturable or differentiable):
            param.sub_(delta * lr)
        else:
            param.add_(delta, alpha=-_get_value(lr))
