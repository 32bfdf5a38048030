"""Adadelta (Zeiler, 2012) and its functional form."""

from __future__ import annotations

import mindtorch_v2 as torch
from mindtorch_v2.optim._algorithm import Algorithm, apply_weight_decay, as_real, gradients, prepare
from mindtorch_v2.optim.optimizer import Optimizer as Optimizer
from mindtorch_v2.optim.optimizer import ParamsT as ParamsT
from mindtorch_v2.optim.optimizer import _check_lr, _check_not_negative, _get_value

__all__ = ["Adadelta", "adadelta"]


def adadelta(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    square_avgs: list[torch.Tensor],
    acc_deltas: list[torch.Tensor],
    state_steps: list[torch.Tensor],
    capturable: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float | torch.Tensor,
    rho: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    """One Adadelta step on parallel lists, in place.

    >>> from mindtorch_v2.optim.adadelta import adadelta
    >>> x, grad = torch.tensor([1.0]), torch.tensor([0.5])
    >>> squares, deltas, step = [torch.zeros(1)], [torch.zeros(1)], [torch.zeros(())]
    >>> adadelta([x], [grad], squares, deltas, step, lr=1.0, rho=0.9, eps=0.01, weight_decay=0.0, maximize=False)
    >>> x
    tensor([0.7327])
    """
    lr = prepare(params, state_steps, capturable, lr)
    rows = zip(params, gradients(grads, maximize), square_avgs, acc_deltas, state_steps, strict=True)
    for param, grad, square_avg, acc_delta, step in rows:
        step += 1
        grad = apply_weight_decay(param, grad, weight_decay)
        param, grad, square_avg, acc_delta = as_real(param, grad, square_avg, acc_delta)
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


class Adadelta(Algorithm):
    """Adadelta (`torch.optim.Adadelta`).

    v = rho v + (1 - rho) g^2; d = sqrt(u + eps) / sqrt(v + eps) * g; u = rho u + (1 - rho) d^2; p -= lr d.
    State: `step`, `square_avg` (v), `acc_delta` (u).

    >>> x = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.Adadelta([x], lr=0.1)
    >>> x.sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([0.9997, 0.9997])
    """

    _function = staticmethod(adadelta)
    _state = {"square_avg": "square_avgs", "acc_delta": "acc_deltas", "step": "state_steps"}
    _old = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
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
