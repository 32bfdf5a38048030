"""Adagrad (Duchi et al., 2011) and its functional form."""

from __future__ import annotations

import mindtorch_v2 as torch
from mindtorch_v2.optim._algorithm import Algorithm, apply_weight_decay, as_real, gradients, run_fused
from mindtorch_v2.optim.optimizer import Optimizer as Optimizer
from mindtorch_v2.optim.optimizer import ParamsT as ParamsT
from mindtorch_v2.optim.optimizer import (
    _check_fused,
    _check_lr,
    _check_not_negative,
    _default_to_fused_or_foreach,
    _get_value,
    _require_tensor_steps,
)

__all__ = ["Adagrad", "adagrad"]


def adagrad(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    state_sums: list[torch.Tensor],
    state_steps: list[torch.Tensor],
    fused: bool | None = None,
    grad_scale: torch.Tensor | None = None,
    found_inf: torch.Tensor | None = None,
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float | torch.Tensor,
    weight_decay: float,
    lr_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """One Adagrad step on parallel lists, in place.

    >>> from mindtorch_v2.optim.adagrad import adagrad
    >>> x, grad = torch.tensor([1.0]), torch.tensor([0.5])
    >>> sums, step = [torch.zeros(1)], [torch.zeros(())]
    >>> adagrad([x], [grad], sums, step, lr=0.1, weight_decay=0.0, lr_decay=0.0, eps=1e-10, maximize=False)
    >>> x
    tensor([0.9000])
    """
    if not params:
        return
    _require_tensor_steps(state_steps)
    if fused is None and foreach is None:
        fused, _ = _default_to_fused_or_foreach(params, differentiable or has_sparse_grad, use_fused=True)
    if fused:
        run_fused(
            torch._fused_adagrad_,
            [params, grads, state_sums, state_steps],
            grad_scale,
            found_inf,
            lr=_get_value(lr),
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            eps=eps,
            maximize=maximize,
        )
        return
    if grad_scale is not None or found_inf is not None:
        raise AssertionError("Expected grad_scale and found_inf to be None")
    for param, grad, state_sum, step_t in zip(params, gradients(grads, maximize), state_sums, state_steps, strict=True):
        step_t += 1
        step = step_t if differentiable else _get_value(step_t)
        if weight_decay != 0 and grad.is_sparse:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        grad = apply_weight_decay(param, grad, weight_decay)
        clr = lr / (1 + (step - 1) * lr_decay)
        if grad.is_sparse:
            grad = grad.coalesce()
            indices, slopes = grad._indices(), grad._values()
            state_sum.add_(torch.sparse_coo_tensor(indices, slopes * slopes, grad.shape))
            scale = state_sum.sparse_mask(grad)._values().sqrt().add_(eps)
            param.add_(torch.sparse_coo_tensor(indices, slopes / scale, grad.shape), alpha=-_get_value(clr))
            continue
        target, grad, state_sum = as_real(param, grad, state_sum)
        state_sum.addcmul_(grad, grad)
        std = state_sum.sqrt() + eps if differentiable else state_sum.sqrt().add_(eps)
        if differentiable and isinstance(lr, torch.Tensor):
            target.sub_(clr * (grad / std))  # a gradient by the rate too
        else:
            target.addcdiv_(grad, std, value=-_get_value(clr))


class Adagrad(Algorithm):
    """Adagrad (`torch.optim.Adagrad`).

    s += g^2; p -= lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + eps). State, there from the start: `step`, `sum`.

    >>> x = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.Adagrad([x], lr=0.1)
    >>> x.sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([0.9000, 0.9000])
    """

    _function = staticmethod(adagrad)
    _state = {"sum": "state_sums", "step": "state_steps"}
    _old = {"foreach": None, "maximize": False, "differentiable": False, "fused": None}
    _check_fused_without_cuda = True

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        _check_lr(lr)
        _check_not_negative(
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            epsilon=eps,
        )
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        _check_fused(self, fused, foreach, differentiable)
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p] = self._first_state(group, p)

    def _new_state(self, group, p) -> dict:
        start = group["initial_accumulator_value"]
        start = complex(start, start) if torch.is_complex(p) else start
        return {"sum": torch.full_like(p, start, memory_format=torch.preserve_format)}

    def _init_group(self, group, params_with_grad, grads, *columns) -> tuple:
        """Fill the lists with the group's parameters that have a gradient; return whether one is sparse, and complex."""
        has_complex = super()._init_group(group, params_with_grad, grads, *columns)
        return any(grad.is_sparse for grad in grads), has_complex

    def share_memory(self) -> None:
        """Move the accumulators to shared memory, for training from several processes."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()
