"""Rprop, resilient backpropagation (Riedmiller & Braun, 1993), and its functional form."""

from __future__ import annotations

from collections.abc import Sequence

import mindtorch_v2 as torch
from mindtorch_v2.optim._algorithm import Algorithm, as_real, gradients, prepare, zeros
from mindtorch_v2.optim.optimizer import Optimizer as Optimizer
from mindtorch_v2.optim.optimizer import ParamsT as ParamsT
from mindtorch_v2.optim.optimizer import _check_lr

__all__ = ["Rprop", "rprop"]


def rprop(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    prevs: list[torch.Tensor],
    step_sizes: list[torch.Tensor],
    state_steps: list[torch.Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    maximize: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    step_size_min: float,
    step_size_max: float,
    etaminus: float,
    etaplus: float,
) -> None:
    """One Rprop step on parallel lists, in place.

    >>> from mindtorch_v2.optim.rprop import rprop
    >>> x, grad = torch.tensor([1.0]), torch.tensor([0.5])
    >>> previous, size, step = [torch.zeros(1)], [torch.full((1,), 0.1)], [torch.zeros(())]
    >>> rprop([x], [grad], previous, size, step, step_size_min=1e-6, step_size_max=50.0, etaminus=0.5, etaplus=1.2)
    >>> x
    tensor([0.9000])
    """
    prepare(params, state_steps, capturable)
    rows = zip(params, gradients(grads, maximize), prevs, step_sizes, state_steps, strict=True)
    for param, grad, prev, step_size, step in rows:
        step += 1
        param, grad, prev, step_size = as_real(param, grad, prev, step_size)
        agreement = grad.mul(prev.clone() if differentiable else prev)
        turned = agreement < 0
        factor = torch.ones_like(step_size).masked_fill_(agreement > 0, etaplus).masked_fill_(turned, etaminus)
        step_size.mul_(factor).clamp_(step_size_min, step_size_max)
        # Where the sign turned, this step is skipped and the next one starts afresh.
        grad = grad.masked_fill(turned, 0)
        param.addcmul_(grad.sign(), step_size, value=-1)
        prev.copy_(grad)


class Rprop(Algorithm):
    """Rprop (`torch.optim.Rprop`): a step size per element, grown or shrunk by the agreement of gradient signs.

    State: `step`, `prev` (the last gradient), `step_size`.

    >>> x = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.Rprop([x], lr=0.1)
    >>> x.sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([0.9000, 0.9000])
    """

    _function = staticmethod(rprop)
    _state = {"prev": "prevs", "step_size": "step_sizes", "step": "state_steps"}
    _pairs = {"etas": ("etaminus", "etaplus"), "step_sizes": ("step_size_min", "step_size_max")}
    _old = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-2,
        etas: Sequence[float] = (0.5, 1.2),
        step_sizes: Sequence[float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
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

    def _new_state(self, group, p) -> dict:
        lr = group["lr"]
        start = complex(lr, lr) if p.dtype.is_complex else float(lr)
        return {**zeros(p, "prev"), "step_size": torch.full_like(p.grad, start)}
