"""Weight normalization by a forward pre-hook (deprecated; see `parametrizations.weight_norm`)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import mindtorch_v2 as torch

from ..parameter import Parameter, UninitializedParameter

__all__ = ["WeightNorm", "weight_norm", "remove_weight_norm"]


class WeightNorm:
    """The hook: sets `name` to `name_g * name_v / |name_v|` before each forward.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     layer = torch.nn.utils.weight_norm(torch.nn.Linear(2, 2, bias=False))
    >>> layer.weight_g.shape, layer.weight_v.shape
    (torch.Size([2, 1]), torch.Size([2, 2]))
    """

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: torch.nn.Module) -> torch.Tensor:
        """The weight from its parts."""
        g = getattr(module, self.name + "_g")
        v = getattr(module, self.name + "_v")
        return torch._weight_norm(v, g, self.dim)

    @staticmethod
    def apply(module: torch.nn.Module, name: str, dim: int | None) -> WeightNorm:
        """Split the parameter and register the hook, which is returned."""
        warnings.warn(
            "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
            FutureWarning,
            stacklevel=3,
        )
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        fn = WeightNorm(name, dim)
        weight = getattr(module, name)
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters. "
                "Make sure to run the dummy forward before applying weight normalization"
            )
        del module._parameters[name]
        module.register_parameter(name + "_g", Parameter(torch.norm_except_dim(weight, 2, fn.dim).data))
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, fn.compute_weight(module))
        module.register_forward_pre_hook(fn)
        return fn

    def remove(self, module: torch.nn.Module) -> None:
        """Make the weight a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"]
        del module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: torch.nn.Module, inputs: Sequence[torch.Tensor]) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: torch.nn.Module, name: str = "weight", dim: int | None = 0) -> torch.nn.Module:
    """Deprecated: splits a parameter into magnitude `name_g` and direction `name_v`; returns the module.

    >>> sorted(dict(torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 3)).named_parameters()))
    ['bias', 'parametrizations.weight.original0', 'parametrizations.weight.original1']
    """
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: torch.nn.Module, name: str = "weight") -> torch.nn.Module:
    """Remove the weight normalization of a parameter; return the module.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     layer = torch.nn.utils.weight_norm(torch.nn.Linear(2, 2, bias=False))
    >>> layer = torch.nn.utils.remove_weight_norm(layer)
    >>> [name for name, _ in layer.named_parameters()]
    ['weight']
    """
    for k, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[k]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
