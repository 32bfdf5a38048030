"""A piece of a tensor with its data."""

from __future__ import annotations

import dataclasses

import mindtorch_v2 as torch
from mindtorch_v2.distributed._shard.metadata import ShardMetadata

__all__ = ["Shard"]


@dataclasses.dataclass
class Shard:
    """A piece of a tensor and where it belongs. ValueError where its size is not the one that is said.

    >>> from mindtorch_v2.distributed._shard.sharded_tensor import Shard
    >>> Shard.from_tensor_and_offsets(torch.ones(2), [4], rank=1).metadata
    ShardMetadata(shard_offsets=[4], shard_sizes=[2], placement=rank:1/cpu)
    """

    tensor: torch.Tensor
    metadata: ShardMetadata

    def __post_init__(self) -> None:
        if list(self.tensor.size()) != list(self.metadata.shard_sizes):
            raise ValueError(
                "Shard tensor size does not match with metadata.shard_lengths! Found shard tensor size: "
                f"{list(self.tensor.size())}, metadata.shard_lengths: {list(self.metadata.shard_sizes)}"
            )

    @classmethod
    def from_tensor_and_offsets(cls, tensor: torch.Tensor, shard_offsets: list[int], rank: int) -> Shard:
        """A tensor as the piece from `shard_offsets` on that process `rank` has."""
        placement = f"rank:{rank}/{tensor.device}"
        return cls(tensor, ShardMetadata(shard_offsets, list(tensor.size()), placement))
