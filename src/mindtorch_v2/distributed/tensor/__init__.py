"""`torch.distributed.tensor`, whose classes libraries ask for in `isinstance`: there is no distributed tensor here."""

from mindtorch_v2._core.unavailable import unavailable_function
from mindtorch_v2.distributed.device_mesh import DeviceMesh, init_device_mesh
from mindtorch_v2.distributed.tensor._api import DTensor
from mindtorch_v2.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

__all__ = [
    "DTensor",
    "DeviceMesh",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_tensor",
    "init_device_mesh",
]

distribute_tensor = unavailable_function("torch.distributed.tensor.distribute_tensor")
