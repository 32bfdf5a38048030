"""Muon (Jordan et al., 2024): momentum whose update matrices are made orthogonal by Newton-Schulz iterations."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2.optim.optimizer import Optimizer, _run_closure

if TYPE_CHECKING:
    from mindtorch_v2.optim.optimizer import ParamsT


__all__ = ["Muon"]


def _orthogonalize(grad, coefficients, steps, eps) -> torch.Tensor:
    """The nearest (semi-)orthogonal matrix to `grad`, approximately, in bfloat16."""
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(grad.shape) != 2:
        raise ValueError("Input tensor gradient must be a 2D matrix")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    x = grad.bfloat16()
    tall = grad.size(0) > grad.size(1)
    if tall:
        x = x.T
    # Singular values must be at most one for the iteration to converge.
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


def _adjust_lr(lr, adjust_lr_fn, shape) -> float:
    rows, columns = shape[:2]
    if adjust_lr_fn is None or adjust_lr_fn == "original":
        return lr * math.sqrt(max(1, rows / columns))
    return lr * 0.2 * math.sqrt(max(rows, columns))


class Muon(Optimizer):
    """Muon (`torch.optim.Muon`), for matrices (hidden layers' weights); ValueError for other parameters.

    `adjust_lr_fn` is None or "original" (rate times sqrt(max(1, rows / columns))) or "match_rms_adamw" (rate times
    0.2 sqrt(max(rows, columns))). State: `momentum_buffer`.

    >>> x = torch.eye(2, requires_grad=True)
    >>> optimizer = torch.optim.Muon([x], lr=0.1)
    >>> x.sum().backward()
    >>> optimizer.step()
    >>> x.shape
    torch.Size([2, 2])
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: Sequence[float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not 0.0 <= lr:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not 0.0 <= momentum:
            raise ValueError(f"momentum should be >= 0 but is: {momentum}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"weight decay should be >= 0 but is: {weight_decay}")
        if adjust_lr_fn is not None and adjust_lr_fn not in ["original", "match_rms_adamw"]:
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}"
                    )

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make one step; return the loss of `closure` if one is given."""
        loss = _run_closure(closure)
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                if torch.is_complex(p):
                    raise RuntimeError("Muon does not support complex parameters")
                if p.grad.is_sparse:
                    raise RuntimeError("Muon does not support sparse gradients")
                state = self.state[p]
                if not state:
                    state["momentum_buffer"] = torch.zeros_like(p.grad, memory_format=torch.preserve_format)
                self._update(p, state["momentum_buffer"], group)
        return loss

    @staticmethod
    def _update(p, buffer, group) -> None:
        grad, momentum = p.grad, group["momentum"]
        buffer.lerp_(grad, 1 - momentum)
        update = grad.lerp(buffer, momentum) if group["nesterov"] else buffer
        update = _orthogonalize(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        p.mul_(1 - group["lr"] * group["weight_decay"])
        p.add_(update, alpha=-_adjust_lr(float(group["lr"]), group["adjust_lr_fn"], p.shape))
