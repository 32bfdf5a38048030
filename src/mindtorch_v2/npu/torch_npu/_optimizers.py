"""Optimizers of torch_npu that PyTorch has none of: their formulas, parameter by parameter."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor

if TYPE_CHECKING:
    from mindtorch_v2.optim.optimizer import ParamsT

__all__ = ["NpuFusedAdamP", "NpuFusedBertAdam", "NpuFusedLamb", "NpuFusedOptimizerBase", "NpuFusedRMSpropTF"]


class NpuFusedOptimizerBase:
    """The methods that the fused optimizers have beside PyTorch's."""

    param_groups: Any

    is_npu_fused_optimizer = True

    def clip_grad_norm_fused_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Clip the norm of all gradients together, and return what it was."""
        parameters = [p for group in self.param_groups for p in group["params"]]
        return torch.nn.utils.clip_grad_norm_(parameters, max_norm, norm_type)

    def zero_grad(self, set_to_none: bool = False) -> None:
        """Set gradients to zero; to None only if asked to."""
        super().zero_grad(set_to_none=set_to_none)  # type: ignore[misc]  # (of the optimizer that it is mixed into)


def _check(name: str, least: float, **values: float) -> None:
    for what, value in values.items():
        if value < least:
            raise ValueError(f"{name}: {what} must be at least {least}, but it is {value}")


def _check_betas(name: str, betas: tuple[float, float]) -> None:
    for place, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"{name}: the beta at index {place} must be from 0 to below 1, but it is {beta}")


class _ByFormula(NpuFusedOptimizerBase, torch.optim.Optimizer):
    """An optimizer that steps each parameter on its own."""

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step; RuntimeError for sparse gradients. Returns what `closure` does, which is called first."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        with torch.no_grad():
            self._begin()
            for group in self.param_groups:
                moved = [p for p in group["params"] if p.grad is not None]
                if any(p.grad.is_sparse for p in moved):
                    raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")
                self._step_group(group, moved)
        return loss

    def _begin(self) -> None:
        """Look at all gradients before any parameter moves."""

    def _step_group(self, group: dict[str, Any], moved: list[Any]) -> None:
        raise NotImplementedError

    def _state_of(self, p: Any, *names: str) -> dict[str, Any]:
        state = self.state[p]
        if not state:
            state["step"] = 0
            state.update((name, torch.zeros_like(p)) for name in names)
        return state


def _moments(state: dict[str, Any], grad: Tensor, beta1: float, beta2: float) -> tuple[Tensor, Tensor]:
    first, second = state["exp_avg"], state["exp_avg_sq"]
    first.mul_(beta1).add_(grad, alpha=1 - beta1)
    second.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    return first, second


class NpuFusedLamb(_ByFormula):
    """LAMB (You et al., 2019) without bias correction; the norm of a parameter counts up to 10.

    Args:
        adam: leave the ratio of norms out.
        use_global_grad_norm: divide gradients by the norm of all of them where that is above 1.
    """

    def __init__(
        self, params: ParamsT, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-6,
        weight_decay: float = 0, adam: bool = False, use_global_grad_norm: bool = False,
    ) -> None:  # fmt: skip
        _check("NpuFusedLamb", 0.0, lr=lr, eps=eps)
        _check_betas("NpuFusedLamb", betas)
        self.adam, self.use_global_grad_norm, self._divisor = adam, use_global_grad_norm, 1.0
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    def _begin(self) -> None:
        if self.use_global_grad_norm:
            grads = [p.grad for group in self.param_groups for p in group["params"] if p.grad is not None]
            self._divisor = max(1.0, float(torch.nn.utils.get_total_norm(grads)))

    def _step_group(self, group: dict[str, Any], moved: list[Any]) -> None:
        for p in moved:
            state = self._state_of(p, "exp_avg", "exp_avg_sq")
            state["step"] += 1
            grad = p.grad / self._divisor if self._divisor > 1 else p.grad
            first, second = _moments(state, grad, *group["betas"])
            update = first / second.sqrt().add(group["eps"])
            if group["weight_decay"]:
                update = update.add(p, alpha=group["weight_decay"])
            if not self.adam:
                weight, length = p.norm().clamp(0, 10), update.norm()
                update = update * torch.where((weight == 0) | (length == 0), torch.ones_like(weight), weight / length)
            p.add_(update, alpha=-group["lr"])


class NpuFusedRMSpropTF(_ByFormula):
    """RMSprop as TensorFlow has it: eps within the root, mean squares that begin at one, the rate within the momentum.

    Args:
        centered: subtract the square of the mean gradient.
        decoupled_decay: take `weight_decay` times the parameter off instead of adding it to the gradient.
        lr_in_momentum: let the momentum gather steps, not gradients.
    """

    def __init__(
        self, params: ParamsT, lr: float = 1e-2, alpha: float = 0.9, eps: float = 1e-10, weight_decay: float = 0,
        momentum: float = 0.0, centered: bool = False, decoupled_decay: bool = False, lr_in_momentum: bool = True,
    ) -> None:  # fmt: skip
        numbers = {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay, "momentum": momentum}
        _check("NpuFusedRMSpropTF", 0.0, **numbers)
        flags = {"centered": centered, "decoupled_decay": decoupled_decay, "lr_in_momentum": lr_in_momentum}
        super().__init__(params, {**numbers, **flags})

    def _step_group(self, group: dict[str, Any], moved: list[Any]) -> None:
        share, rate = 1 - group["alpha"], group["lr"]
        for p in moved:
            state = self._state_of(p, "grad_avg", "momentum_buffer")
            state.setdefault("square_avg", torch.ones_like(p))
            state["step"] += 1
            grad = p.grad
            if group["weight_decay"] and group["decoupled_decay"]:
                p.mul_(1 - group["weight_decay"])
            elif group["weight_decay"]:
                grad = grad.add(p, alpha=group["weight_decay"])
            square = state["square_avg"]
            square.add_(grad.square() - square, alpha=share)
            if group["centered"]:
                mean = state["grad_avg"]
                mean.add_(grad - mean, alpha=share)
                square = square - mean.square()
            update = grad / square.add(group["eps"]).sqrt()
            if group["momentum"] > 0:
                buffer = state["momentum_buffer"].mul_(group["momentum"])
                inner, outer = (rate, 1.0) if group["lr_in_momentum"] else (1.0, rate)
                p.add_(buffer.add_(update, alpha=inner), alpha=-outer)
            else:
                p.add_(update, alpha=-rate)


class NpuFusedAdamP(_ByFormula):
    """AdamP (Heo et al., 2020): Adam whose step is held across a parameter that its gradient is nearly at right angles to.

    Args:
        delta: how near to a right angle, by cosine times the root of the row's length.
        wd_ratio: the share of `weight_decay` that such a parameter keeps.
        nesterov: look ahead with the gradient.
    """

    def __init__(
        self, params: ParamsT, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, delta: float = 0.1, wd_ratio: float = 0.1, nesterov: bool = False,
    ) -> None:  # fmt: skip
        _check("NpuFusedAdamP", 0.0, lr=lr, eps=eps, weight_decay=weight_decay)
        _check_betas("NpuFusedAdamP", betas)
        numbers = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "delta": delta}
        super().__init__(params, {**numbers, "wd_ratio": wd_ratio, "nesterov": nesterov})

    @staticmethod
    def _across(p: Any, update: Tensor, group: dict[str, Any]) -> tuple[Tensor, float]:
        """The update without its part along the rows of a parameter, or along all of it; and the share of weight decay."""
        eps, ones = group["eps"], [-1] + [1] * (p.dim() - 1)
        for rows in (p.shape[0], 1):
            flat, grad = p.reshape(rows, -1), p.grad.reshape(rows, -1)
            cosine = (flat * grad).sum(1).abs() / ((flat.norm(dim=1) + eps) * (grad.norm(dim=1) + eps))
            if cosine.max() < group["delta"] / math.sqrt(flat.shape[1]):
                unit = p / flat.norm(dim=1).reshape(ones).add(eps)
                along = (unit * update).reshape(rows, -1).sum(1).reshape(ones)
                return update - unit * along, group["wd_ratio"]
        return update, 1.0

    def _step_group(self, group: dict[str, Any], moved: list[Any]) -> None:
        beta1, beta2 = group["betas"]
        for p in moved:
            state = self._state_of(p, "exp_avg", "exp_avg_sq")
            state["step"] += 1
            first, second = _moments(state, p.grad, beta1, beta2)
            root = second.sqrt() / math.sqrt(1 - beta2 ** state["step"]) + group["eps"]
            ahead = beta1 * first + (1 - beta1) * p.grad if group["nesterov"] else first
            update, share = ahead / root, 1.0
            if p.dim() > 1:
                update, share = self._across(p, update, group)
            if group["weight_decay"] > 0:
                p.mul_(1 - group["lr"] * group["weight_decay"] * share)
            p.add_(update, alpha=-group["lr"] / (1 - beta1 ** state["step"]))


_SCHEDULES: dict[str, Callable[[float, float], float]] = {
    "warmup_cosine": lambda x, warmup: 0.5 * (1.0 + math.cos(math.pi * x)),
    "warmup_constant": lambda x, warmup: 1.0,
    "warmup_linear": lambda x, warmup: max((x - 1.0) / (warmup - 1.0), 0.0),
    "warmup_poly": lambda x, warmup: (1.0 - x) ** 0.5,
}


class NpuFusedBertAdam(_ByFormula):
    """Adam as BERT was trained: no bias correction, decoupled decay, a warm-up, gradients of one dtype clipped together.

    Args:
        warmup: the share of `t_total` steps in which the rate grows.
        t_total: all steps, for `schedule` ("warmup_linear", "warmup_cosine", "warmup_constant" or "warmup_poly"); -1 for none.
        max_grad_norm: the norm that gradients are clipped to; -1 for none.
    """

    def __init__(
        self, params: ParamsT, lr: float, warmup: float = -1, t_total: int = -1, schedule: str = "warmup_linear",
        b1: float = 0.9, b2: float = 0.999, e: float = 1e-6, weight_decay: float = 0.01, max_grad_norm: float = 1.0,
    ) -> None:  # fmt: skip
        _check("NpuFusedBertAdam", 0.0, lr=lr, e=e)
        _check_betas("NpuFusedBertAdam", (b1, b2))
        if schedule not in _SCHEDULES:
            raise ValueError(
                f"NpuFusedBertAdam: schedule must be one of {', '.join(_SCHEDULES)}, but it is {schedule!r}"
            )
        if not (warmup == -1 or 0.0 <= warmup < 1.0):
            raise ValueError(f"NpuFusedBertAdam: warmup must be from 0 to below 1, or -1, but it is {warmup}")
        self.max_grad_norm = max_grad_norm
        numbers = {"lr": lr, "schedule": schedule, "warmup": warmup, "t_total": t_total, "b1": b1, "b2": b2, "e": e}
        super().__init__(params, {**numbers, "weight_decay": weight_decay, "max_grad_norm": max_grad_norm})

    def _step_group(self, group: dict[str, Any], moved: list[Any]) -> None:
        for dtype in dict.fromkeys(p.dtype for p in moved):
            alike = [p for p in moved if p.dtype == dtype]
            if self.max_grad_norm > 0:
                torch.nn.utils.clip_grad_norm_(alike, self.max_grad_norm)
            for p in alike:
                state = self._state_of(p, "exp_avg", "exp_avg_sq")
                first, second = _moments(state, p.grad, group["b1"], group["b2"])
                update = first / (second.sqrt() + group["e"])
                if group["weight_decay"] > 0:
                    update = update + group["weight_decay"] * p
                rate = group["lr"]
                if group["t_total"] != -1:
                    done = state["step"] / group["t_total"]
                    growing = done < group["warmup"]
                    rate *= done / group["warmup"] if growing else _SCHEDULES[group["schedule"]](done, group["warmup"])
                p.add_(update, alpha=-rate)
                state["step"] += 1
