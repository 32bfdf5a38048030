"""`torch.ao.nn.quantized.dynamic`: modules with 8-bit weights, whose inputs are quantized as they come."""

from mindtorch_v2.ao.nn.quantized.dynamic.modules.linear import Linear

__all__ = ["Linear"]
