"""`torch.distributed.fsdp`: parameters, gradients and optimizer states in pieces on all ranks."""

from mindtorch_v2._core.unavailable import unavailable_class
from mindtorch_v2.distributed.fsdp._fully_shard.api import (
    FSDPModule,
    UnshardHandle,
    fully_shard,
    register_fsdp_forward_method,
    share_comm_ctx,
)
from mindtorch_v2.distributed.fsdp._fully_shard.policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "CPUOffloadPolicy",
    "FSDPModule",
    "FullyShardedDataParallel",
    "MixedPrecision",
    "MixedPrecisionPolicy",
    "OffloadPolicy",
    "ShardingStrategy",
    "StateDictType",
    "UnshardHandle",
    "fully_shard",
    "register_fsdp_forward_method",
    "share_comm_ctx",
]

BackwardPrefetch = unavailable_class("torch.distributed.fsdp.BackwardPrefetch")
CPUOffload = unavailable_class("torch.distributed.fsdp.CPUOffload")
FullyShardedDataParallel = unavailable_class(
    "torch.distributed.fsdp.FullyShardedDataParallel", "DistributedDataParallel keeps whole copies"
)
MixedPrecision = unavailable_class("torch.distributed.fsdp.MixedPrecision")
ShardingStrategy = unavailable_class("torch.distributed.fsdp.ShardingStrategy")
StateDictType = unavailable_class("torch.distributed.fsdp.StateDictType")
