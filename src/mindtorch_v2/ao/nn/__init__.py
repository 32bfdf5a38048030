"""`torch.ao.nn`: modules of quantized models."""

import importlib
import types

from mindtorch_v2.ao.nn import intrinsic, qat, quantizable, quantized

__all__ = ["intrinsic", "qat", "quantizable", "quantized"]


def __getattr__(name: str) -> types.ModuleType:
    if name == "sparse":  # its names only
        return importlib.import_module(f"mindtorch_v2.ao.nn.{name}")
    raise AttributeError(f"module 'torch.ao.nn' has no attribute {name!r}")
