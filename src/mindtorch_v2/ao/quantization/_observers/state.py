"""State of a model's observers, apart from the model."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from mindtorch_v2 import nn
from mindtorch_v2.ao.quantization._observers.base import ObserverBase
from mindtorch_v2.ao.quantization._observers.granularity import AffineQuantizedObserverBase

__all__ = ["get_observer_state_dict", "load_observer_state_dict"]

_SEEING: list[type] = [ObserverBase, AffineQuantizedObserverBase]  # fake quantization adds its base


def _is_activation_post_process(module: Any) -> bool:
    """Whether a module observes or rounds activations.

    >>> from mindtorch_v2.ao.quantization.quantize import is_activation_post_process
    >>> is_activation_post_process(torch.ao.quantization.MinMaxObserver())
    True
    """
    return isinstance(module, tuple(_SEEING))


def get_observer_state_dict(mod: nn.Module) -> OrderedDict[str, Any]:
    """The entries of a model's state that belong to its observers.

    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    >>> model.qconfig = torch.ao.quantization.default_qconfig
    >>> prepared = torch.ao.quantization.prepare(model)
    >>> list(torch.ao.quantization.get_observer_state_dict(prepared))[0]
    '0.activation_post_process.eps'
    """
    state = mod.state_dict()
    kept: OrderedDict[str, Any] = OrderedDict(
        (key, value) for key, value in state.items() if "activation_post_process" in key
    )
    kept._metadata = state._metadata  # type: ignore[attr-defined]  # (set on it)
    return kept


def load_observer_state_dict(mod: nn.Module, obs_dict: Any) -> None:
    """Let a model's observers have seen what others saw, by `get_observer_state_dict`.

    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    >>> model.qconfig = torch.ao.quantization.default_qconfig
    >>> prepared = torch.ao.quantization.prepare(model)
    >>> state = torch.ao.quantization.get_observer_state_dict(prepared)
    >>> torch.ao.quantization.load_observer_state_dict(prepared, state)
    """
    missing: list[str] = []
    unexpected: list[str] = []
    for name, module in mod.named_modules():
        if _is_activation_post_process(module):
            module._load_from_state_dict(obs_dict, name + ".", {}, False, missing, unexpected, [])
    for word, keys in (("Missing", missing), ("Unexpected", unexpected)):
        for key in keys:
            if "observer" in key or "activation_post_process" in key:
                raise Exception(f"{word} keys for observer {key} in state_dict")
