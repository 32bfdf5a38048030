"""`torch.ao.nn.intrinsic.quantized.dynamic`: layers with 8-bit weights and the activation that follows."""

from mindtorch_v2.ao.nn.intrinsic.quantized.dynamic import modules
from mindtorch_v2.ao.nn.intrinsic.quantized.dynamic.modules import LinearReLU

__all__ = ["LinearReLU", "modules"]
