"""`torch.ao.quantization`: dynamic quantization of linear layers; of the rest names only, which raise when they are used.

Models that mark where they would be quantized (`QuantStub`) run in floating point.
"""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from mindtorch_v2._core.unavailable import unavailable_names
from mindtorch_v2.ao.quantization.observer import (
    default_dynamic_quant_observer,
    default_per_channel_weight_observer,
    default_placeholder_observer,
    default_weight_observer,
    MinMaxObserver,
    ObserverBase,
    PerChannelMinMaxObserver,
    PlaceholderObserver,
)
from mindtorch_v2.ao.quantization.qconfig import (
    default_dynamic_qconfig,
    float16_dynamic_qconfig,
    per_channel_dynamic_qconfig,
    QConfig,
)
from mindtorch_v2.ao.quantization.quantize import quantize_dynamic
from mindtorch_v2.nn import Module

if TYPE_CHECKING:
    from mindtorch_v2._tensor import Tensor


class QuantStub(Module):
    """Where a quantized model's input would be quantized: gives it back as it is.

    >>> torch.ao.quantization.QuantStub()(torch.tensor([0.5]))
    tensor([0.5000])
    """

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        return x


class DeQuantStub(QuantStub):
    """Where a quantized model's output would become floating again: gives it back as it is.

    >>> torch.ao.quantization.DeQuantStub()(torch.tensor([0.5]))
    tensor([0.5000])
    """


_NAMES = unavailable_names(
    "torch.ao.quantization",
    functions="convert default_dynamic_qat_qconfig default_embedding_qat_qconfig default_observer "
    "default_per_channel_qconfig default_qconfig "
    "default_symmetric_qnnpack_qat_qconfig float_qparams_weight_only_qconfig fuse_modules "
    "fuse_modules_qat get_default_qat_qconfig get_default_qat_qconfig_mapping get_default_qconfig "
    "get_default_qconfig_mapping prepare prepare_qat propagate_qconfig_ quantize quantize_dynamic_jit "
    "quantize_jit",
    classes="FakeQuantizeBase QConfigMapping QuantType QuantWrapper",
)
globals().update(_NAMES)
__all__ = sorted(
    [
        *_NAMES,
        "DeQuantStub",
        "MinMaxObserver",
        "ObserverBase",
        "PerChannelMinMaxObserver",
        "PlaceholderObserver",
        "QConfig",
        "QuantStub",
        "default_dynamic_qconfig",
        "default_dynamic_quant_observer",
        "default_per_channel_weight_observer",
        "default_placeholder_observer",
        "default_weight_observer",
        "float16_dynamic_qconfig",
        "per_channel_dynamic_qconfig",
        "quantize_dynamic",
    ]
)
