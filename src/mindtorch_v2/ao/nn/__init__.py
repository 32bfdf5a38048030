"""`torch.ao.nn`: modules of quantized models."""

import importlib
import types

from mindtorch_v2.ao.nn import intrinsic, quantized

__all__ = ["intrinsic", "quantized"]


def __getattr__(name: str) -> types.ModuleType:
    if name in {"qat", "quantizable", "sparse"}:  # found when asked for, as PyTorch's are
        return importlib.import_module(f"mindtorch_v2.ao.nn.{name}")
    raise AttributeError(f"module 'torch.ao.nn' has no attribute {name!r}")
