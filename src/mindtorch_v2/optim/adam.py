"""Adam (Kingma & Ba, 2015) and its functional form; with decoupled weight decay it is AdamW."""

import mindtorch_v2 as torch
from mindtorch_v2.optim.optimizer import (
    Optimizer,
    _check_beta_range,
    _check_capturable,
    _check_fused,
    _check_lr,
    _check_not_negative,
    _default_to_fused_or_foreach,
    _device_dtype_check_for_fused,
    _get_value,
    _require_tensor_steps,
    _run_closure,
    _step_counters_to_tensors,
    _to_scalar,
    _use_grad_for_differentiable,
    _zero_step,
)
from mindtorch_v2.utils._foreach_utils import _group_tensors_by_device_and_dtype

__all__ = ["Adam", "adam"]


def _check_betas(betas, foreach, capturable):
    _check_beta_range(betas)
    are_tensors = [isinstance(beta, torch.Tensor) for beta in betas]
    if any(are_tensors) and not all(are_tensors):
        raise ValueError("betas must be either both floats or both Tensors")
    for i, beta in enumerate(betas):
        if isinstance(beta, torch.Tensor):
            if not capturable and foreach:
                raise ValueError(f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True")
            if beta.numel() != 1:
                raise ValueError(f"Tensor betas[{i}] must be 1-element")


class Adam(Optimizer):
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

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        amsgrad=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
        fused=None,
        decoupled_weight_decay=False,
    ):
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

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("amsgrad", False)
            group.setdefault("maximize", False)
            group.setdefault("foreach", None)
            group.setdefault("capturable", False)
            group.setdefault("differentiable", False)
            group.setdefault("decoupled_weight_decay", False)
            group.setdefault("fused", None)
        _step_counters_to_tensors(self)

    def _init_group(self, group, params_with_grad, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps):
        """Fills the lists with the group's parameters that have a gradient; returns whether one is complex."""
        has_complex = False
        amsgrad, fused, capturable = group["amsgrad"], group["fused"], group["capturable"]
        for p in group["params"]:
            grad = p.grad
            if grad is None:
                continue
            has_complex |= p.dtype.is_complex
            params_with_grad.append(p)
            if grad.is_sparse:
                raise RuntimeError("Adam does not support sparse gradients, please consider SparseAdam instead")
            grads.append(grad)
            state = self.state[p]
            if not state:
                if fused:
                    _device_dtype_check_for_fused(p)
                state["step"] = _zero_step(capturable, fused, p.device)
                state["exp_avg"] = torch.zeros_like(p, memory_format=torch.preserve_format)
                state["exp_avg_sq"] = torch.zeros_like(p, memory_format=torch.preserve_format)
                if amsgrad:
                    state["max_exp_avg_sq"] = torch.zeros_like(p, memory_format=torch.preserve_format)
            exp_avgs.append(state["exp_avg"])
            exp_avg_sqs.append(state["exp_avg_sq"])
            if amsgrad:
                max_exp_avg_sqs.append(state["max_exp_avg_sq"])
            step = state["step"]
            if group["differentiable"] and step.requires_grad:
                raise RuntimeError("`requires_grad` is not supported for `step` in differentiable mode")
            if group["foreach"] and isinstance(group["lr"], torch.Tensor) and not capturable:
                raise RuntimeError("lr as a Tensor is not supported for capturable=False and foreach=True")
            state_steps.append(step)
        return has_complex

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Makes one step; returns the loss of `closure` if one is given."""
        self._cuda_graph_capture_health_check()
        loss = _run_closure(closure)
        for group in self.param_groups:
            params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps = [], [], [], [], [], []
            has_complex = self._init_group(group, params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps)
            beta1, beta2 = group["betas"]
            adam(
                params,
                grads,
                exp_avgs,
                exp_avg_sqs,
                max_exp_avg_sqs,
                state_steps,
                amsgrad=group["amsgrad"],
                has_complex=has_complex,
                beta1=beta1,
                beta2=beta2,
                lr=group["lr"],
                weight_decay=group["weight_decay"],
                eps=group["eps"],
                maximize=group["maximize"],
                foreach=group["foreach"],
                capturable=group["capturable"],
                differentiable=group["differentiable"],
                fused=group["fused"],
                grad_scale=getattr(self, "grad_scale", None),
                found_inf=getattr(self, "found_inf", None),
                decoupled_weight_decay=group["decoupled_weight_decay"],
            )
        return loss


def adam(
    params,
    grads,
    exp_avgs,
    exp_avg_sqs,
    max_exp_avg_sqs,
    state_steps,
    foreach=None,
    capturable=False,
    differentiable=False,
    fused=None,
    grad_scale=None,
    found_inf=None,
    has_complex=False,
    decoupled_weight_decay=False,
    *,
    amsgrad,
    beta1,
    beta2,
    lr,
    weight_decay,
    eps,
    maximize,
):
    """One Adam step on parallel lists, in place. `foreach=True` asks for no kernel of its own on the CPU."""
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
):
    """The step written with operators, one parameter at a time."""
    if grad_scale is not None or found_inf is not None:
        raise AssertionError("Expected grad_scale and found_inf to be None")
    lr = _to_scalar(lr)
    if capturable:
        _check_capturable(params, state_steps)
    as_tensors = capturable or differentiable
    for i, param in enumerate(params):
        grad = -grads[i] if maximize else grads[i]
        exp_avg, exp_avg_sq, step_t = exp_avgs[i], exp_avg_sqs[i], state_steps[i]
        step_t += 1
        if weight_decay != 0:
            if decoupled_weight_decay:
                param.mul_(1 - lr * weight_decay)
            elif differentiable and isinstance(weight_decay, torch.Tensor):
                grad = grad.addcmul_(param.clone(), weight_decay)
            else:
                grad = grad.add(param, alpha=weight_decay)
        max_sq = max_exp_avg_sqs[i] if amsgrad else None
        target = param
        if torch.is_complex(param):
            grad, exp_avg, exp_avg_sq = (torch.view_as_real(t) for t in (grad, exp_avg, exp_avg_sq))
            max_sq = torch.view_as_real(max_sq) if amsgrad else None
            target = torch.view_as_real(param)

        exp_avg.lerp_(grad, 1 - beta1)
        if differentiable and isinstance(beta2, torch.Tensor):
            if beta2.requires_grad:
                exp_avg_sq.lerp_(torch.square(grad), weight=1 - beta2)
            else:
                exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=_get_value(1 - beta2))
        else:
            exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=_get_value(1 - beta2))

        step = step_t if as_tensors else _get_value(step_t)
        beta1_now, beta2_now = (beta1, beta2) if as_tensors else (_get_value(beta1), _get_value(beta2))
        step_size = lr / (1 - beta1_now**step)
        bias_correction2_sqrt = (1 - beta2_now**step) ** 0.5
        if amsgrad:
            previous_max = max_sq.clone() if differentiable else max_sq
            max_sq.copy_(torch.maximum(previous_max, exp_avg_sq))
            second_moment = max_sq
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
):
    """The step as one kernel call per device and dtype."""
    if differentiable:
        raise RuntimeError("Adam with fused=True does not support differentiable=True")
    kernel = torch._fused_adamw_ if decoupled_weight_decay else torch._fused_adam_
    groups = _group_tensors_by_device_and_dtype([params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps])
    for (device, _), (columns, _) in groups.items():
        steps = columns[5]
        scale = None if grad_scale is None else grad_scale.to(device)
        inf = None if found_inf is None else found_inf.to(device)
        torch._foreach_add_(steps, 1)
        kernel(
            *columns,
            lr=_get_value(lr),
            beta1=_get_value(beta1),
            beta2=_get_value(beta2),
            weight_decay=weight_decay,
            eps=eps,
            amsgrad=amsgrad,
            maximize=maximize,
            grad_scale=scale,
            found_inf=inf,
        )
        if inf is not None:
            # A skipped step does not count.
            torch._foreach_sub_(steps, [inf] * len(steps))
