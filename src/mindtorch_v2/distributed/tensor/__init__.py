"""`torch.distributed.tensor`: tensors whose pieces lie on the ranks of a mesh, and operators on them.

```text
mesh = init_device_mesh("cpu", (4,))
weight = distribute_tensor(torch.randn(8, 8), mesh, [Shard(0)])     # two rows on each rank
(weight @ weight.t()).full_tensor()
```
"""

from mindtorch_v2.distributed.device_mesh import DeviceMesh, init_device_mesh
from mindtorch_v2.distributed.tensor._api import SAVED, DTensor, distribute_module, distribute_tensor
from mindtorch_v2.distributed.tensor._factories import empty, full, ones, rand, randn, zeros
from mindtorch_v2.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard
from mindtorch_v2.serialization import add_safe_globals

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

add_safe_globals(SAVED)  # files with distributed tensors hold nothing else that could be run
