"""`torch.distributed` as in a PyTorch built without it: `is_available()` is False.

Libraries ask that first and then leave the rest alone. Process groups, FSDP and the launchers are missing: their modules do
not exist, their functions raise. `torch.distributed.tensor` and `device_mesh` exist by their names alone: no tensor is a `DTensor`.
"""

import importlib

from mindtorch_v2._unavailable import unavailable_class, unavailable_function

__all__ = [
    "GradBucket",
    "ProcessGroup",
    "ReduceOp",
    "Work",
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_reduce",
    "barrier",
    "broadcast",
    "broadcast_object_list",
    "destroy_process_group",
    "get_backend",
    "get_rank",
    "get_world_size",
    "init_process_group",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "new_group",
    "recv",
    "reduce",
    "reduce_scatter",
    "send",
]


def is_available():
    """Whether process groups can be made: False."""
    return False


def is_initialized():
    """Whether the default process group exists: False."""
    return False


def is_backend_available(backend):
    """Whether the communication backend of that name can be used: False."""
    return False


def is_gloo_available():
    """Whether Gloo can be used: False."""
    return False


def is_mpi_available():
    """Whether MPI can be used: False."""
    return False


def is_nccl_available():
    """Whether NCCL can be used: False."""
    return False


def is_torchelastic_launched():
    """Whether this process was started by torchrun: False."""
    return False


def is_ucc_available():
    """Whether UCC can be used: False."""
    return False


def is_xccl_available():
    """Whether XCCL can be used: False."""
    return False


ProcessGroup = unavailable_class("torch.distributed.ProcessGroup")
GradBucket = unavailable_class("torch.distributed.GradBucket")
ReduceOp = unavailable_class("torch.distributed.ReduceOp")
Work = unavailable_class("torch.distributed.Work")

all_gather = unavailable_function("torch.distributed.all_gather")
all_gather_into_tensor = unavailable_function("torch.distributed.all_gather_into_tensor")
all_gather_object = unavailable_function("torch.distributed.all_gather_object")
all_reduce = unavailable_function("torch.distributed.all_reduce")
barrier = unavailable_function("torch.distributed.barrier")
broadcast = unavailable_function("torch.distributed.broadcast")
broadcast_object_list = unavailable_function("torch.distributed.broadcast_object_list")
destroy_process_group = unavailable_function("torch.distributed.destroy_process_group")
get_backend = unavailable_function("torch.distributed.get_backend")
get_rank = unavailable_function("torch.distributed.get_rank")
get_world_size = unavailable_function("torch.distributed.get_world_size")
init_process_group = unavailable_function("torch.distributed.init_process_group")
new_group = unavailable_function("torch.distributed.new_group")
recv = unavailable_function("torch.distributed.recv")
reduce = unavailable_function("torch.distributed.reduce")
reduce_scatter = unavailable_function("torch.distributed.reduce_scatter")
send = unavailable_function("torch.distributed.send")


def __getattr__(name):
    if name in ("device_mesh", "tensor"):
        return importlib.import_module(f"{__name__}.{name}")
    if name in ("DeviceMesh", "init_device_mesh"):
        return getattr(importlib.import_module(f"{__name__}.device_mesh"), name)
    raise AttributeError(f"module 'torch.distributed' has no attribute '{name}'")
