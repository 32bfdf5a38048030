"""The metadata of a tensor of pieces, the same on all processes."""

from __future__ import annotations

import dataclasses

import mindtorch_v2 as torch
from mindtorch_v2.distributed._shard.metadata import ShardMetadata
from mindtorch_v2.distributed.checkpoint.metadata import TensorProperties

__all__ = ["ShardedTensorMetadata", "TensorProperties"]


@dataclasses.dataclass
class ShardedTensorMetadata:
    """All pieces, the size of the whole, and the properties of the tensors.

    >>> from mindtorch_v2.distributed._shard.metadata import ShardMetadata
    >>> from mindtorch_v2.distributed._shard.sharded_tensor import ShardedTensorMetadata
    >>> ShardedTensorMetadata([ShardMetadata([0], [2], "rank:0/cpu")], torch.Size([2])).size
    torch.Size([2])
    """

    shards_metadata: list[ShardMetadata] = dataclasses.field(default_factory=list)
    size: torch.Size = dataclasses.field(default_factory=lambda: torch.Size([]))
    tensor_properties: TensorProperties = dataclasses.field(default_factory=TensorProperties)
