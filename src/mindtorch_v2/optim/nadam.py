"""NAdam, Adam with Nesterov momentum (Dozat, 2016), and its functional form."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.optim._algorithm import (
    Algorithm,
    apply_weight_decay,
    as_real,
    gradients,
    prepare,
    update_moments,
    zeros,
)
from mindtorch_v2.optim.optimizer import Optimizer as Optimizer
from mindtorch_v2.optim.optimizer import ParamsT as ParamsT
from mindtorch_v2.optim.optimizer import (
    _check_beta_range,
    _check_lr,
    _check_not_negative,
    _get_scalar_dtype,
    _get_value,
)

__all__ = ["NAdam", "nadam"]


def nadam(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    exp_avgs: list[torch.Tensor],
    exp_avg_sqs: list[torch.Tensor],
    mu_products: list[torch.Tensor],
    state_steps: list[torch.Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float | torch.Tensor,
    beta2: float | torch.Tensor,
    lr: float | torch.Tensor,
    weight_decay: float,
    momentum_decay: float,
    eps: float,
) -> None:
    """One NAdam step on parallel lists, in place.

    >>> from mindtorch_v2.optim.nadam import nadam
    >>> x, grad = torch.tensor([1.0]), torch.tensor([0.5])
    >>> first, second, product, step = [torch.zeros(1)], [torch.zeros(1)], [torch.ones(())], [torch.zeros(())]
    >>> nadam(
    ...     [x], [grad], first, second, product, step,
    ...     beta1=0.9, beta2=0.999, lr=0.1, weight_decay=0.0, momentum_decay=0.004, eps=1e-8,
    ... )
    >>> x
    tensor([0.8944])
    """
    lr = prepare(params, state_steps, capturable, lr)
    if not all(isinstance(t, torch.Tensor) for t in mu_products):
        raise RuntimeError("API has changed, `mu_products` argument must contain a list of singleton tensors")
    as_tensors = capturable or differentiable
    rows = zip(params, gradients(grads, maximize), exp_avgs, exp_avg_sqs, mu_products, state_steps, strict=True)
    for param, grad, exp_avg, exp_avg_sq, mu_product, step_t in rows:
        param, grad, exp_avg, exp_avg_sq = as_real(param, grad, exp_avg, exp_avg_sq)
        step_t += 1
        step = step_t if capturable else _get_value(step_t)
        bias_correction2 = 1 - beta2**step
        grad = apply_weight_decay(param, grad, weight_decay, lr, decoupled_weight_decay)
        mu = beta1 * (1.0 - 0.5 * (0.96 ** (step * momentum_decay)))
        mu_next = beta1 * (1.0 - 0.5 * (0.96 ** ((step + 1) * momentum_decay)))
        mu_product *= mu
        update_moments(exp_avg, exp_avg_sq, grad, beta1, beta2)
        denom = exp_avg_sq.div(bias_correction2).sqrt()
        if as_tensors:
            denom = denom.add(eps)
            # addcdiv_ takes no tensor for its factor, so the factors go into the dividends.
            grad = grad * (-lr * (1.0 - mu) / (1.0 - mu_product))
            exp_avg = exp_avg * (-lr * mu_next / (1.0 - mu_product * mu_next))
            param.addcdiv_(grad, denom)
            param.addcdiv_(exp_avg, denom)
        else:
            product = _get_value(mu_product)
            denom.add_(eps)
            param.addcdiv_(grad, denom, value=_get_value(-lr * (1.0 - mu) / (1.0 - product)))
            param.addcdiv_(exp_avg, denom, value=_get_value((-lr * mu_next) / (1.0 - product * mu_next)))


class NAdam(Algorithm):
    """NAdam (`torch.optim.NAdam`).

    mu_t = b1 (1 - 0.96^(t * momentum_decay) / 2); the update mixes g and Adam's first moment by mu_t and mu_(t+1).
    State: `step`, `mu_product` (the product of all mu), `exp_avg`, `exp_avg_sq`.

    >>> x = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.NAdam([x], lr=0.1)
    >>> x.sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([0.8944, 0.8944])
    """

    _function = staticmethod(nadam)
    _state = {"exp_avg": "exp_avgs", "exp_avg_sq": "exp_avg_sqs", "mu_product": "mu_products", "step": "state_steps"}
    _old = {
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
    }

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 2e-3,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        _check_lr(lr)
        _check_not_negative(epsilon=eps)
        _check_beta_range(betas)
        _check_not_negative(weight_decay=weight_decay, momentum_decay=momentum_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state.get(p, {})
                if state and not torch.is_tensor(state["mu_product"]):
                    state["mu_product"] = torch.tensor(
                        state["mu_product"],
                        dtype=_get_scalar_dtype(),
                        device=p.device if group["capturable"] else None,
                    )

    def _new_state(self, group, p) -> dict:
        device = p.device if group["capturable"] else None
        product = torch.ones((), dtype=_get_scalar_dtype(), device=device)
        return {"mu_product": product, **zeros(p, "exp_avg", "exp_avg_sq")}
