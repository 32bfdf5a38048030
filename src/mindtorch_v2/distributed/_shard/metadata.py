"""Pieces of a tensor: where they begin, how large they are, and who has them."""

from __future__ import annotations

import dataclasses

from mindtorch_v2.distributed.remote_device import _remote_device

__all__ = ["ShardMetadata"]


@dataclasses.dataclass
class ShardMetadata:
    """One piece of a tensor. ValueError for offsets and sizes of unlike length, or below zero.

    >>> from mindtorch_v2.distributed._shard.metadata import ShardMetadata
    >>> ShardMetadata([4, 0], [4, 3], "rank:1/cpu")
    ShardMetadata(shard_offsets=[4, 0], shard_sizes=[4, 3], placement=rank:1/cpu)
    """

    shard_offsets: list[int]
    shard_sizes: list[int]
    placement: _remote_device | None = None

    def __init__(
        self, shard_offsets: list[int], shard_sizes: list[int], placement: str | _remote_device | None = None
    ) -> None:
        if len(shard_offsets) != len(shard_sizes):
            raise ValueError(
                f"shard_offsets and shard_sizes should have the same number of elements, found {len(shard_offsets)} "
                f"and {len(shard_sizes)}"
            )
        if any(offset < 0 for offset in shard_offsets):
            raise ValueError("shard_offsets should be >=0")
        if any(size < 0 for size in shard_sizes):
            raise ValueError("shard_sizes should be >= 0")
        self.shard_offsets, self.shard_sizes = shard_offsets, shard_sizes
        self.placement = _remote_device(placement) if isinstance(placement, str) else placement

    def __hash__(self) -> int:
        return hash((*self.shard_offsets, *self.shard_sizes, self.placement))
