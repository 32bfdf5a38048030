"""`torch.ao.nn.quantized`: modules and functions of quantized tensors."""

import importlib
import types

from mindtorch_v2.ao.nn.quantized import dynamic, functional, modules
from mindtorch_v2.ao.nn.quantized.modules import *
from mindtorch_v2.ao.nn.quantized.modules import __all__ as _modules

__all__ = [*_modules, "dynamic", "functional", "modules"]


def __getattr__(name: str) -> types.ModuleType:
    if name == "reference":  # found when asked for, as PyTorch's is
        return importlib.import_module("mindtorch_v2.ao.nn.quantized.reference")
    raise AttributeError(f"module 'torch.ao.nn.quantized' has no attribute {name!r}")
