"""`torch.ao.quantization`: observers, fake quantization, and turning models into quantized ones."""

from __future__ import annotations

import importlib
import types
from collections.abc import Iterable
from typing import Any

from typing_extensions import TypeAliasType

from mindtorch_v2 import nn
from mindtorch_v2.ao.quantization import (
    fake_quantize,
    fuser_method_mappings,
    observer,
    qconfig,
    qconfig_mapping,
    quantization_mappings,
    quantize as _quantize,
    stubs,
    utils,
)
from mindtorch_v2.ao.quantization.fake_quantize import *
from mindtorch_v2.ao.quantization.fuse_modules import fuse_modules, fuse_modules_qat
from mindtorch_v2.ao.quantization.fuser_method_mappings import *
from mindtorch_v2.ao.quantization.observer import *
from mindtorch_v2.ao.quantization.observer import ObserverBase
from mindtorch_v2.ao.quantization.qconfig import *
from mindtorch_v2.ao.quantization.qconfig_mapping import *
from mindtorch_v2.ao.quantization.quant_type import QuantType
from mindtorch_v2.ao.quantization.quantization_mappings import *
from mindtorch_v2.ao.quantization.quantize import *
from mindtorch_v2.ao.quantization.stubs import *
from mindtorch_v2.ao.quantization.utils import MatchAllNode, Pattern, get_combined_dict, is_per_channel

ObserverOrFakeQuantize = TypeAliasType("ObserverOrFakeQuantize", ObserverBase | fake_quantize.FakeQuantizeBase)


def default_eval_fn(model: nn.Module, calib_data: Iterable[Any]) -> None:
    """Run a model with the inputs of pairs of inputs and targets.

    >>> observer = torch.ao.quantization.MinMaxObserver()
    >>> torch.ao.quantization.default_eval_fn(observer, [(torch.tensor([1.0]), 0)])
    >>> observer.max_val
    tensor(1.)
    """
    for data, _ in calib_data:
        model(data)


class _DerivedObserverOrFakeQuantize(ObserverBase):
    """An observer whose scale follows from those of others."""

    def __init__(
        self,
        dtype: Any,
        obs_or_fqs: Any,
        derive_qparams_fn: Any,
        quant_min: int | None = None,
        quant_max: int | None = None,
        qscheme: Any = None,
        ch_axis: int | None = None,
    ) -> None:
        super().__init__(dtype)
        self.obs_or_fqs = obs_or_fqs
        self.derive_qparams_fn = derive_qparams_fn
        self.quant_min, self.quant_max = quant_min, quant_max
        self.qscheme = qscheme
        self.ch_axis = ch_axis
        if is_per_channel(qscheme) and ch_axis is None:
            raise AssertionError("Must provide a valid ch_axis if qscheme is per channel")

    def forward(self, x: Any) -> Any:
        return x

    def calculate_qparams(self) -> Any:  # type: ignore[override]  # (as PyTorch's)
        return self.derive_qparams_fn(self.obs_or_fqs)


def __getattr__(name: str) -> types.ModuleType:
    if name in {"backend_config", "fx", "quantize_fx"}:  # found when asked for
        return importlib.import_module(f"mindtorch_v2.ao.quantization.{name}")
    raise AttributeError(f"module 'torch.ao.quantization' has no attribute {name!r}")


__all__ = [
    "MatchAllNode",
    "ObserverOrFakeQuantize",
    "Pattern",
    "QuantType",
    "default_eval_fn",
    "fuse_modules",
    "fuse_modules_qat",
    "get_combined_dict",
    *fake_quantize.__all__,
    *fuser_method_mappings.__all__,
    *observer.__all__,
    *qconfig.__all__,
    *qconfig_mapping.__all__,
    *(name for name in quantization_mappings.__all__ if name[0].islower()),
    *_quantize.__all__,
    *stubs.__all__,
]
