"""The base of sparsifiers: masks of tensors of a model, that each step updates."""

from __future__ import annotations

import abc
import copy
from collections import defaultdict
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.pruning.sparsifier.utils import (
    FakeSparsity,
    get_arg_info_from_tensor_fqn,
    module_contains_param,
    module_to_fqn,
    swap_module,
)
from mindtorch_v2.nn.utils import parametrize
from mindtorch_v2.nn.utils.parametrize import type_before_parametrizations

__all__ = ["BaseSparsifier"]

SUPPORTED_MODULES = {nn.Linear}  # of a configuration that is not given
KEYS_NOT_IN_STATE_DICT = ["module", "module_fqn", "tensor_name"]


class BaseSparsifier(abc.ABC):
    """The base of sparsifiers. A class of its own says in `update_mask` which elements stay; `defaults` are its settings.

    `prepare` gives tensors masks, `step` updates those, `squash_mask` puts the zeros into the tensors.

    >>> class First(torch.ao.pruning.BaseSparsifier):
    ...     def update_mask(self, module, tensor_name, keep, **kwargs):
    ...         getattr(module.parametrizations, tensor_name)[0].mask[keep:] = 0
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3))
    >>> sparsifier = First({"keep": 1})
    >>> sparsifier.prepare(model, config=None)
    >>> sparsifier.step()
    >>> (model[0].weight == 0).all(1)
    tensor([False,  True,  True])
    """

    def __init__(self, defaults: dict[str, Any] | None = None) -> None:
        super().__init__()
        self.defaults: dict[str, Any] = defaults or {}
        self.state: dict[str, dict] = defaultdict(dict)
        self.groups: list[dict[str, Any]] = []
        self.enable_mask_update = True

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "groups": self.groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for index, group in enumerate(self.groups):
            text += f"\n\tGroup {index}\n\t    module: {group['module']}\n"
            text += "".join(f"\t    {key}: {group[key]}\n" for key in sorted(group) if key != "module")
        return text + ")"

    def state_dict(self) -> dict[str, Any]:
        """The masks and the settings of each tensor."""
        groups = [
            {key: value for key, value in group.items() if key not in KEYS_NOT_IN_STATE_DICT} for group in self.groups
        ]
        return {"state": self.state, "groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> None:
        """Take masks and settings, as `state_dict` gives them; RuntimeError where a tensor's module is not there."""
        groups, states = copy.deepcopy(state_dict["groups"]), state_dict["state"]
        for name, state in states.items():
            info = get_arg_info_from_tensor_fqn(self.model, name)
            module, tensor_name = info["module"], info["tensor_name"]
            if strict and module is None:
                raise RuntimeError(f"Error loading {name} into the model")
            masked = next(
                (each for each in module.parametrizations[tensor_name] if isinstance(each, FakeSparsity)), None
            )
            if masked is None:
                masked = FakeSparsity(torch.ones(getattr(module, tensor_name).shape))
                parametrize.register_parametrization(module, tensor_name, masked)
            if state.get("mask", None) is not None:
                masked.mask = state.pop("mask")
            for group in groups:
                if group["tensor_fqn"] == name:
                    group.update(info)
        self.__setstate__({"state": states, "groups": groups})

    def make_config_from_model(
        self, model: nn.Module, SUPPORTED_MODULES: set[type[nn.Linear]] = SUPPORTED_MODULES
    ) -> None:
        """Make the configuration of the weights of all linear layers."""
        self.config: Any = []
        stack = [model]
        while stack:
            for child in stack.pop().children():
                if type(child) not in SUPPORTED_MODULES:
                    stack.append(child)
                    continue
                name = module_to_fqn(model, child)
                if not isinstance(name, str):
                    raise AssertionError("module_fqn must be a string")
                self.config.append({"tensor_fqn": name + ".weight"})

    def prepare(self, model: nn.Module, config: list[dict[str, Any]] | None) -> None:
        """Give tensors masks: `config` has for each its name, `tensor_fqn`, and settings; None: linear layers' weights."""
        self.model, self.config = model, config
        if config is None:
            self.make_config_from_model(model)
        for given in self.config:
            if not isinstance(given, dict):
                raise AssertionError(
                    "config elements should be dicts not modules i.e.:[{`tensor_fqn`: `foo.bar.weight`}, "
                    "{`tensor_fqn`: ... }, ...]"
                )
            if not isinstance(self.defaults, dict):
                raise AssertionError("defaults must be a dict")
            group = {**copy.deepcopy(self.defaults), **given}
            name = group.get("tensor_fqn", None)
            if name is None:
                raise AssertionError(
                    "tensor_fqn is a required argument in the sparsity config which replaces previous `module` and "
                    "[module]`fqn` arguments"
                )
            info = get_arg_info_from_tensor_fqn(model, name)
            for key, value in info.items():
                agrees = key not in group or value == group[key]
                if not agrees and not (key == "tensor_fqn" and "." + value == group[key]):
                    raise AssertionError(
                        f"Given both `{key}` and `tensor_fqn` in the config, it is expected them to agree!"
                    )
            self.groups.append({**group, **info})
        self._prepare()

    def _prepare(self, *args: Any, **kwargs: Any) -> None:
        for group in self.groups:
            module, name = group["module"], group["tensor_name"]
            mask = group.get("mask", torch.ones_like(getattr(module, name)))
            self.state[group["tensor_fqn"]]["mask"] = mask
            made = group.get("parametrization", FakeSparsity)(mask)
            parametrize.register_parametrization(module, name, made)

    def squash_mask(
        self,
        params_to_keep: tuple[str, ...] | None = None,
        params_to_keep_per_layer: dict[str, tuple[str, ...]] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        """Put the zeros into the tensors, and take the masks away; settings that are named stay in `sparse_params`."""
        for group in self.groups:
            module = group["module"]
            parametrize.remove_parametrizations(module, group["tensor_name"], leave_parametrized=True)
            names = [*(params_to_keep or ()), *((params_to_keep_per_layer or {}).get(group["module_fqn"]) or ())]
            if names:
                module.sparse_params = {name: group[name] for name in names}

    def convert(
        self,
        module: nn.Module,
        mapping: dict[Any, Any] | None = None,
        inplace: bool = False,
        parameterization: type[nn.Module] = FakeSparsity,
    ) -> nn.Module:
        """A copy of a module (itself, if `inplace`) in which masked ones are replaced, by their classes in `mapping`."""
        if mapping is None:
            raise NotImplementedError("Need to auto generate mapping ")
        if not inplace:
            module = copy.deepcopy(module)
        for name, child in list(module.named_children()):
            masked = module_contains_param(child, parameterization) and type_before_parametrizations(child) in mapping
            module._modules[name] = (
                swap_module(child, mapping) if masked else self.convert(child, mapping, True, parameterization)
            )
        return module

    def step(self, use_path: bool = True) -> None:
        """Update the masks."""
        if self.enable_mask_update:
            with torch.no_grad():
                for group in self.groups:
                    self.update_mask(**group)

    @abc.abstractmethod
    def update_mask(self, module: nn.Module, tensor_name: str, **kwargs: Any) -> None:
        """Update the mask of a tensor, by its settings."""
