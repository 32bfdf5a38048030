"""`torch.ao.nn.intrinsic.quantized`: layers of quantized tensors with the activation that follows, in one."""

import importlib
import types

from mindtorch_v2.ao.nn.intrinsic.quantized.modules import *
from mindtorch_v2.ao.nn.intrinsic.quantized.modules import __all__ as __all__


def __getattr__(name: str) -> types.ModuleType:
    if name == "dynamic":  # found when asked for, as PyTorch's is
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'torch.ao.nn.intrinsic.quantized' has no attribute {name!r}")
