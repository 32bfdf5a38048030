"""Stochastic gradient descent with momentum, and its functional form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2.optim.optimizer import (
    Optimizer,
    _check_fused,
    _check_lr,
    _default_to_fused_or_foreach,
    _device_dtype_check_for_fused,
    _get_value,
    _run_closure,
    _to_scalar,
    _use_grad_for_differentiable,
)
from mindtorch_v2.utils._foreach_utils import _group_tensors_by_device_and_dtype

if TYPE_CHECKING:
    from mindtorch_v2.optim.optimizer import ParamsT


__all__ = ["SGD", "sgd"]


class SGD(Optimizer):
    """SGD (`torch.optim.SGD`).

    b = momentum * b + (1 - dampening) * g (b = g on a parameter's first step); p -= lr * b, or with `nesterov`
    p -= lr * (g + momentum * b). `weight_decay` adds weight_decay * p to g. State: `momentum_buffer`.

    >>> x = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.SGD([x], lr=0.1, momentum=0.9)
    >>> x.sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([0.9000, 0.9000])
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        _check_lr(lr)
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, defaults)
        _check_fused(self, fused, foreach, differentiable)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("nesterov", False)
            group.setdefault("maximize", False)
            group.setdefault("foreach", None)
            group.setdefault("differentiable", False)
            group.setdefault("fused", False)

    def _init_group(self, group, params, grads, momentum_buffer_list) -> bool:
        """Fill the lists with the group's parameters that have a gradient; return whether one is sparse."""
        has_sparse_grad = False
        for p in group["params"]:
            if p.grad is None:
                continue
            if group["fused"] and getattr(self, "_need_device_dtype_check_for_fused", True):
                _device_dtype_check_for_fused(p)
                self._need_device_dtype_check_for_fused = False
            params.append(p)
            grads.append(p.grad)
            has_sparse_grad |= p.grad.is_sparse
            if group["momentum"] != 0:
                momentum_buffer_list.append(self.state[p].get("momentum_buffer"))
        return has_sparse_grad

    @_use_grad_for_differentiable
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make one step; return the loss of `closure` if one is given."""
        loss = _run_closure(closure)
        for group in self.param_groups:
            params: list[Any] = []
            grads: list[Any] = []
            momentum_buffers: list[Any] = []
            has_sparse_grad = self._init_group(group, params, grads, momentum_buffers)
            sgd(
                params,
                grads,
                momentum_buffers,
                weight_decay=group["weight_decay"],
                momentum=group["momentum"],
                lr=group["lr"],
                dampening=group["dampening"],
                nesterov=group["nesterov"],
                maximize=group["maximize"],
                has_sparse_grad=has_sparse_grad,
                foreach=group["foreach"],
                fused=group["fused"],
                grad_scale=getattr(self, "grad_scale", None),
                found_inf=getattr(self, "found_inf", None),
            )
            if group["momentum"] != 0:
                for p, buffer in zip(params, momentum_buffers, strict=True):
                    self.state[p]["momentum_buffer"] = buffer
        return loss


def sgd(
    params: list[torch.Tensor],
    d_p_list: Sequence[torch.Tensor],
    momentum_buffer_list: list[torch.Tensor | None],
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    fused: bool | None = None,
    grad_scale: torch.Tensor | None = None,
    found_inf: torch.Tensor | None = None,
    *,
    weight_decay: float,
    momentum: float,
    lr: float | torch.Tensor,
    dampening: float,
    nesterov: bool,
    maximize: bool,
) -> None:
    """One SGD step on parallel lists, in place; fills in the missing entries of `momentum_buffer_list`.

    >>> from mindtorch_v2.optim.sgd import sgd
    >>> x, grad = torch.tensor([1.0]), torch.tensor([0.5])
    >>> buffers = [None]
    >>> sgd(
    ...     [x], [grad], buffers,
    ...     weight_decay=0.0, momentum=0.9, lr=0.1, dampening=0.0, nesterov=False, maximize=False,
    ... )
    >>> x, buffers
    (tensor([0.9500]), [tensor([0.5000])])
    """
    if not params:
        return
    if foreach is None and fused is None:
        differentiable = torch.is_grad_enabled() or isinstance(weight_decay, torch.Tensor) or has_sparse_grad
        fused, _ = _default_to_fused_or_foreach(params, differentiable, use_fused=True)
    run = _fused_sgd if fused else _single_tensor_sgd
    run(
        params,
        d_p_list,
        momentum_buffer_list,
        grad_scale,
        found_inf,
        weight_decay=weight_decay,
        momentum=momentum,
        lr=lr,
        dampening=dampening,
        nesterov=nesterov,
        maximize=maximize,
        has_sparse_grad=has_sparse_grad,
    )


def _single_tensor_sgd(
    params,
    grads,
    momentum_buffer_list,
    grad_scale,
    found_inf,
    *,
    weight_decay,
    momentum,
    lr,
    dampening,
    nesterov,
    maximize,
    has_sparse_grad,
) -> None:
    """The step written with operators, one parameter at a time."""
    if grad_scale is not None or found_inf is not None:
        raise AssertionError("Expected grad_scale and found_inf to be None")
    lr = _to_scalar(lr)
    for i, param in enumerate(params):
        grad = -grads[i] if maximize else grads[i]
        if isinstance(weight_decay, torch.Tensor) and weight_decay.requires_grad:
            grad = grad.addcmul(param.clone(), weight_decay)
        elif weight_decay != 0:
            grad = grad.add(param, alpha=_get_value(weight_decay))
        if momentum != 0:
            buffer = momentum_buffer_list[i]
            if buffer is None:
                buffer = grad.detach().clone()
                momentum_buffer_list[i] = buffer
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - dampening)
            grad = grad.add(buffer, alpha=momentum) if nesterov else buffer
        if isinstance(lr, torch.Tensor) and lr.requires_grad:
            param.addcmul_(grad, lr, value=-1)
        else:
            param.add_(grad, alpha=-_get_value(lr))


def _fused_sgd(
    params,
    grads,
    momentum_buffer_list,
    grad_scale,
    found_inf,
    *,
    weight_decay,
    momentum,
    lr,
    dampening,
    nesterov,
    maximize,
    has_sparse_grad,
) -> None:
    """The step as one kernel call per device, dtype and kind (a parameter's first step fills its buffer)."""
    if has_sparse_grad:
        raise RuntimeError("`_fused_sgd` does not support sparse gradients")
    if found_inf is not None and found_inf.item():
        # Buffers of a skipped first step stay missing, so that the next step is the first one.
        return
    groups = _group_tensors_by_device_and_dtype([params, grads, momentum_buffer_list], with_indices=True)
    for (device, _), ((own_params, own_grads, buffers), positions) in groups.items():
        if momentum == 0:
            rounds: list[tuple[bool, Sequence[int]]] = [(False, range(len(own_params)))]
        else:
            fresh = [i for i, buffer in enumerate(buffers) if buffer is None]
            rounds = [(True, fresh), (False, [i for i, buffer in enumerate(buffers) if buffer is not None])]
            for i in fresh:
                buffers[i] = momentum_buffer_list[positions[i]] = torch.empty_like(own_grads[i])
        for is_first_step, chosen in rounds:
            if not chosen:
                continue
            torch._fused_sgd_(
                [own_params[i] for i in chosen],
                [own_grads[i] for i in chosen],
                [buffers[i] for i in chosen] if buffers else [],
                weight_decay=weight_decay,
                momentum=momentum,
                lr=_get_value(lr),
                dampening=dampening,
                nesterov=nesterov,
                maximize=maximize,
                is_first_step=is_first_step,
                grad_scale=None if grad_scale is None else grad_scale.to(device),
            )
