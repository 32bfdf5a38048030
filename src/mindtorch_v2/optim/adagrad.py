"""Adagrad (Duchi et al., 2011) and its functional form."""

import mindtorch_v2 as torch
from mindtorch_v2.optim.optimizer import (
    Optimizer,
    _check_fused,
    _check_lr,
    _check_not_negative,
    _default_to_fused_or_foreach,
    _device_dtype_check_for_fused,
    _get_scalar_dtype,
    _get_value,
    _require_tensor_steps,
    _run_closure,
    _step_counters_to_tensors,
    _to_scalar,
    _use_grad_for_differentiable,
)
from mindtorch_v2.utils._foreach_utils import _group_tensors_by_device_and_dtype

__all__ = ["Adagrad", "adagrad"]


class Adagrad(Optimizer):
    """Adagrad (`torch.optim.Adagrad`).

    s += g^2; p -= lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + eps). State, there from the start: `step`, `sum`.
    """

    def __init__(
        self,
        params,
        lr=1e-2,
        lr_decay=0,
        weight_decay=0,
        initial_accumulator_value=0,
        eps=1e-10,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        fused=None,
    ):
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
                if group["fused"]:
                    _device_dtype_check_for_fused(p, cuda_unsupported=True)
                init = group["initial_accumulator_value"]
                if torch.is_complex(p):
                    init = complex(init, init)
                self.state[p] = {
                    "step": torch.zeros((), dtype=_get_scalar_dtype(is_fused=True), device=p.device)
                    if group["fused"]
                    else torch.tensor(0.0, dtype=_get_scalar_dtype()),
                    "sum": torch.full_like(p, init, memory_format=torch.preserve_format),
                }

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("foreach", None)
            group.setdefault("maximize", False)
            group.setdefault("differentiable", False)
            group.setdefault("fused", None)
        _step_counters_to_tensors(self)

    def share_memory(self):
        """Moves the accumulators to shared memory, for training from several processes."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    def _init_group(self, group, params_with_grad, grads, state_sums, state_steps):
        has_sparse_grad, has_complex = False, False
        for p in group["params"]:
            if p.grad is None:
                continue
            has_sparse_grad |= p.grad.is_sparse
            has_complex |= p.dtype.is_complex
            params_with_grad.append(p)
            grads.append(p.grad)
            state_sums.append(self.state[p]["sum"])
            state_steps.append(self.state[p]["step"])
        return has_sparse_grad, has_complex

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Makes one step; returns the loss of `closure` if one is given."""
        loss = _run_closure(closure)
        for group in self.param_groups:
            params, grads, state_sums, state_steps = [], [], [], []
            has_sparse_grad, has_complex = self._init_group(group, params, grads, state_sums, state_steps)
            adagrad(
                params,
                grads,
                state_sums,
                state_steps,
                lr=group["lr"],
                weight_decay=group["weight_decay"],
                lr_decay=group["lr_decay"],
                eps=group["eps"],
                has_sparse_grad=has_sparse_grad,
                foreach=group["foreach"],
                maximize=group["maximize"],
                differentiable=group["differentiable"],
                has_complex=has_complex,
                fused=group["fused"],
                grad_scale=getattr(self, "grad_scale", None),
                found_inf=getattr(self, "found_inf", None),
            )
        return loss


def adagrad(
    params,
    grads,
    state_sums,
    state_steps,
    fused=None,
    grad_scale=None,
    found_inf=None,
    has_sparse_grad=False,
    foreach=None,
    differentiable=False,
    has_complex=False,
    *,
    lr,
    weight_decay,
    lr_decay,
    eps,
    maximize,
):
    """One Adagrad step on parallel lists, in place."""
    if not params:
        return
    _require_tensor_steps(state_steps)
    if fused is None and foreach is None:
        fused, _ = _default_to_fused_or_foreach(params, differentiable or has_sparse_grad, use_fused=True)
    if fused:
        _fused_adagrad(
            params,
            grads,
            state_sums,
            state_steps,
            grad_scale,
            found_inf,
            lr=lr,
            weight_decay=weight_decay,
            lr_decay=lr_decay,
            eps=eps,
            maximize=maximize,
        )
        return
    if grad_scale is not None or found_inf is not None:
        raise AssertionError("Expected grad_scale and found_inf to be None")
    lr = _to_scalar(lr)
    for param, grad, state_sum, step_t in zip(params, grads, state_sums, state_steps, strict=True):
        step_t += 1
        step = step_t if differentiable else _get_value(step_t)
        if maximize:
            grad = -grad
        if weight_decay != 0:
            if grad.is_sparse:
                raise RuntimeError("weight_decay option is not compatible with sparse gradients")
            grad = grad.add(param, alpha=weight_decay)
        clr = lr / (1 + (step - 1) * lr_decay)
        if grad.is_sparse:
            grad = grad.coalesce()
            indices, slopes = grad._indices(), grad._values()
            state_sum.add_(torch.sparse_coo_tensor(indices, slopes * slopes, grad.shape))
            scale = state_sum.sparse_mask(grad)._values().sqrt().add_(eps)
            param.add_(torch.sparse_coo_tensor(indices, slopes / scale, grad.shape), alpha=-_get_value(clr))
            continue
        target = param
        if torch.is_complex(param):
            grad, state_sum, target = (torch.view_as_real(t) for t in (grad, state_sum, param))
        state_sum.addcmul_(grad, grad, value=1)
        std = state_sum.sqrt() + eps if differentiable else state_sum.sqrt().add_(eps)
        target.addcdiv_(grad, std, value=-_get_value(clr))


def _fused_adagrad(
    params, grads, state_sums, state_steps, grad_scale, found_inf, *, lr, weight_decay, lr_decay, eps, maximize
):
    """The step as one kernel call per device and dtype."""
    groups = _group_tensors_by_device_and_dtype([params, grads, state_sums, state_steps])
    for (device, _), (columns, _) in groups.items():
        inf = None if found_inf is None else found_inf.to(device)
        torch._foreach_add_(columns[3], 1)
        torch._fused_adagrad_(
            *columns,
            lr=_get_value(lr),
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            eps=eps,
            maximize=maximize,
            grad_scale=None if grad_scale is None else grad_scale.to(device),
            found_inf=inf,
        )
        if inf is not None:
            # A skipped step does not count.
            torch._foreach_sub_(columns[3], [inf] * len(columns[3]))
