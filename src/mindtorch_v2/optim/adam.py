"""Adam (Kingma & Ba, 2015) and its functional form; with decoupled weight decay it is AdamW."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.optim._algorithm import Algorithm, apply_weight_decay, as_real, gradients, run_fused, update_moments
from mindtorch_v2.optim.optimizer import Optimizer as Optimizer
from mindtorch_v2.optim.optimizer import ParamsT as ParamsT
from mindtorch_v2.optim.optimizer import (
    _check_beta_range,
    _check_capturable,
    _check_fused,
    _check_lr,
    _check_not_negative,
    _default_to_fused_or_foreach,
    _get_value,
    _require_tensor_steps,
    _to_scalar,
)

__all__ = ["Adam", "adam"]


def adam(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    exp_avgs: list[torch.Tensor],
    exp_avg_sqs: list[torch.Tensor],
    max_exp_avg_sqs: list[torch.Tensor],
    state_steps: list[torch.Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    grad_scale: torch.Tensor | None = None,
    found_inf: torch.Tensor | None = None,
    has_complex: bool = False,
    decoupled_weight_decay: bool = False,
    *,
    amsgrad: bool,
    beta1: float | torch.Tensor,
    beta2: float | torch.Tensor,
    lr: float | torch.Tensor,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """One Adam step on parallel lists, in place. `foreach=True` asks for no kernel of its own on the CPU.

    >>> from mindtorch_v2.optim.adam import adam
    >>> x, grad = torch.tensor([1.0]), torch.tensor([0.5])
    >>> first, second, step = [torch.zeros(1)], [torch.zeros(1)], [torch.zeros(())]
    >>> adam(
    ...     [x], [grad], first, second, [], step,
    ...     amsgrad=False, beta1=0.9, beta2=0.999, lr=0.1, weight_decay=0.0, eps=1e-8, maximize=False,
    ... )
    >>> x, step
    (tensor([0.9000]), [tensor(1.)])
    """
    if not params:
        return
    if fused is None and foreach is None:
        fused, _ = _default_to_fused_or_foreach(params, differentiable or capturable, use_fused=True)
    _require_tensor_steps(state_steps)
    run = _fused_adam if fused else _single_tensor_adam
    run(
        params,
        grads,
        exp_avgs,
        exp_avg_sqs,
        max_exp_avg_sqs,
        state_steps,
        grad_scale,
        found_inf,
        amsgrad=amsgrad,
        has_complex=has_complex,
        beta1=beta1,
        beta2=beta2,
        lr=lr,
        weight_decay=weight_decay,
        eps=eps,
        maximize=maximize,
        capturable=capturable,
        differentiable=differentiable,
        decoupled_weight_decay=decoupled_weight_decay,
    )


def _single_tensor_adam(
    params,
    grads,
    exp_avgs,
    exp_avg_sqs,
    max_exp_avg_sqs,
    state_steps,
    grad_scale,
    found_inf,
    *,
    amsgrad,
    has_complex,
    beta1,
    beta2,
    lr,
    weight_decay,
    eps,
    maximize,
    capturable,
    differentiable,
    decoupled_weight_decay,
) -> None:
    """The step written with operators, one parameter at a time."""
    if grad_scale is not None or found_inf is not None:
        raise AssertionError("Expected grad_scale and found_inf to be None")
    lr = _to_scalar(lr)
    if capturable:
        _check_capturable(params, state_steps)
    as_tensors = capturable or differentiable
    for i, (param, grad) in enumerate(zip(params, gradients(grads, maximize), strict=True)):
        exp_avg, exp_avg_sq, step_t = exp_avgs[i], exp_avg_sqs[i], state_steps[i]
        step_t += 1
        if differentiable and isinstance(weight_decay, torch.Tensor) and not decoupled_weight_decay:
            grad = grad.addcmul_(param.clone(), weight_decay) if weight_decay != 0 else grad
        else:
            grad = apply_weight_decay(param, grad, weight_decay, lr, decoupled_weight_decay)
        max_sq: Any = max_exp_avg_sqs[i] if amsgrad else None
        target = param
        if torch.is_complex(param):
            target, grad, exp_avg, exp_avg_sq = as_real(param, grad, exp_avg, exp_avg_sq)
            max_sq = torch.view_as_real(max_sq) if amsgrad else None

        if differentiable and isinstance(beta2, torch.Tensor) and beta2.requires_grad:
            exp_avg.lerp_(grad, 1 - beta1)
            exp_avg_sq.lerp_(torch.square(grad), weight=1 - beta2)
        else:
            update_moments(exp_avg, exp_avg_sq, grad, beta1, beta2)

        # The counter of this step, which the next one must not change in its graph.
        step = step_t.clone() if differentiable else step_t if capturable else _get_value(step_t)
        beta1_now, beta2_now = (beta1, beta2) if as_tensors else (_get_value(beta1), _get_value(beta2))
        step_size = lr / (1 - beta1_now**step)
        bias_correction2_sqrt = (1 - beta2_now**step) ** 0.5
        if amsgrad:
            previous_max = max_sq.clone() if differentiable else max_sq
            max_sq.copy_(torch.maximum(previous_max, exp_avg_sq))
            second_moment: Any = max_sq
        else:
            second_moment = exp_avg_sq
        if as_tensors:
            negative = -step_size
            denom = (second_moment.sqrt() / (bias_correction2_sqrt * negative)).add_(eps / negative)
            # The next step changes exp_avg in place, which the graph of this one must not see.
            target.addcdiv_(exp_avg.clone() if differentiable else exp_avg, denom)
        else:
            denom = (second_moment.sqrt() / bias_correction2_sqrt).add_(eps)
            target.addcdiv_(exp_avg, denom, value=-_get_value(step_size))


def _fused_adam(
    params,
    grads,
    exp_avgs,
    exp_avg_sqs,
    max_exp_avg_sqs,
    state_steps,
    grad_scale,
    found_inf,
    *,
    amsgrad,
    has_complex,
    beta1,
    beta2,
    lr,
    weight_decay,
    eps,
    maximize,
    capturable,
    differentiable,
    decoupled_weight_decay,
) -> None:
    """The step as one kernel call per device and dtype."""
    if differentiable:
        raise RuntimeError("Adam with fused=True does not support differentiable=True")
    kernel = torch._fused_adamw_ if decoupled_weight_decay else torch._fused_adam_
    run_fused(
        kernel,
        [params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps],
        grad_scale,
        found_inf,
        lr=_get_value(lr),
        beta1=_get_value(beta1),
        beta2=_get_value(beta2),
        weight_decay=weight_decay,
        eps=eps,
        amsgrad=amsgrad,
        maximize=maximize,
    )


def _check_betas(betas, foreach, capturable) -> None:
    _check_beta_range(betas)
    are_tensors = [isinstance(beta, torch.Tensor) for beta in betas]
    if any(are_tensors) and not all(are_tensors):
        raise ValueError("betas must be either both floats or both Tensors")
    for i, beta in enumerate(betas):
        if isinstance(beta, torch.Tensor):
            # One of several elements has failed the check of its range.
            if not capturable and foreach:
                raise ValueError(f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True")


class Adam(Algorithm):
    """Adam (`torch.optim.Adam`).

    Per step t, for gradient g: m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2;
    p -= lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps). `weight_decay` adds to g, or with
    `decoupled_weight_decay` shrinks p directly. `lr` and `betas` may be one-element tensors.
    State per parameter: `step`, `exp_avg`, `exp_avg_sq`, and `max_exp_avg_sq` with `amsgrad`.

    >>> p = torch.nn.Parameter(torch.ones(2))
    >>> p.sum().backward()
    >>> torch.optim.Adam([p], lr=0.5).step()
    >>> p.detach()
    tensor([0.5000, 0.5000])
    """

    _function = staticmethod(adam)
    _state = {
        "exp_avg": "exp_avgs",
        "exp_avg_sq": "exp_avg_sqs",
        "max_exp_avg_sq": "max_exp_avg_sqs",
        "step": "state_steps",
    }
    _optional = {"max_exp_avg_sq": "amsgrad"}
    _old = {
        "amsgrad": False,
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
        "fused": None,
    }
    _sparse_error = "Adam does not support sparse gradients, please consider SparseAdam instead"

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-3,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        _check_lr(lr, foreach, capturable)
        _check_not_negative(epsilon=eps)
        _check_betas(betas, foreach, capturable)
        _check_not_negative(weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        _check_fused(self, fused, foreach, differentiable)

    def _check_steps(self, group, steps) -> None:
        if group["differentiable"] and any(step.requires_grad for step in steps):
            raise RuntimeError("`requires_grad` is not supported for `step` in differentiable mode")
        if group["foreach"] and isinstance(group["lr"], torch.Tensor) and not group["capturable"]:
            raise RuntimeError("lr as a Tensor is not supported for capturable=False and foreach=True")
