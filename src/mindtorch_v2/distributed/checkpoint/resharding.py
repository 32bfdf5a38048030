"""The parts that two pieces of a tensor have in common."""

from __future__ import annotations

from mindtorch_v2.distributed.checkpoint.metadata import ChunkStorageMetadata

__all__: list[str] = []


def _check_shard_metadata_pair_overlap(shard1: ChunkStorageMetadata, shard2: ChunkStorageMetadata) -> bool:
    """Whether two pieces have an element in common."""
    return all(length > 0 for _, _, _, length in _shards_get_overlap_region_wrt_saved_tensor(shard1, shard2))


def _shards_get_overlap_region_wrt_saved_tensor(
    saved_shard: ChunkStorageMetadata, current_shard: ChunkStorageMetadata
) -> list[tuple[int, int, int, int]]:
    """For each dimension: it, the offset in the saved piece, that in the current one, and the length that both have."""
    regions = []
    for dim, (stored, stored_size, own, own_size) in enumerate(
        zip(saved_shard.offsets, saved_shard.sizes, current_shard.offsets, current_shard.sizes, strict=True)
    ):
        start = max(stored, own)
        end = min(stored + stored_size, own + own_size)
        regions.append((dim, start - stored, start - own, end - start))
    return regions
