"""Rprop, resilient backpropagation (Riedmiller & Braun, 1993), and its functional form."""

import mindtorch_v2 as torch
from mindtorch_v2.optim._lists import collect, set_group_defaults
from mindtorch_v2.optim.optimizer import (
    Optimizer,
    _check_capturable,
    _check_lr,
    _require_tensor_steps,
    _run_closure,
    _step_counters_to_tensors,
    _use_grad_for_differentiable,
)

__all__ = ["Rprop", "rprop"]


class Rprop(Optimizer):
    """Rprop (`torch.optim.Rprop`): a step size per element, grown or shrunk by the agreement of gradient signs.

    State: `step`, `prev` (the last gradient), `step_size`.
    """

    def __init__(
        self,
        params,
        lr=1e-2,
        etas=(0.5, 1.2),
        step_sizes=(1e-6, 50),
        *,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        _check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
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
        for group in self.param_groups:

            def create(p, group=group):
                lr = group["lr"]
                start = complex(lr, lr) if p.dtype.is_complex else float(lr)
                return {
                    "prev": torch.zeros_like(p, memory_format=torch.preserve_format),
                    "step_size": torch.full_like(p.grad, start),
                }

            has_complex, params, grads, steps, prevs, step_sizes = collect(
                self, group, create, ("step", "prev", "step_size"), "Rprop does not support sparse gradients"
            )
            etaminus, etaplus = group["etas"]
            step_size_min, step_size_max = group["step_sizes"]
            rprop(
                params,
                grads,
                prevs,
                step_sizes,
                steps,
                step_size_min=step_size_min,
                step_size_max=step_size_max,
                etaminus=etaminus,
                etaplus=etaplus,
                foreach=group["foreach"],
                maximize=group["maximize"],
                differentiable=group["differentiable"],
                capturable=group["capturable"],
                has_complex=has_complex,
            )
        return loss


def rprop(
    params,
    grads,
    prevs,
    step_sizes,
    state_steps,
    foreach=None,
    capturable=False,
    maximize=False,
    differentiable=False,
    has_complex=False,
    *,
    step_size_min,
    step_size_max,
    etaminus,
    etaplus,
):
    """One Rprop step on parallel lists, in place."""
    _require_tensor_steps(state_steps)
    if capturable:
        _check_capturable(params, state_steps)
    for param, grad, prev, step_size, step in zip(params, grads, prevs, step_sizes, state_steps, strict=True):
        if maximize:
            grad = -grad
        step += 1
        if torch.is_complex(param):
            param, grad, prev, step_size = (torch.view_as_real(t) for t in (param, grad, prev, step_size))
        agreement = grad.mul(prev.clone() if differentiable else prev)
        turned = agreement < 0
        factor = torch.ones_like(step_size).masked_fill_(agreement > 0, etaplus).masked_fill_(turned, etaminus)
        step_size.mul_(factor).clamp_(step_size_min, step_size_max)
        # Where the sign turned, this step is skipped and the next one starts afresh.
        grad = grad.masked_fill(turned, 0)
        param.addcmul_(grad.sign(), step_size, value=-1)
        prev.copy_(grad)
