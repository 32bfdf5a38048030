"""Items of plans: what a rank writes of a value, and what it reads into one.

A tensor's class may say itself which pieces it has, by PyTorch's three methods: `__create_write_items__(name, tensor)`,
`__create_chunk_list__()` and `__get_tensor_shard__(index)`.
"""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from mindtorch_v2.distributed.checkpoint.planner import (
    LoadItemType,
    ReadItem,
    TensorWriteData,
    WriteItem,
    WriteItemType,
)
from mindtorch_v2.distributed.checkpoint.resharding import _shards_get_overlap_region_wrt_saved_tensor
from mindtorch_v2.distributed.tensor._api import DTensor

__all__ = ["create_read_items_for_chunk_list"]


def _create_chunk_list(value: torch.Tensor) -> list[ChunkStorageMetadata]:
    """The pieces of a tensor that this rank has."""
    if hasattr(value, "__create_chunk_list__"):
        return value.__create_chunk_list__()
    if not isinstance(value, DTensor):
        return [ChunkStorageMetadata(torch.Size([0] * value.dim()), value.size())]
    if value.device_mesh.get_coordinate() is None:
        return []
    sizes, offsets = value._spec.piece()
    return [ChunkStorageMetadata(torch.Size(offsets), torch.Size(sizes))]


def _local_data(value: torch.Tensor, index: MetadataIndex) -> torch.Tensor:
    """The data of the piece that an index names."""
    if hasattr(value, "__get_tensor_shard__"):
        return value.__get_tensor_shard__(index).detach()
    return (value._local_tensor if isinstance(value, DTensor) else value).detach()


def _create_write_items(fqn: str, object: Any) -> list[WriteItem]:
    """The items that a rank could write of a value: its pieces of a tensor, or an object."""
    if not isinstance(object, torch.Tensor):
        return [WriteItem(MetadataIndex(fqn), WriteItemType.BYTE_IO)]
    if hasattr(object, "__create_write_items__"):
        return object.__create_write_items__(fqn, object)
    if isinstance(object, DTensor) and any(each.is_partial() for each in object.placements):
        raise ValueError(
            f"{fqn} lies as {object.placements}: redistribute what has yet to be combined before it is saved"
        )
    kind = WriteItemType.SHARD if isinstance(object, DTensor) else WriteItemType.TENSOR
    properties = TensorProperties.create_from_tensor(object)
    return [
        WriteItem(
            MetadataIndex(fqn, chunk.offsets), kind, tensor_data=TensorWriteData(chunk, properties, object.size())
        )
        for chunk in _create_chunk_list(object)
        if chunk.sizes.numel() or not object.numel()
    ]


def _create_read_items(fqn: str, md: TensorStorageMetadata | BytesStorageMetadata, obj: Any) -> list[ReadItem]:
    """The items that a rank reads into a value: the parts of its pieces by the stored ones, or an object.

    ValueError for a tensor in the place of an object, or with another number of dimensions than was saved.
    """
    if not isinstance(md, TensorStorageMetadata):
        index, nothing = MetadataIndex(fqn), torch.Size([0])
        return [ReadItem(LoadItemType.BYTE_IO, index, nothing, index, nothing, nothing)]
    if not isinstance(obj, torch.Tensor):
        raise ValueError(f"{fqn} is a tensor in the checkpoint, but {type(obj).__name__} where it is loaded")
    return create_read_items_for_chunk_list(fqn, md, _create_chunk_list(obj))


def create_read_items_for_chunk_list(
    fqn: str, checkpoint_md: TensorStorageMetadata, local_chunks: list[ChunkStorageMetadata]
) -> list[ReadItem]:
    """The items that fill pieces of a tensor from the stored ones: one for each pair that overlaps.

    ValueError for pieces with another number of dimensions than was saved.

    >>> import tempfile
    >>> import mindtorch_v2.distributed.checkpoint as dcp
    >>> from mindtorch_v2.distributed.checkpoint.metadata import ChunkStorageMetadata
    >>> from mindtorch_v2.distributed.checkpoint.planner_helpers import create_read_items_for_chunk_list
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stored = dcp.save({"weight": torch.ones(4)}, checkpoint_id=folder).state_dict_metadata["weight"]
    >>> piece = ChunkStorageMetadata(torch.Size([1]), torch.Size([2]))
    >>> [item.storage_offsets for item in create_read_items_for_chunk_list("weight", stored, [piece])]
    [torch.Size([1])]
    """
    items = []
    for mine in local_chunks:
        for number, stored in enumerate(checkpoint_md.chunks):
            if len(mine.sizes) != len(stored.sizes):
                raise ValueError(f"{fqn} has {len(mine.sizes)} dimensions, but {len(stored.sizes)} in the checkpoint")
            regions = _shards_get_overlap_region_wrt_saved_tensor(stored, mine)
            if all(length > 0 for *_, length in regions):
                items.append(
                    ReadItem(
                        LoadItemType.TENSOR,
                        MetadataIndex(fqn, mine.offsets),
                        torch.Size([own for _, _, own, _ in regions]),
                        MetadataIndex(fqn, stored.offsets, number),
                        torch.Size([theirs for _, theirs, _, _ in regions]),
                        torch.Size([length for *_, length in regions]),
                    )
                )
    return items
