"""`torch.ao.quantization`: models that mark where they would be quantized run in floating point; to quantize them raises."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from mindtorch_v2._core.unavailable import unavailable_names
from mindtorch_v2.nn import Module

if TYPE_CHECKING:
    from mindtorch_v2._tensor import Tensor


class QuantStub(Module):
    """Where a quantized model's input would be quantized: gives it back as it is."""

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        return x


class DeQuantStub(QuantStub):
    """Where a quantized model's output would become floating again: gives it back as it is."""


_NAMES = unavailable_names(
    "torch.ao.quantization",
    functions="convert default_dynamic_qat_qconfig default_dynamic_qconfig default_dynamic_quant_observer "
    "default_embedding_qat_qconfig default_observer default_per_channel_qconfig default_qconfig "
    "default_symmetric_qnnpack_qat_qconfig default_weight_observer float_qparams_weight_only_qconfig fuse_modules "
    "fuse_modules_qat get_default_qat_qconfig get_default_qat_qconfig_mapping get_default_qconfig "
    "get_default_qconfig_mapping prepare prepare_qat propagate_qconfig_ quantize quantize_dynamic quantize_dynamic_jit "
    "quantize_jit",
    classes="FakeQuantizeBase ObserverBase PerChannelMinMaxObserver QConfig QConfigMapping QuantType QuantWrapper",
)
globals().update(_NAMES)
__all__ = sorted([*_NAMES, "DeQuantStub", "QuantStub"])
