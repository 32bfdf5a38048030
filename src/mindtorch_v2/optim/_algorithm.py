"""The base of algorithms whose step is a function of parallel lists, and the parts that such functions have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.optim.optimizer import (
    Optimizer,
    _check_capturable,
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

__all__ = ["Algorithm", "apply_weight_decay", "as_real", "gradients", "prepare", "run_fused", "update_moments", "zeros"]


class Algorithm(Optimizer):
    """An optimizer whose step calls its functional form for each group: lists by name, then the group's settings by name.

    A subclass says which function that is, which lists hold the state, and what groups of old state dicts lack.
    """

    _settings: Any
    _takes_sparse: Any

    _function: Any = None
    _state: dict = {}
    """Name in a parameter's state -> the function's parameter for the list of those, in the order of `_init_group`; `step` last."""
    _optional: dict = {}
    """Name of a state that not all groups use -> the setting that asks for it."""
    _pairs = {"betas": ("beta1", "beta2")}
    """Setting of a group that is a pair -> the function's parameters for its halves."""
    _old: dict = {}
    """Settings that came later, with their values for groups that were saved without them."""
    _sparse_error: Any = None
    """The text for a sparse gradient, where the function takes none."""
    _check_fused_without_cuda = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "_function" in cls.__dict__:
            code = cls._function.__code__
            names = code.co_varnames[2 : code.co_argcount + code.co_kwonlyargcount]
            cls._settings = tuple(name for name in names if name not in cls._state.values())
            cls._takes_sparse = "has_sparse_grad" in cls._settings
            cls._sparse_error = cls.__dict__.get("_sparse_error") or f"{cls.__name__} does not support sparse gradients"

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for key, value in self._old.items():
                group.setdefault(key, value)
        _step_counters_to_tensors(self)

    def _used(self, group) -> list:
        return [name for name in self._state if name not in self._optional or group[self._optional[name]]]

    def _new_state(self, group, p):
        """A parameter's state at its first step, but for `step`: zeros."""
        return zeros(p, *(name for name in self._used(group) if name != "step"))

    def _first_state(self, group, p) -> dict:
        fused = group.get("fused")
        if fused:
            _device_dtype_check_for_fused(p, cuda_unsupported=self._check_fused_without_cuda)
        return {"step": _zero_step(group.get("capturable", False), fused, p.device), **self._new_state(group, p)}

    def _check_steps(self, group, steps) -> None:
        """Raise if the step counters and the settings of a group do not fit."""

    def _init_group(self, group, params_with_grad, grads, *columns) -> Any:
        """Fill the lists with the group's parameters that have a gradient; return whether one is complex."""
        has_complex = False
        states, state_of, takes_sparse = [], self.state, self._takes_sparse
        for p in group["params"]:
            grad = p.grad
            if grad is None:
                continue
            has_complex |= p.dtype.is_complex
            if grad.is_sparse and not takes_sparse:
                raise RuntimeError(self._sparse_error)
            params_with_grad.append(p)
            grads.append(grad)
            state = state_of[p]
            if not state:
                state.update(self._first_state(group, p))
            states.append(state)
        if states:
            optional = self._optional
            for name, column in zip(self._state, columns, strict=True):
                if name not in optional or group[optional[name]]:
                    column += [state[name] for state in states]
            self._check_steps(group, columns[-1])
        return has_complex

    @_use_grad_for_differentiable
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make one step; return the loss of `closure` if one is given."""
        self._cuda_graph_capture_health_check()
        loss = _run_closure(closure)
        for group in self.param_groups:
            params: list[Any] = []
            grads: list[Any] = []
            lists: dict[Any, Any] = {name: [] for name in self._state.values()}
            found = self._init_group(group, params, grads, *lists.values())
            sparse, is_complex = found if isinstance(found, tuple) else (False, found)
            # A GradScaler leaves the last two on the optimizer around a step.
            known = {
                **group,
                "has_sparse_grad": sparse,
                "has_complex": is_complex,
                "grad_scale": getattr(self, "grad_scale", None),
                "found_inf": getattr(self, "found_inf", None),
            }
            for pair, (one, other) in self._pairs.items():
                if pair in group:
                    known[one], known[other] = group[pair]
            for name in self._settings:
                lists[name] = known[name]
            self._function(params, grads, **lists)
        return loss


def zeros(p: torch.Tensor, *names: str) -> dict:
    """State of zeros, laid out as the parameter."""
    return {name: torch.zeros_like(p, memory_format=torch.preserve_format) for name in names}


def prepare(params: list[torch.Tensor], state_steps: list[torch.Tensor], capturable: bool, lr: Any = None) -> Any:
    """The checks that functional forms begin with; returns `lr` as it broadcasts."""
    _require_tensor_steps(state_steps)
    if capturable:
        _check_capturable(params, state_steps)
    return _to_scalar(lr)


def gradients(grads: list[torch.Tensor], maximize: bool) -> Iterable[torch.Tensor]:
    """The gradients to descend along, one after the other."""
    return map(torch.neg, grads) if maximize else grads


def as_real(param: torch.Tensor, *others: torch.Tensor) -> tuple:
    """A parameter and what goes with it, as real views if it is complex."""
    return tuple(map(torch.view_as_real, (param, *others))) if torch.is_complex(param) else (param, *others)


def apply_weight_decay(
    param: torch.Tensor, grad: torch.Tensor, weight_decay: float, lr: Any = None, decoupled: bool = False
) -> torch.Tensor:
    """The gradient with `weight_decay` times the parameter; where that is decoupled, the parameter shrinks instead."""
    if weight_decay == 0:
        return grad
    if decoupled:
        param.mul_(1 - lr * weight_decay)
        return grad
    return grad.add(param, alpha=weight_decay)


def update_moments(
    exp_avg: torch.Tensor,
    exp_avg_sq: torch.Tensor,
    grad: torch.Tensor,
    beta1: float | torch.Tensor,
    beta2: float | torch.Tensor,
) -> None:
    """Move the running means of the gradient and of its square."""
    exp_avg.lerp_(grad, 1 - beta1)
    exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=_get_value(1 - beta2))


def run_fused(
    kernel: Callable[..., Any],
    columns: Sequence[Sequence[torch.Tensor]],
    grad_scale: torch.Tensor | None,
    found_inf: torch.Tensor | None,
    **settings: Any,
) -> None:
    """A step as one call of `kernel` for each device and dtype; the last of `columns` are the step counters."""
    for (device, _), (own, _) in _group_tensors_by_device_and_dtype(columns).items():
        steps = own[-1]
        inf = None if found_inf is None else found_inf.to(device)
        torch._foreach_add_(steps, 1)
        kernel(*own, grad_scale=None if grad_scale is None else grad_scale.to(device), found_inf=inf, **settings)
        if inf is not None:
            # A skipped step does not count.
            torch._foreach_sub_(steps, [inf] * len(steps))
