"""Modules as functions of their parameters, by the names from before `torch.func.functional_call`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.func import functional_call

__all__ = ["combine_state_for_ensemble", "make_functional", "make_functional_with_buffers"]


def _without_values(model: torch.nn.Module) -> torch.nn.Module:
    stateless = copy.deepcopy(model)
    for tensor in (*stateless.parameters(), *stateless.buffers()):
        tensor.data = tensor.data.to("meta")
    return stateless


def make_functional(
    model: torch.nn.Module, disable_autograd_tracking: bool = False
) -> tuple[Callable[..., Any], tuple[torch.Tensor, ...]]:
    """A function ``(params, *args, **kwargs)`` that computes what the module does, and the parameters.

    With `disable_autograd_tracking` the parameters need no gradient. Raises RuntimeError for a module with buffers.

    >>> from functorch import make_functional
    >>> function, params = make_functional(torch.nn.Linear(2, 1))
    >>> function(params, torch.ones(3, 2)).shape
    torch.Size([3, 1])
    """
    if next(model.buffers(), None) is not None:
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    function, params, _ = make_functional_with_buffers(model, disable_autograd_tracking)
    return (lambda parameters, *args, **kwargs: function(parameters, (), *args, **kwargs)), params


def make_functional_with_buffers(
    model: torch.nn.Module, disable_autograd_tracking: bool = False
) -> tuple[Callable[..., Any], tuple[torch.Tensor, ...], tuple[torch.Tensor, ...]]:
    """A function ``(params, buffers, *args, **kwargs)`` that computes what the module does, the parameters and the buffers."""
    stateless = _without_values(model)
    parameters, buffers = dict(model.named_parameters()), dict(model.named_buffers())

    def function(params: Sequence[Any], buffer_values: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        state = {**dict(zip(parameters, params, strict=True)), **dict(zip(buffers, buffer_values, strict=True))}
        return functional_call(stateless, state, args, kwargs)

    values = tuple(parameters.values())
    if disable_autograd_tracking:
        values = tuple(value.detach() for value in values)
    return function, values, tuple(buffers.values())


def combine_state_for_ensemble(
    models: Sequence[torch.nn.Module],
) -> tuple[Callable[..., Any], tuple[torch.Tensor, ...], tuple[torch.Tensor, ...]]:
    """The function of modules of one class, with their parameters and buffers stacked: what `vmap` maps over.

    Raises RuntimeError for no modules, for several classes, and where some train and some do not.
    """
    if not models:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if not (all(model.training for model in models) or not any(model.training for model in models)):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to have the same training/eval mode.")
    if not all(type(model) is type(models[0]) for model in models):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    functions, params, buffers = zip(*map(make_functional_with_buffers, models), strict=True)
    stacked = tuple(torch.stack(each).detach().requires_grad_() for each in zip(*params, strict=True))
    return functions[0], stacked, tuple(torch.stack(each) for each in zip(*buffers, strict=True))
