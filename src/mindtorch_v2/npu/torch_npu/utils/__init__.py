"""Questions about the installation, counts of operations, and names of what this package does not have."""

from mindtorch_v2._core.unavailable import unavailable_names

from . import collect_env, cpp_extension, flops_count, profiler, storage
from .collect_env import get_cann_version
from .combine_tensors import get_part_combined_tensor, is_combined_tensor_valid, npu_combine_tensors
from .flops_count import FlopsCounter
from .serialization import save_async
from .threads import reset_thread_affinity, set_thread_affinity

__all__ = [
    "FlopsCounter",
    "collect_env",
    "cpp_extension",
    "flops_count",
    "get_cann_version",
    "get_part_combined_tensor",
    "is_combined_tensor_valid",
    "npu_combine_tensors",
    "profiler",
    "reset_thread_affinity",
    "save_async",
    "set_thread_affinity",
    "storage",
]
globals().update(
    unavailable_names(
        "torch_npu.utils",
        functions="patch_getenv register_asd_hook set_asd_loss_scale",
    )
)
