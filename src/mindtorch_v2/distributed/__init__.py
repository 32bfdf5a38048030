"""`torch.distributed`: processes that work on one job, and exchange tensors.

`init_process_group` makes the default group. The back end "gloo" is for tensors of the CPU, over TCP, "mpi" for them on
clusters, "hccl" for those of Ascend NPUs. docs/distributed.md is the guide.
"""

from mindtorch_v2.distributed import algorithms, distributed_c10d
from mindtorch_v2.distributed._buckets import _compute_bucket_assignment_by_size
from mindtorch_v2.distributed._coalescing import _coalescing_manager, _CoalescingManager
from mindtorch_v2.distributed._debug import DebugLevel, get_debug_level, set_debug_level, set_debug_level_from_env
from mindtorch_v2.distributed._errors import *
from mindtorch_v2.distributed._groups import *
from mindtorch_v2.distributed._objects import *
from mindtorch_v2.distributed._operations import *
from mindtorch_v2.distributed.distributed_c10d import *
from mindtorch_v2.distributed._operations import all_gather_into_tensor as _all_gather_base
from mindtorch_v2.distributed._operations import reduce_scatter_tensor as _reduce_scatter_base
from mindtorch_v2.distributed.device_mesh import DeviceMesh, init_device_mesh
from mindtorch_v2.nn.parallel._reducer import BuiltinCommHookType, GradBucket

__all__ = [
    *(name for name in distributed_c10d.__all__ if not name.startswith("_")),
    "BuiltinCommHookType",
    "DeviceMesh",
    "GradBucket",
    "algorithms",
    "distributed_c10d",
    "init_device_mesh",
    "set_debug_level",
    "set_debug_level_from_env",
]
