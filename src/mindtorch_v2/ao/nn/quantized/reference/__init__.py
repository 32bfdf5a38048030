"""`torch.ao.nn.quantized.reference`: modules of floats whose weights are yet to be quantized."""

from mindtorch_v2.ao.nn.quantized.reference.modules import *
from mindtorch_v2.ao.nn.quantized.reference.modules import __all__ as __all__
