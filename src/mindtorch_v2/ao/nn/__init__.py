"""`torch.ao.nn`: modules of quantized models."""

from mindtorch_v2.ao.nn import quantized

__all__ = ["quantized"]
