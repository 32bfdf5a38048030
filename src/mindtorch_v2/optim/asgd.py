"""Averaged SGD (Polyak & Juditsky, 1992) and its functional form."""

import mindtorch_v2 as torch
from mindtorch_v2.optim._lists import collect, set_group_defaults
from mindtorch_v2.optim.optimizer import (
    Optimizer,
    _check_capturable,
    _check_lr,
    _check_not_negative,
    _get_scalar_dtype,
    _get_value,
    _require_tensor_steps,
    _run_closure,
    _step_counters_to_tensors,
    _to_scalar,
    _use_grad_for_differentiable,
)

__all__ = ["ASGD", "asgd"]


class ASGD(Optimizer):
    """ASGD (`torch.optim.ASGD`): SGD with decaying rate `eta`, whose average since step `t0` is kept in `ax`.

    State: `step`, `eta`, `mu` (the weight of the newest term in the average), `ax`.
    """

    def __init__(
        self,
        params,
        lr=1e-2,
        lambd=1e-4,
        alpha=0.75,
        t0=1e6,
        weight_decay=0,
        foreach=None,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        _check_lr(lr)
        _check_not_negative(weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
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
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state.get(p, {})
                for name in ("eta", "mu"):
                    if state and not torch.is_tensor(state[name]):
                        state[name] = torch.tensor(state[name], dtype=_get_scalar_dtype(), device=p.device)

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Makes one step; returns the loss of `closure` if one is given."""
        loss = _run_closure(closure)
        for group in self.param_groups:

            def create(p, group=group):
                scalar = {"dtype": _get_scalar_dtype(), "device": p.device}
                return {
                    "eta": torch.as_tensor(_get_value(group["lr"]), **scalar).clone().detach(),
                    "mu": torch.ones((), **scalar),
                    "ax": torch.zeros_like(p, memory_format=torch.preserve_format),
                }

            has_complex, params, grads, steps, etas, mus, axs = collect(
                self, group, create, ("step", "eta", "mu", "ax"), "ASGD does not support sparse gradients"
            )
            asgd(
                params,
                grads,
                axs,
                mus,
                etas,
                steps,
                lambd=group["lambd"],
                lr=group["lr"],
                t0=group["t0"],
                alpha=group["alpha"],
                weight_decay=group["weight_decay"],
                foreach=group["foreach"],
                maximize=group["maximize"],
                differentiable=group["differentiable"],
                capturable=group["capturable"],
                has_complex=has_complex,
            )
        return loss


def asgd(
    params,
    grads,
    axs,
    mus,
    etas,
    state_steps,
    foreach=None,
    maximize=False,
    differentiable=False,
    capturable=False,
    has_complex=False,
    *,
    lambd,
    lr,
    t0,
    alpha,
    weight_decay,
):
    """One ASGD step on parallel lists, in place."""
    _require_tensor_steps(state_steps)
    if capturable:
        _check_capturable(params, state_steps)
    lr = _to_scalar(lr)
    for i, param in enumerate(params):
        grad = -grads[i] if maximize else grads[i]
        mu, ax, eta, step_t = mus[i], axs[i], etas[i], state_steps[i]
        if torch.is_complex(param):
            grad, param, ax = (torch.view_as_real(t) for t in (grad, param, ax))
        step_t += 1
        step = step_t if capturable else _get_value(step_t)
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        if capturable:
            param.mul_(1 - lambd * eta)
            param.addcmul_(grad, eta, value=-1)
            ax.add_(param.sub(ax).mul_(mu))
            eta.copy_(lr / ((1 + lambd * lr * step) ** alpha))
            mu.copy_(1 / torch.maximum(step - t0, torch.ones_like(step)))
            continue
        rate = _get_value(eta)
        param.mul_(1 - lambd * rate)
        param.add_(grad, alpha=-rate)
        if _get_value(mu) != 1:
            ax.add_(param.sub(ax).mul_(mu))
        else:
            ax.copy_(param)
        eta.copy_(torch.as_tensor(lr / ((1 + lambd * lr * step) ** alpha)))
        mu.copy_(torch.as_tensor(1 / max(1, step - t0)))
