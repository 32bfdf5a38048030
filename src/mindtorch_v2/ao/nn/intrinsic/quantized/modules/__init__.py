"""Layers of quantized tensors with the activation that follows."""

from mindtorch_v2.ao.nn.intrinsic.quantized.modules.fused import *
from mindtorch_v2.ao.nn.intrinsic.quantized.modules.fused import __all__ as __all__
