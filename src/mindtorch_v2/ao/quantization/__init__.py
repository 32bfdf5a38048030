"""`torch.ao.quantization`: models that mark where they would be quantized run in floating point; to quantize them raises."""

from mindtorch_v2._core.unavailable import unavailable_names
from mindtorch_v2.nn import Module


class QuantStub(Module):
    """Where a quantized model's input would be quantized: gives it back as it is."""

    def __init__(self, qconfig=None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x):
        return x


class DeQuantStub(QuantStub):
    """Where a quantized model's output would become floating again: gives it back as it is."""


_NAMES = unavailable_names(
    "torch.ao.quantization",
    functions="convert fuse_modules fuse_modules_qat get_default_qat_qconfig get_default_qconfig prepare prepare_qat "
    "quantize_dynamic",
    classes="QConfig",
)
globals().update(_NAMES)
__all__ = sorted([*_NAMES, "DeQuantStub", "QuantStub"])
