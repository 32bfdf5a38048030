"""`torch.distributed._functional_collectives` by its names, which libraries import: collectives here write in place."""

from mindtorch_v2._core.unavailable import unavailable_names

_NAMES = unavailable_names(
    "torch.distributed._functional_collectives",
    functions="all_gather_tensor all_gather_tensor_autograd all_reduce all_to_all_single all_to_all_single_autograd broadcast "
    "permute_tensor reduce_scatter_tensor reduce_scatter_tensor_autograd wait_tensor",
    classes="AsyncCollectiveTensor",
    remedy="torch.distributed's own functions and torch.distributed.nn.functional exchange tensors",
)
globals().update(_NAMES)
__all__ = sorted(_NAMES)
