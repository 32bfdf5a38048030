"""RMSprop (Hinton, lecture 6e; centred form of Graves, 2013) and its functional form."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.optim._algorithm import Algorithm, apply_weight_decay, as_real, prepare
from mindtorch_v2.optim.optimizer import Optimizer as Optimizer
from mindtorch_v2.optim.optimizer import ParamsT as ParamsT
from mindtorch_v2.optim.optimizer import _check_lr, _check_not_negative, _default_to_fused_or_foreach, _get_value

__all__ = ["RMSprop", "rmsprop"]


def rmsprop(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    square_avgs: list[torch.Tensor],
    grad_avgs: list[torch.Tensor],
    momentum_buffer_list: list[torch.Tensor | None],
    state_steps: list[torch.Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lr: float | torch.Tensor,
    alpha: float,
    eps: float,
    weight_decay: float,
    momentum: float,
    centered: bool,
) -> None:
    """One RMSprop step on parallel lists, in place.

    >>> from mindtorch_v2.optim.rmsprop import rmsprop
    >>> x, grad = torch.tensor([1.0]), torch.tensor([0.5])
    >>> square, step = [torch.zeros(1)], [torch.zeros(())]
    >>> rmsprop(
    ...     [x], [grad], square, [], [], step,
    ...     lr=0.1, alpha=0.75, eps=1e-8, weight_decay=0.0, momentum=0.0, centered=False,
    ... )
    >>> x
    tensor([0.8000])
    """
    lr = prepare(params, state_steps, capturable, lr)
    if foreach is None and not capturable and params:
        fused, _ = _default_to_fused_or_foreach(params, differentiable, use_fused=True)
        if fused:
            torch._foreach_add_(state_steps, 1)
            torch.ops.aten._fused_rmsprop_(
                params,
                grads,
                square_avgs,
                grad_avgs if centered else [],
                momentum_buffer_list if momentum > 0 else [],
                lr=_get_value(lr),
                alpha=alpha,
                eps=eps,
                weight_decay=weight_decay,
                momentum=momentum,
                centered=centered,
                maximize=maximize,
            )
            return
    for i, param in enumerate(params):
        grad, square_avg, step = grads[i], square_avgs[i], state_steps[i]
        grad_avg: Any = grad_avgs[i] if centered else None
        buffer: Any = momentum_buffer_list[i] if momentum > 0 else None
        step += 1
        grad = apply_weight_decay(param, -grad if maximize else grad, weight_decay)
        if torch.is_complex(param):
            param, grad, square_avg = as_real(param, grad, square_avg)
            grad_avg = torch.view_as_real(grad_avg) if centered else None
            buffer = torch.view_as_real(buffer) if momentum > 0 else None
        square_avg.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if centered:
            grad_avg.lerp_(grad, 1 - alpha)
            avg: Any = square_avg.addcmul(grad_avg, grad_avg, value=-1).sqrt_()
        else:
            avg = square_avg.sqrt()
        avg = avg.add(eps) if differentiable else avg.add_(eps)
        update = grad
        if momentum > 0:
            buffer.mul_(momentum).addcdiv_(grad, avg)
            update, avg = buffer, None
        if isinstance(lr, torch.Tensor) and (capturable or differentiable):
            # The next step changes the buffer in place, which the graph of this one must not see.
            param.sub_(lr * (update.clone() if avg is None else update / avg))
        elif avg is None:
            param.add_(update, alpha=-_get_value(lr))
        else:
            param.addcdiv_(update, avg, value=-_get_value(lr))


class RMSprop(Algorithm):
    """RMSprop (`torch.optim.RMSprop`).

    v = alpha v + (1 - alpha) g^2; p -= lr * g / (sqrt(v) + eps), through a momentum buffer if `momentum` > 0; with
    `centered`, v is lessened by the square of the running mean of g.
    State: `step`, `square_avg`, `momentum_buffer`, `grad_avg`.

    >>> x = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.RMSprop([x], lr=0.1)
    >>> x.sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([5.9605e-08, 5.9605e-08])
    """

    _function = staticmethod(rmsprop)
    _state = {
        "square_avg": "square_avgs",
        "momentum_buffer": "momentum_buffer_list",
        "grad_avg": "grad_avgs",
        "step": "state_steps",
    }
    _optional = {"momentum_buffer": "momentum", "grad_avg": "centered"}
    _old = {
        "momentum": 0,
        "centered": False,
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        _check_lr(lr)
        _check_not_negative(epsilon=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)
