"""Averaged SGD (Polyak & Juditsky, 1992) and its functional form."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.optim._algorithm import Algorithm, apply_weight_decay, as_real, gradients, prepare, zeros
from mindtorch_v2.optim.optimizer import Optimizer as Optimizer
from mindtorch_v2.optim.optimizer import ParamsT as ParamsT
from mindtorch_v2.optim.optimizer import _check_lr, _check_not_negative, _get_scalar_dtype, _get_value

__all__ = ["ASGD", "asgd"]


def asgd(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    axs: list[torch.Tensor],
    mus: list[torch.Tensor],
    etas: list[torch.Tensor],
    state_steps: list[torch.Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lambd: float,
    lr: float | torch.Tensor,
    t0: float,
    alpha: float,
    weight_decay: float,
) -> None:
    """One ASGD step on parallel lists, in place.

    >>> from mindtorch_v2.optim.asgd import asgd
    >>> x, grad = torch.tensor([1.0]), torch.tensor([0.5])
    >>> mean, mu, eta, step = [torch.zeros(1)], [torch.ones(())], [torch.tensor(0.1)], [torch.zeros(())]
    >>> asgd([x], [grad], mean, mu, eta, step, lambd=0.0, lr=0.1, t0=1e6, alpha=0.75, weight_decay=0.0)
    >>> x
    tensor([0.9500])
    """
    lr = prepare(params, state_steps, capturable, lr)
    rows = zip(params, gradients(grads, maximize), axs, mus, etas, state_steps, strict=True)
    for param, grad, ax, mu, eta, step_t in rows:
        param, grad, ax = as_real(param, grad, ax)
        step_t += 1
        step: Any = step_t if capturable else _get_value(step_t)
        grad = apply_weight_decay(param, grad, weight_decay)
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


class ASGD(Algorithm):
    """ASGD (`torch.optim.ASGD`): SGD with decaying rate `eta`, whose average since step `t0` is kept in `ax`.

    State: `step`, `eta`, `mu` (the weight of the newest term in the average), `ax`.

    >>> x = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.ASGD([x], lr=0.1)
    >>> x.sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([0.9000, 0.9000])
    """

    _function = staticmethod(asgd)
    _state = {"mu": "mus", "ax": "axs", "eta": "etas", "step": "state_steps"}
    _old = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
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

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state.get(p, {})
                for name in ("eta", "mu"):
                    if state and not torch.is_tensor(state[name]):
                        state[name] = torch.tensor(state[name], dtype=_get_scalar_dtype(), device=p.device)

    def _new_state(self, group, p) -> dict:
        scalar = {"dtype": _get_scalar_dtype(), "device": p.device}
        return {
            "eta": torch.as_tensor(_get_value(group["lr"]), **scalar).clone().detach(),
            "mu": torch.ones((), **scalar),
            **zeros(p, "ax"),
        }
