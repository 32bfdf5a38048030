"""`torch.ao`: quantization by its names."""

from mindtorch_v2.ao import quantization

__all__ = ["quantization"]
