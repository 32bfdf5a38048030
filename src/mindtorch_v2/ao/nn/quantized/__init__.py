"""`torch.ao.nn.quantized`: of its modules the dynamically quantized linear layer is here."""

from mindtorch_v2.ao.nn.quantized import dynamic

__all__ = ["dynamic"]
