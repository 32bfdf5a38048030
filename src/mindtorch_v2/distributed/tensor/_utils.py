"""The functions that libraries import from here to lay out distributed tensors, by its name."""

from mindtorch_v2._core.unavailable import unavailable_function

__all__ = ["compute_local_shape_and_global_offset"]

compute_local_shape_and_global_offset = unavailable_function(
    "torch.distributed.tensor._utils.compute_local_shape_and_global_offset"
)
