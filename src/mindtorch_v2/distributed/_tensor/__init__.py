"""`torch.distributed.tensor` under its earlier name, with the modules that programs import from it."""

import importlib
import sys

from mindtorch_v2.distributed.tensor import (
    DeviceMesh,
    DTensor,
    Partial,
    Placement,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
    empty,
    full,
    init_device_mesh,
    ones,
    rand,
    randn,
    zeros,
)

__all__ = [
    "DTensor",
    "DeviceMesh",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_module",
    "distribute_tensor",
    "empty",
    "full",
    "init_device_mesh",
    "ones",
    "rand",
    "randn",
    "zeros",
]

# One module by two names, so that what it keeps is kept once.
for _name in ("_utils", "device_mesh", "experimental", "experimental._attention"):
    sys.modules[f"{__name__}.{_name}"] = importlib.import_module(f"mindtorch_v2.distributed.tensor.{_name}")
