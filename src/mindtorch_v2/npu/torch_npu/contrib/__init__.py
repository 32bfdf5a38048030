"""Modules and functions that torch_npu brings for single models, by their names; those without a counterpart here raise when used."""

from mindtorch_v2._core.unavailable import unavailable_function

from . import function, module
from .module import *
from .module import __all__ as _MODULES

matmul_transpose = unavailable_function(
    "torch_npu.contrib.matmul_transpose", "use torch.matmul(x, y.transpose(-2, -1))"
)

__all__ = ["function", "matmul_transpose", "module", *_MODULES]
