"""`torch.distributed._functional_collectives` by its names, which libraries import: collectives here write in place."""

from mindtorch_v2._unavailable import unavailable_function

__all__ = [
    "all_gather_tensor",
    "all_gather_tensor_autograd",
    "all_reduce",
    "all_to_all_single",
    "all_to_all_single_autograd",
    "broadcast",
    "permute_tensor",
    "reduce_scatter_tensor",
    "reduce_scatter_tensor_autograd",
    "wait_tensor",
]


def _missing(name):
    remedy = "torch.distributed's own functions and torch.distributed.nn.functional exchange tensors"
    return unavailable_function(f"torch.distributed._functional_collectives.{name}", remedy)


all_gather_tensor = _missing("all_gather_tensor")
all_gather_tensor_autograd = _missing("all_gather_tensor_autograd")
all_reduce = _missing("all_reduce")
all_to_all_single = _missing("all_to_all_single")
all_to_all_single_autograd = _missing("all_to_all_single_autograd")
broadcast = _missing("broadcast")
permute_tensor = _missing("permute_tensor")
reduce_scatter_tensor = _missing("reduce_scatter_tensor")
reduce_scatter_tensor_autograd = _missing("reduce_scatter_tensor_autograd")
wait_tensor = _missing("wait_tensor")
