"""`torch.distributed._shard.sharded_tensor`: a tensor's pieces of this process, and what is known of all."""

from mindtorch_v2.distributed._shard.metadata import ShardMetadata
from mindtorch_v2.distributed._shard.sharded_tensor.api import ShardedTensor, init_from_local_shards
from mindtorch_v2.distributed._shard.sharded_tensor.metadata import ShardedTensorMetadata, TensorProperties
from mindtorch_v2.distributed._shard.sharded_tensor.shard import Shard

__all__ = [
    "Shard",
    "ShardMetadata",
    "ShardedTensor",
    "ShardedTensorMetadata",
    "TensorProperties",
    "init_from_local_shards",
]
