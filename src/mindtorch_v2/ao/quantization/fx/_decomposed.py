"""`torch.ops.quantized_decomposed`, by the module that PyTorch registers them in."""

from mindtorch_v2._quantized.decomposed import *  # noqa: F403  (the same names at another place)
from mindtorch_v2._quantized.decomposed import __all__ as __all__
