"""`torch.ao`: quantization by its names."""

import importlib
import types

from mindtorch_v2.ao import quantization

__all__ = ["quantization"]


def __getattr__(name: str) -> types.ModuleType:
    if name in {"nn", "pruning"}:  # their names only, found when asked for, as PyTorch's are
        return importlib.import_module(f"mindtorch_v2.ao.{name}")
    raise AttributeError(f"module 'torch.ao' has no attribute {name!r}")
