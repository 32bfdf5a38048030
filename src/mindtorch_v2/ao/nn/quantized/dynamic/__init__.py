"""`torch.ao.nn.quantized.dynamic`: modules with 8-bit weights, whose inputs are quantized as they come."""

from mindtorch_v2.ao.nn.quantized.dynamic import modules
from mindtorch_v2.ao.nn.quantized.dynamic.modules import *
from mindtorch_v2.ao.nn.quantized.dynamic.modules import __all__ as _modules

__all__ = [*_modules, "modules"]
