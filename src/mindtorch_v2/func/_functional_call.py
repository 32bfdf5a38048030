"""Calling a Module with other parameters and buffers than its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2.nn.utils import stateless

if TYPE_CHECKING:
    from mindtorch_v2.nn.modules.container import ModuleList


__all__ = ["functional_call", "stack_module_state"]


def functional_call(
    module: torch.nn.Module,
    parameter_and_buffer_dicts: dict[str, torch.Tensor] | Sequence[dict[str, torch.Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """`module(*args, **kwargs)` with the tensors of a dict (or several, without a name twice) in place of its own.

    >>> layer = torch.nn.Linear(1, 1)
    >>> parameters = {"weight": torch.tensor([[2.0]]), "bias": torch.tensor([1.0])}
    >>> torch.func.functional_call(layer, parameters, (torch.tensor([3.0]),))
    tensor([7.])
    """
    if isinstance(parameter_and_buffer_dicts, dict):
        tensors = parameter_and_buffer_dicts
    elif isinstance(parameter_and_buffer_dicts, (list, tuple)):
        tensors = {}
        for each in parameter_and_buffer_dicts:
            repeated = tensors.keys() & each.keys()
            if repeated:
                raise ValueError(
                    f"{sorted(repeated)} appeared in multiple dictionaries; behavior of functional call is ambiguous"
                )
            tensors.update(each)
    else:
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(parameter_and_buffer_dicts)}"
        )
    return stateless._functional_call(module, tensors, args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(models: Sequence[torch.nn.Module] | ModuleList) -> tuple:
    """The parameters and buffers of several equal Modules, stacked: two dicts.

    >>> parameters, buffers = torch.func.stack_module_state([torch.nn.Linear(2, 3), torch.nn.Linear(2, 3)])
    >>> parameters["weight"].shape
    torch.Size([2, 3, 2])
    """
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if any(model.training != models[0].training for model in models):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(model) is not type(models[0]) for model in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    for name, first in models[0].named_parameters():
        if any(dict(model.named_parameters())[name].requires_grad != first.requires_grad for model in models):
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    parameters = {
        name: torch.stack([dict(model.named_parameters())[name].detach() for model in models]).requires_grad_(
            first.requires_grad
        )
        for name, first in models[0].named_parameters()
    }
    buffers = {
        name: torch.stack([dict(model.named_buffers())[name] for model in models])
        for name, _ in models[0].named_buffers()
    }
    return parameters, buffers
