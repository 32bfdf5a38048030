"""Which submodules `FullyShardedDataParallel` wraps by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import mindtorch_v2 as torch

__all__ = [
    "CustomPolicy",
    "ModuleWrapPolicy",
    "always_wrap_policy",
    "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy",
]

Module = torch.nn.Module


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Wrap every module."""
    return True


def lambda_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], bool]
) -> bool:
    """Wrap the modules of which a function says so."""
    return recurse or lambda_fn(module)


def transformer_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: set[type[Module]]
) -> bool:
    """Wrap the modules of some classes: the layers of a transformer."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = int(1e8),
    force_leaf_modules: set[type[Module]] | None = None,
    exclude_wrap_modules: set[type[Module]] | None = None,
) -> bool:
    """Wrap modules that have at least so many parameters which no submodule has wrapped."""
    leaves = force_leaf_modules or {torch.nn.MultiheadAttention}
    excluded = exclude_wrap_modules or {torch.nn.ModuleList, torch.nn.ModuleDict}
    large = nonwrapped_numel >= min_num_params
    return large and not isinstance(module, tuple(leaves if recurse else excluded))


class _Policy:
    """A judge of whether, and how, a module is wrapped: `policy._options(module)` is None or keyword arguments."""

    def _options(self, module: Module) -> dict[str, Any] | None:
        raise NotImplementedError

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return recurse or self._options(module) is not None


class ModuleWrapPolicy(_Policy):
    """Wrap the modules of some classes."""

    def __init__(self, module_classes: Iterable[type[Module]]) -> None:
        self._module_classes = set(module_classes)

    def _options(self, module: Module) -> dict[str, Any] | None:
        return {} if isinstance(module, tuple(self._module_classes)) else None

    def __repr__(self) -> str:
        return f"{super().__repr__()}({self._module_classes})"


class CustomPolicy(_Policy):
    """Wrap the modules of which a function says so: True, or a dictionary of arguments for the wrapper."""

    def __init__(self, lambda_fn: Callable[[Module], bool | dict[str, Any]]) -> None:
        self._lambda_fn = lambda_fn

    def _options(self, module: Module) -> dict[str, Any] | None:
        said = self._lambda_fn(module)
        if not isinstance(said, dict | bool):
            raise ValueError(
                f"The lambda_fn passed to CustomPolicy should return False/True or a kwarg dict, but it returned {said}"
            )
        return said if isinstance(said, dict) else {} if said else None


def wrap_submodules(root: Module, policy: Any, ignored: set[Module], wrap: Callable[..., Module]) -> None:
    """Replace the submodules that a policy names by what `wrap(module, **options)` makes of them, innermost first."""
    done: dict[Module, Module] = {}

    def visit(module: Module) -> int:
        """Wrap below a module; how many of its parameters are not wrapped."""
        count = sum(each.numel() for each in module.parameters() if each.dim() >= 0)
        if not policy(module=module, recurse=True, nonwrapped_numel=count):
            return count
        for name, child in list(module.named_children()):
            if child in ignored:
                continue
            if child in done:
                setattr(module, name, done[child])
                continue
            left = visit(child)
            before = sum(each.numel() for each in child.parameters())
            if policy(module=child, recurse=False, nonwrapped_numel=left):
                options = policy._options(child) if isinstance(policy, _Policy) else {}
                done[child] = wrap(child, **(options or {}))
                setattr(module, name, done[child])
                count -= before
            else:
                count -= before - left
        return count

    visit(root)
