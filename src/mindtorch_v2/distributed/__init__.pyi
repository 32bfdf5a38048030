# mypy: disable-error-code="overload-overlap, overload-cannot-match, override"
"""Made from the operator rows by tools/make_stubs.py."""

from typing import Any
from mindtorch_v2.distributed import algorithms as algorithms, distributed_c10d as distributed_c10d
from mindtorch_v2.distributed._buckets import _compute_bucket_assignment_by_size as _compute_bucket_assignment_by_size
from mindtorch_v2.distributed._coalescing import _coalescing_manager as _coalescing_manager, _CoalescingManager as _CoalescingManager
from mindtorch_v2.distributed._debug import DebugLevel as DebugLevel, get_debug_level as get_debug_level, set_debug_level as set_debug_level, set_debug_level_from_env as set_debug_level_from_env
from mindtorch_v2.distributed._errors import *
from mindtorch_v2.distributed._groups import *
from mindtorch_v2.distributed._objects import *
from mindtorch_v2.distributed._operations import *
from mindtorch_v2.distributed.distributed_c10d import *
from mindtorch_v2.distributed._operations import all_gather_into_tensor as _all_gather_base
from mindtorch_v2.distributed._operations import reduce_scatter_tensor as _reduce_scatter_base
from mindtorch_v2.distributed.device_mesh import DeviceMesh as DeviceMesh, init_device_mesh as init_device_mesh
from mindtorch_v2.nn.parallel._reducer import BuiltinCommHookType as BuiltinCommHookType, GradBucket as GradBucket

