"""`torch.distributed.fsdp` by its names, which libraries ask for in `isinstance`: parameters are not sharded here."""

from mindtorch_v2._core.unavailable import unavailable_class, unavailable_function

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
    "fully_shard",
]

BackwardPrefetch = unavailable_class("torch.distributed.fsdp.BackwardPrefetch")
CPUOffload = unavailable_class("torch.distributed.fsdp.CPUOffload")
OffloadPolicy = unavailable_class("torch.distributed.fsdp.OffloadPolicy")
CPUOffloadPolicy = unavailable_class("torch.distributed.fsdp.CPUOffloadPolicy", bases=(OffloadPolicy,))
FSDPModule = unavailable_class("torch.distributed.fsdp.FSDPModule")
FullyShardedDataParallel = unavailable_class(
    "torch.distributed.fsdp.FullyShardedDataParallel", "DistributedDataParallel keeps whole copies"
)
MixedPrecision = unavailable_class("torch.distributed.fsdp.MixedPrecision")
MixedPrecisionPolicy = unavailable_class("torch.distributed.fsdp.MixedPrecisionPolicy")
ShardingStrategy = unavailable_class("torch.distributed.fsdp.ShardingStrategy")
StateDictType = unavailable_class("torch.distributed.fsdp.StateDictType")
fully_shard = unavailable_function("torch.distributed.fsdp.fully_shard", "DistributedDataParallel keeps whole copies")
