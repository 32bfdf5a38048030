"""`quantize_dynamic`: a copy of a model whose linear layers hold 8-bit weights."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.nn.quantized.dynamic import Linear
from mindtorch_v2.ao.quantization.qconfig import (
    default_dynamic_qconfig,
    float16_dynamic_qconfig,
)

__all__ = ["quantize_dynamic"]

_MAPPING = {nn.Linear: Linear, nn.modules.linear.NonDynamicallyQuantizableLinear: nn.Linear}
_RECURRENT = (nn.LSTM, nn.GRU, nn.RNNCell, nn.LSTMCell, nn.GRUCell)
_CONFIGS = {torch.qint8: default_dynamic_qconfig, torch.float16: float16_dynamic_qconfig}


def quantize_dynamic(
    model: torch.nn.Module,
    qconfig_spec: dict[Any, Any] | set[Any] | None = None,
    dtype: torch.dtype = torch.qint8,
    mapping: dict[type, Any] | None = None,
    inplace: bool = False,
) -> torch.nn.Module:
    """A copy of `model` (itself, if `inplace`) in which modules are replaced by ones with weights of few bits.

    Args:
        qconfig_spec: which modules: a set of classes and names, or a mapping of those to a `QConfig`. None: the linear and
            recurrent layers.
        dtype: `torch.qint8` or `torch.float16`, where the configs are not given.
        mapping: the class that takes a module's place, by the module's class; it has `from_float`.

    Raises:
        ValueError: for another dtype without configs.
        NotImplementedError: for a recurrent layer; name the classes to leave those as they are: `{torch.nn.Linear}`.

    >>> import warnings
    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.ReLU())
    >>> torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear})
    Sequential(
      (0): DynamicQuantizedLinear(in_features=4, out_features=2, dtype=torch.qint8, qscheme=torch.per_tensor_affine)
      (1): ReLU()
    )
    """
    if isinstance(qconfig_spec, Mapping):
        configs: dict[Any, Any] = dict(qconfig_spec)
    else:
        if dtype not in _CONFIGS:
            raise ValueError(
                f"Don't know how to quantize with default settings for {dtype}. Provide full qconfig please"
            )
        wanted = {nn.Linear, *_RECURRENT} if qconfig_spec is None else qconfig_spec
        configs = dict.fromkeys(wanted, _CONFIGS[dtype])
    made = model if inplace else copy.deepcopy(model)
    made.eval()
    _replace(made, "", configs.get("", None), configs, dict(_MAPPING if mapping is None else mapping))
    return made


def _replace(module: nn.Module, name: str, inherited: Any, configs: dict, mapping: dict) -> None:
    """Replace the modules within `module` for which there is a config; a config holds for what is below as well."""
    for key, child in list(module._modules.items()):
        if child is None:
            continue
        below = f"{name}.{key}" if name else key
        config = configs.get(below, configs.get(type(child), getattr(child, "qconfig", None) or inherited))
        if config is not None and isinstance(child, _RECURRENT) and type(child) not in mapping:
            raise NotImplementedError(
                f"quantize_dynamic: '{below}' is a {type(child).__name__}, of which there is no quantized form; to leave it as it "
                "is, name the classes to quantize: {torch.nn.Linear}"
            )
        if config is not None and type(child) in mapping and hasattr(mapping[type(child)], "from_float"):
            child.qconfig = config
            module._modules[key] = mapping[type(child)].from_float(child)
        else:
            _replace(child, below, config, configs, mapping)
