"""NAdam, Adam with Nesterov momentum (Dozat, 2016), and its functional form."""

import mindtorch_v2 as torch
from mindtorch_v2.optim._lists import collect, set_group_defaults
from mindtorch_v2.optim.optimizer import (
    Optimizer,
    _check_beta_range,
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

__all__ = ["NAdam", "nadam"]


class NAdam(Optimizer):
    """NAdam (`torch.optim.NAdam`).

    mu_t = b1 (1 - 0.96^(t * momentum_decay) / 2); the update mixes g and Adam's first moment by mu_t and mu_(t+1).
    State: `step`, `mu_product` (the product of all mu), `exp_avg`, `exp_avg_sq`.
    """

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        momentum_decay=4e-3,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
    ):
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

    def __setstate__(self, state):
        super().__setstate__(state)
        set_group_defaults(
            self, maximize=False, foreach=None, capturable=False, differentiable=False, decoupled_weight_decay=False
        )
        _step_counters_to_tensors(self)
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state.get(p, {})
                if state and not torch.is_tensor(state["mu_product"]):
                    state["mu_product"] = torch.tensor(
                        state["mu_product"],
                        dtype=_get_scalar_dtype(),
                        device=p.device if group["capturable"] else None,
                    )

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Makes one step; returns the loss of `closure` if one is given."""
        loss = _run_closure(closure)
        for group in self.param_groups:

            def create(p, group=group):
                device = p.device if group["capturable"] else None
                return {
                    "mu_product": torch.ones((), dtype=_get_scalar_dtype(), device=device),
                    "exp_avg": torch.zeros_like(p, memory_format=torch.preserve_format),
                    "exp_avg_sq": torch.zeros_like(p, memory_format=torch.preserve_format),
                }

            has_complex, params, grads, steps, mu_products, exp_avgs, exp_avg_sqs = collect(
                self,
                group,
                create,
                ("step", "mu_product", "exp_avg", "exp_avg_sq"),
                "NAdam does not support sparse gradients",
            )
            beta1, beta2 = group["betas"]
            nadam(
                params,
                grads,
                exp_avgs,
                exp_avg_sqs,
                mu_products,
                steps,
                beta1=beta1,
                beta2=beta2,
                lr=group["lr"],
                weight_decay=group["weight_decay"],
                momentum_decay=group["momentum_decay"],
                eps=group["eps"],
                maximize=group["maximize"],
                decoupled_weight_decay=group["decoupled_weight_decay"],
                foreach=group["foreach"],
                capturable=group["capturable"],
                differentiable=group["differentiable"],
                has_complex=has_complex,
            )
        return loss


def nadam(
    params,
    grads,
    exp_avgs,
    exp_avg_sqs,
    mu_products,
    state_steps,
    decoupled_weight_decay=False,
    foreach=None,
    capturable=False,
    differentiable=False,
    has_complex=False,
    maximize=False,
    *,
    beta1,
    beta2,
    lr,
    weight_decay,
    momentum_decay,
    eps,
):
    """One NAdam step on parallel lists, in place."""
    _require_tensor_steps(state_steps)
    if not all(isinstance(t, torch.Tensor) for t in mu_products):
        raise RuntimeError("API has changed, `mu_products` argument must contain a list of singleton tensors")
    if capturable:
        _check_capturable(params, state_steps)
    lr = _to_scalar(lr)
    as_tensors = capturable or differentiable
    for i, param in enumerate(params):
        grad = -grads[i] if maximize else grads[i]
        exp_avg, exp_avg_sq, mu_product, step_t = exp_avgs[i], exp_avg_sqs[i], mu_products[i], state_steps[i]
        if torch.is_complex(param):
            param, grad, exp_avg, exp_avg_sq = (torch.view_as_real(t) for t in (param, grad, exp_avg, exp_avg_sq))
        step_t += 1
        step = step_t if capturable else _get_value(step_t)
        bias_correction2 = 1 - beta2**step
        if weight_decay != 0:
            if decoupled_weight_decay:
                param.mul_(1 - lr * weight_decay)
            else:
                grad = grad.add(param, alpha=weight_decay)
        mu = beta1 * (1.0 - 0.5 * (0.96 ** (step * momentum_decay)))
        mu_next = beta1 * (1.0 - 0.5 * (0.96 ** ((step + 1) * momentum_decay)))
        mu_product *= mu
        exp_avg.lerp_(grad, 1 - beta1)
        exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
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
