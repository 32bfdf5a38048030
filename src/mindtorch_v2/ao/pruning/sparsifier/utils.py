"""Modules and tensors by their names, and the parametrization that masks a tensor."""

from __future__ import annotations

from typing import Any

from mindtorch_v2 import nn
from mindtorch_v2.nn.utils.parametrize import is_parametrized, type_before_parametrizations

__all__ = [
    "FakeSparsity",
    "fqn_to_module",
    "get_arg_info_from_tensor_fqn",
    "module_contains_param",
    "module_to_fqn",
    "swap_module",
]


def module_contains_param(module: Any, parametrization: type[nn.Module]) -> bool:
    """Whether a tensor of a module has a parametrization of a class.

    >>> from mindtorch_v2.ao.pruning.sparsifier.utils import FakeSparsity, module_contains_param
    >>> module_contains_param(torch.nn.Linear(2, 2), FakeSparsity)
    False
    """
    return is_parametrized(module) and any(
        isinstance(each, parametrization) for row in module.parametrizations.values() for each in row
    )


def swap_module(mod: Any, mapping: dict[Any, Any]) -> Any:
    """The module that takes the place of one, by `from_dense` of the class in the mapping; otherwise itself.

    >>> from mindtorch_v2.ao.pruning.sparsifier.utils import swap_module
    >>> swap_module(torch.nn.ReLU(), {})
    ReLU()
    """
    kind = type_before_parametrizations(mod)
    if kind not in mapping:
        return mod
    made = mapping[kind].from_dense(mod)
    for pre_hook in mod._forward_pre_hooks.values():
        made.register_forward_pre_hook(pre_hook)
    for hook in mod._forward_hooks.values():
        made.register_forward_hook(hook)
    devices = {each.device for each in [*mod.parameters(), *mod.buffers()]}
    if len(devices) > 1:
        raise AssertionError(
            f"swap_module only works with cpu or single-device CUDA modules, but got devices {devices}"
        )
    for device in devices:
        made.to(device)
    return made


def module_to_fqn(model: nn.Module, module: nn.Module, prefix: str = "") -> str | None:
    """The name of a module in a model, with dots; None where it is not in it.

    >>> model = torch.nn.Sequential(torch.nn.Sequential(torch.nn.ReLU()))
    >>> torch.ao.pruning.module_to_fqn(model, model[0][0])
    '0.0'
    """
    if module is model:
        return ""
    for name, child in model.named_children():
        found = module_to_fqn(child, module, ".")
        if found is not None:
            return prefix + name + found
    return None


def fqn_to_module(model: Any, path: str) -> Any:
    """The module of a name, or None.

    >>> torch.ao.pruning.fqn_to_module(torch.nn.Sequential(torch.nn.ReLU()), "0")
    ReLU()
    """
    for name in path.split(".") if path else ():
        model = getattr(model, name, None)
    return model


def get_arg_info_from_tensor_fqn(model: nn.Module, tensor_fqn: str) -> dict[str, Any]:
    """The module of a tensor's name, that module's name and the tensor's in it.

    >>> info = torch.ao.pruning.get_arg_info_from_tensor_fqn(torch.nn.Sequential(torch.nn.Linear(1, 1)), "0.weight")
    >>> info["module_fqn"], info["tensor_name"]
    ('0', 'weight')
    """
    path, _, name = tensor_fqn.rpartition(".")
    return {
        "module_fqn": path,
        "module": fqn_to_module(model, path),
        "tensor_name": name,
        "tensor_fqn": tensor_fqn,
    }


class FakeSparsity(nn.Module):
    """The parametrization of a tensor that is multiplied by a mask; the mask is no part of the model's state.

    >>> torch.ao.pruning.FakeSparsity(torch.tensor([1.0, 0.0]))(torch.tensor([3.0, 4.0]))
    tensor([3., 0.])
    """

    mask: Any

    def __init__(self, mask: Any) -> None:
        super().__init__()
        self.register_buffer("mask", mask)

    def forward(self, x: Any) -> Any:
        """The tensor with zeros where the mask has them."""
        if self.mask.shape != x.shape:
            raise AssertionError(f"mask shape ({self.mask.shape}) must match x shape ({x.shape})")
        return self.mask * x

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """An empty dict: the sparsifier keeps the mask."""
        return {}
