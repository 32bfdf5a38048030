"""`torch.ao.nn.quantized`: of its modules the dynamically quantized linear layer and arithmetic that is observed are here."""

from mindtorch_v2.ao.nn.quantized import dynamic
from mindtorch_v2.ao.nn.quantized._functional_modules import FloatFunctional, FXFloatFunctional

__all__ = ["FXFloatFunctional", "FloatFunctional", "dynamic"]
