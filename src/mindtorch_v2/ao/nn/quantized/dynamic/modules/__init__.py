"""The modules of `torch.ao.nn.quantized.dynamic`."""

from mindtorch_v2.ao.nn.quantized.dynamic.modules.linear import Linear

__all__ = ["Linear"]
