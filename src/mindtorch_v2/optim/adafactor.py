"""Adafactor (Shazeer & Stern, 2018): Adam's second moment kept as row and column means."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2.optim.optimizer import (
    Optimizer,
    _get_scalar_dtype,
    _get_value,
    _require_tensor_steps,
    _run_closure,
    _step_counters_to_tensors,
)

if TYPE_CHECKING:
    from mindtorch_v2.optim.optimizer import ParamsT


__all__ = ["Adafactor", "adafactor"]


class Adafactor(Optimizer):
    """Adafactor (`torch.optim.Adafactor`).

    `eps` is (floor of the squared gradient, by default the dtype's epsilon; floor of the parameter scale); updates
    whose root mean square exceeds `d` are scaled down. State: `step`, and `row_var`, `col_var` for parameters of two
    or more dimensions, `variance` for others.

    >>> x = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.Adafactor([x], lr=0.1)
    >>> x.sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([0.9000, 0.9000])
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not 0.0 <= lr:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not 0.0 >= beta2_decay:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not 0.0 <= eps[0]:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not 0.0 <= eps[1]:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not 1.0 <= d:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("foreach", None)
        _step_counters_to_tensors(self)

    def _init_group(self, group, params_with_grad, grads, row_vars, col_vars, variances, state_steps) -> bool:
        for p in group["params"]:
            if p.grad is None:
                continue
            if torch.is_complex(p):
                raise RuntimeError("Adafactor does not support complex parameters")
            if p.grad.is_sparse:
                raise RuntimeError("Adafactor does not support sparse gradients")
            params_with_grad.append(p)
            grads.append(p.grad)
            state = self.state[p]
            if not state:
                state["step"] = torch.tensor(0.0, dtype=_get_scalar_dtype())
                if p.grad.dim() > 1:
                    row_shape, col_shape = list(p.grad.shape), list(p.grad.shape)
                    row_shape[-1] = col_shape[-2] = 1
                    state["row_var"] = p.grad.new_zeros(row_shape)
                    state["col_var"] = p.grad.new_zeros(col_shape)
                else:
                    state["variance"] = torch.zeros_like(p.grad, memory_format=torch.preserve_format)
            row_vars.append(state.get("row_var"))
            col_vars.append(state.get("col_var"))
            variances.append(state.get("variance"))
            state_steps.append(state["step"])
        return False

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make one step; return the loss of `closure` if one is given."""
        self._cuda_graph_capture_health_check()
        loss = _run_closure(closure)
        for group in self.param_groups:
            lists: list[Any] = [[] for _ in range(6)]
            has_complex = self._init_group(group, *lists)
            eps1, eps2 = group["eps"]
            params, grads, row_vars, col_vars, variances, steps = lists
            adafactor(
                params,
                grads,
                row_vars,
                col_vars,
                variances,
                steps,
                d=group["d"],
                lr=group["lr"],
                beta2_decay=group["beta2_decay"],
                weight_decay=group["weight_decay"],
                eps1=eps1,
                eps2=eps2,
                foreach=group["foreach"],
                maximize=group["maximize"],
                grad_scale=getattr(self, "grad_scale", None),
                found_inf=getattr(self, "found_inf", None),
                has_complex=has_complex,
            )
        return loss


def adafactor(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    row_vars: list[Any],
    col_vars: list[Any],
    variances: list[Any],
    state_steps: list[torch.Tensor],
    foreach: bool | None = None,
    grad_scale: torch.Tensor | None = None,
    found_inf: torch.Tensor | None = None,
    has_complex: bool = False,
    *,
    d: float,
    lr: float | torch.Tensor,
    beta2_decay: float,
    weight_decay: float,
    eps1: float | None,
    eps2: float,
    maximize: bool,
) -> None:
    """One Adafactor step on parallel lists, in place."""
    _require_tensor_steps(state_steps)
    if grad_scale is not None or found_inf is not None:
        raise AssertionError("Grad scaling should occur outside of optimizer.step()")
    lr = _get_value(lr)
    for i, param in enumerate(params):
        grad = -grads[i] if maximize else grads[i]
        floor = torch.finfo(param.dtype).eps if eps1 is None else eps1
        state_steps[i] += 1
        step = state_steps[i].item()
        weight = step**beta2_decay
        rate = min(lr, 1 / step**0.5)
        scale = max(eps2, param.norm(2).item() / param.numel() ** 0.5)
        if weight_decay != 0:
            param.mul_(1 - lr * weight_decay)
        if grad.dim() > 1:
            row_var, col_var = row_vars[i], col_vars[i]
            row_var.lerp_(torch.linalg.vector_norm(grad, dim=-1, keepdim=True).square_().div_(grad.size(-1)), weight)
            col_var.lerp_(torch.linalg.vector_norm(grad, dim=-2, keepdim=True).square_().div_(grad.size(-2)), weight)
            estimate = row_var @ col_var
            estimate.div_(row_var.mean(dim=-2, keepdim=True).clamp_(min=floor))
        else:
            variances[i].lerp_(grad.square(), weight)
            estimate = variances[i].clone()
        update = estimate.clamp_(min=floor * floor).rsqrt_().mul_(grad)
        excess = max(1.0, update.norm(2).item() / (update.numel() ** 0.5 * d))
        param.add_(update, alpha=-(scale * rate) / excess)
