"""Modules as functions of their parameters, as the package functorch had them before `torch.func.functional_call`."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.func import functional_call

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "make_functional",
    "make_functional_with_buffers",
]


class FunctionalModuleWithBuffers(nn.Module):
    """`f(params, buffers, *args, **kwargs)`: a Module's forward with these parameters and buffers in their order."""

    def __init__(self, stateless_model: nn.Module, param_names: Sequence[str], buffer_names: Sequence[str]) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.buffer_names = tuple(param_names), tuple(buffer_names)

    @staticmethod
    def _create_from(model: nn.Module, disable_autograd_tracking: bool = False) -> tuple[Any, tuple, tuple]:
        stateless, params, buffers = _taken_apart(model, disable_autograd_tracking)
        function = FunctionalModuleWithBuffers(stateless, tuple(params), tuple(buffers))
        return function, tuple(params.values()), tuple(buffers.values())

    def forward(self, params: Sequence[Any], buffers: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        """Call the Module with these parameters and buffers."""
        names = (*self.param_names, *self.buffer_names)
        return functional_call(self.stateless_model, dict(zip(names, (*params, *buffers), strict=True)), args, kwargs)


class FunctionalModule(nn.Module):
    """`f(params, *args, **kwargs)`: a Module's forward with these parameters in their order."""

    def __init__(self, stateless_model: nn.Module, param_names: Sequence[str]) -> None:
        super().__init__()
        self.stateless_model, self.param_names = stateless_model, tuple(param_names)

    @staticmethod
    def _create_from(model: nn.Module, disable_autograd_tracking: bool = False) -> tuple[Any, tuple]:
        stateless, params, _ = _taken_apart(model, disable_autograd_tracking)
        return FunctionalModule(stateless, tuple(params)), tuple(params.values())

    def forward(self, params: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        """Call the Module with these parameters."""
        return functional_call(self.stateless_model, dict(zip(self.param_names, params, strict=True)), args, kwargs)


def _taken_apart(model: nn.Module, disable_autograd_tracking: bool) -> tuple[nn.Module, dict[str, Any], dict[str, Any]]:
    """A copy of a Module for its structure, and the Module's own parameters and buffers."""
    params = {name: each.detach() if disable_autograd_tracking else each for name, each in model.named_parameters()}
    return _without_memory(copy.deepcopy(model)), params, dict(model.named_buffers())


def _without_memory(model: nn.Module) -> nn.Module:
    """A Module on the device meta; a tensor that it has under several names is one there, too."""
    made: dict[int, Any] = {}
    for each in model.modules():
        for tensors in (each._parameters, each._buffers):
            for name, tensor in tensors.items():
                if tensor is not None:
                    meta = made.get(id(tensor))
                    if meta is None:
                        meta = tensor.detach().to("meta")
                        meta = nn.Parameter(meta, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else meta
                        made[id(tensor)] = meta
                    tensors[name] = meta
    return model


def make_functional(model: nn.Module, disable_autograd_tracking: bool = False) -> tuple[Any, tuple]:
    """A Module as a function of its parameters, and the parameters; RuntimeError for a Module with buffers.

    >>> function, parameters = make_functional(nn.Linear(3, 2))
    >>> function(parameters, torch.ones(1, 3)).shape
    torch.Size([1, 2])
    """
    if next(iter(model.buffers()), None) is not None:
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    return FunctionalModule._create_from(model, disable_autograd_tracking)


def make_functional_with_buffers(model: nn.Module, disable_autograd_tracking: bool = False) -> tuple[Any, tuple, tuple]:
    """A Module as a function of its parameters and buffers, and these."""
    return FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking)


def combine_state_for_ensemble(models: Sequence[nn.Module]) -> tuple[Any, tuple, tuple]:
    """One function for Modules of one class, and their parameters and buffers stacked, for vmap; RuntimeError for none, or several classes."""
    if not models:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if not (all(each.training for each in models) or not any(each.training for each in models)):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to have the same training/eval mode.")
    if any(type(each) is not type(models[0]) for each in models):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    parts = [make_functional_with_buffers(each) for each in models]
    stacked = [
        tuple(torch.stack(each).detach() for each in zip(*tensors, strict=True))
        for tensors in ([part[1] for part in parts], [part[2] for part in parts])
    ]
    return parts[0][0], tuple(each.requires_grad_() for each in stacked[0]), stacked[1]
