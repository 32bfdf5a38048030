"""`torch.ao.quantization`: models that mark where they would be quantized run in floating point; to quantize them raises."""

from mindtorch_v2._unavailable import unavailable_class, unavailable_function
from mindtorch_v2.nn import Module

__all__ = [
    "DeQuantStub",
    "QConfig",
    "QuantStub",
    "convert",
    "fuse_modules",
    "fuse_modules_qat",
    "get_default_qat_qconfig",
    "get_default_qconfig",
    "prepare",
    "prepare_qat",
    "quantize_dynamic",
]


class QuantStub(Module):
    """Where a quantized model's input would be quantized: gives it back as it is."""

    def __init__(self, qconfig=None):
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x):
        return x


class DeQuantStub(QuantStub):
    """Where a quantized model's output would become floating again: gives it back as it is."""


QConfig = unavailable_class("torch.ao.quantization.QConfig")
convert = unavailable_function("torch.ao.quantization.convert")
fuse_modules = unavailable_function("torch.ao.quantization.fuse_modules")
fuse_modules_qat = unavailable_function("torch.ao.quantization.fuse_modules_qat")
get_default_qat_qconfig = unavailable_function("torch.ao.quantization.get_default_qat_qconfig")
get_default_qconfig = unavailable_function("torch.ao.quantization.get_default_qconfig")
prepare = unavailable_function("torch.ao.quantization.prepare")
prepare_qat = unavailable_function("torch.ao.quantization.prepare_qat")
quantize_dynamic = unavailable_function("torch.ao.quantization.quantize_dynamic")
