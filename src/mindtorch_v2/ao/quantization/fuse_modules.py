"""Modules of a model that lie in a row, by their names, made one."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from mindtorch_v2 import nn
from mindtorch_v2.ao.quantization.fuser_method_mappings import fuse_conv_bn, fuse_conv_bn_relu, get_fuser_method
from mindtorch_v2.nn.utils.parametrize import type_before_parametrizations

__all__ = ["fuse_known_modules", "fuse_modules", "fuse_modules_qat"]

# Names that programs reach through this module though it does not define them.
_REACHED_HERE = (fuse_conv_bn, fuse_conv_bn_relu)


def _get_module(model: nn.Module, submodule_key: str) -> Any:
    found: Any = model
    for name in submodule_key.split("."):
        found = getattr(found, name)
    return found


def _set_module(model: nn.Module, submodule_key: str, module: Any) -> None:
    parent, _, name = submodule_key.rpartition(".")
    setattr(_get_module(model, parent) if parent else model, name, module)


def fuse_known_modules(
    mod_list: list[nn.Module], is_qat: bool, additional_fuser_method_mapping: dict | None = None
) -> list[nn.Module]:
    """The module that stands for several, and identities in the others' places; hooks of the ends go with it.

    >>> from mindtorch_v2.ao.quantization.fuse_modules import fuse_known_modules
    >>> [type(each).__name__ for each in fuse_known_modules([torch.nn.Linear(3, 2), torch.nn.ReLU()], False)]
    ['LinearReLU', 'Identity']
    """
    types = tuple(type_before_parametrizations(each) for each in mod_list)
    method = get_fuser_method(types, additional_fuser_method_mapping)
    if method is None:
        raise NotImplementedError(f"Cannot fuse modules: {types}")
    fused = method(is_qat, *mod_list)
    first, last = mod_list[0], mod_list[-1]
    for pre_hook in first._forward_pre_hooks.values():
        fused.register_forward_pre_hook(pre_hook)
    first._forward_pre_hooks.clear()
    for hook in last._forward_hooks.values():
        fused.register_forward_hook(hook)
    last._forward_hooks.clear()
    made = [fused, *(nn.Identity() for _ in mod_list[1:])]
    for each in made[1:]:
        each.training = first.training
    return made


def _fuse_modules(
    model: nn.Module,
    modules_to_fuse: Any,
    is_qat: bool,
    inplace: bool = False,
    fuser_func: Callable = fuse_known_modules,
    fuse_custom_config_dict: dict[str, Any] | None = None,
) -> nn.Module:
    if not inplace:
        model = copy.deepcopy(model)
    methods = (fuse_custom_config_dict or {}).get("additional_fuser_method_mapping", {})
    one = all(isinstance(each, str) for each in modules_to_fuse)
    for names in [modules_to_fuse] if one else modules_to_fuse:
        made = fuser_func([_get_module(model, name) for name in names], is_qat, methods)
        for name, module in zip(names, made, strict=True):
            _set_module(model, name, module)
    return model


def fuse_modules(
    model: nn.Module,
    modules_to_fuse: Any,
    inplace: bool = False,
    fuser_func: Callable = fuse_known_modules,
    fuse_custom_config_dict: dict[str, Any] | None = None,
) -> nn.Module:
    """A copy of a model (itself, if `inplace`) in which modules that lie in a row are one; for evaluation.

    Args:
        modules_to_fuse: the names of modules in a row, or a list of such lists.
        fuser_func: what makes the modules of a list; by default `fuse_known_modules`.
        fuse_custom_config_dict: "additional_fuser_method_mapping": functions for tuples of classes.

    >>> model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 1), torch.nn.BatchNorm2d(2), torch.nn.ReLU()).eval()
    >>> torch.ao.quantization.fuse_modules(model, ["0", "1", "2"])
    Sequential(
      (0): ConvReLU2d(
        (0): Conv2d(1, 2, kernel_size=(1, 1), stride=(1, 1))
        (1): ReLU()
      )
      (1): Identity()
      (2): Identity()
    )
    """
    return _fuse_modules(model, modules_to_fuse, False, inplace, fuser_func, fuse_custom_config_dict)


def fuse_modules_qat(
    model: nn.Module,
    modules_to_fuse: Any,
    inplace: bool = False,
    fuser_func: Callable = fuse_known_modules,
    fuse_custom_config_dict: dict[str, Any] | None = None,
) -> nn.Module:
    """`fuse_modules` for a model that will be trained: batch norms are kept within.

    >>> model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 1), torch.nn.BatchNorm2d(2))
    >>> type(torch.ao.quantization.fuse_modules_qat(model, ["0", "1"])[0]).__name__
    'ConvBn2d'
    """
    return _fuse_modules(model, modules_to_fuse, True, inplace, fuser_func, fuse_custom_config_dict)
