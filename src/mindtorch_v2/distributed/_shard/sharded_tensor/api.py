"""Tensors of pieces: each process has its own, and all know where the others' are.

They hold what a checkpoint saves and loads (`torch.distributed.checkpoint`), as Megatron makes them; what computes with
distributed tensors is `torch.distributed.tensor`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed import _groups as world
from mindtorch_v2.distributed import _objects as objects
from mindtorch_v2.distributed._shard.sharded_tensor.metadata import ShardedTensorMetadata
from mindtorch_v2.distributed._shard.sharded_tensor.shard import Shard
from mindtorch_v2.distributed.checkpoint.metadata import ChunkStorageMetadata, MetadataIndex, TensorProperties
from mindtorch_v2.distributed.checkpoint.planner import TensorWriteData, WriteItem, WriteItemType

__all__ = ["ShardedTensor", "init_from_local_shards"]


class ShardedTensor(torch.Tensor):
    """A tensor of pieces, made by `init_from_local_shards`. It has a size, a dtype and pieces; RuntimeError for operators.

    >>> from mindtorch_v2.distributed._shard.sharded_tensor import Shard, ShardedTensor, ShardedTensorMetadata
    >>> piece = Shard.from_tensor_and_offsets(torch.tensor([1.0, 2.0]), [0], rank=0)
    >>> described = ShardedTensorMetadata([piece.metadata], torch.Size([2]))
    >>> whole = ShardedTensor._init_from_local_shards_and_global_metadata([piece], described)
    >>> whole.size(), whole.local_tensor()
    (torch.Size([2]), tensor([1., 2.]))
    """

    _metadata: ShardedTensorMetadata
    _local_shards: list[Shard]
    _process_group: Any

    def __new__(cls, local_shards: list[Shard], metadata: ShardedTensorMetadata, group: Any) -> ShardedTensor:
        properties = metadata.tensor_properties
        tensors: Any = torch.Tensor
        made = tensors._make_wrapper_subclass(
            cls,
            metadata.size,
            dtype=properties.dtype,
            layout=properties.layout,
            requires_grad=properties.requires_grad,
            device=local_shards[0].tensor.device if local_shards else torch.device("cpu"),
        )
        made._metadata, made._local_shards, made._process_group = metadata, local_shards, group
        return made

    @classmethod
    def _init_from_local_shards_and_global_metadata(
        cls,
        local_shards: list[Shard],
        sharded_tensor_metadata: ShardedTensorMetadata,
        process_group: Any = None,
        init_rrefs: bool = False,
        sharding_spec: Any = None,
    ) -> ShardedTensor:
        """From this process' pieces and what is known of all, without a word to the others.

        RuntimeError where the metadata says more or fewer pieces of this process; ValueError where a piece is of another dtype.
        """
        rank = world.get_rank(process_group) if world.is_initialized() else 0
        said = [
            each
            for each in sharded_tensor_metadata.shards_metadata
            if each.placement is None or each.placement.rank() == rank
        ]
        if len(said) != len(local_shards):
            raise RuntimeError(
                f"Number of local shards ({len(local_shards)}) does not match number of local shards metadata in "
                f"sharded_tensor_metadata ({len(said)}) on rank ({rank})"
            )
        wanted = sharded_tensor_metadata.tensor_properties.dtype
        for each in local_shards:
            if each.tensor.dtype != wanted:
                raise ValueError(
                    f"Local shards' tensor dtype property is incompatible with tensor property on rank {rank}: "
                    f"tensor property dtype={wanted}, local shard tensor dtype={each.tensor.dtype}."
                )
        return cls(local_shards, sharded_tensor_metadata, process_group)

    def metadata(self) -> ShardedTensorMetadata:
        """The metadata of all pieces."""
        return self._metadata

    def local_shards(self) -> list[Shard]:
        """This process' pieces."""
        return self._local_shards

    def local_tensor(self) -> torch.Tensor:
        """The data of this process' one piece; NotImplementedError where it has none or several."""
        if len(self._local_shards) != 1:
            raise NotImplementedError(
                f"Only single local shard is supported. Number of shards: {len(self._local_shards)}"
            )
        return self._local_shards[0].tensor

    def __create_write_items__(self, fqn: str, object: Any) -> list[WriteItem]:
        properties, size = self._metadata.tensor_properties, self._metadata.size
        return [
            WriteItem(
                MetadataIndex(fqn, chunk.offsets),
                WriteItemType.SHARD,
                tensor_data=TensorWriteData(chunk, properties, size),
            )
            for chunk in self.__create_chunk_list__()
        ]

    def __create_chunk_list__(self) -> list[ChunkStorageMetadata]:
        return [
            ChunkStorageMetadata(torch.Size(each.metadata.shard_offsets), torch.Size(each.metadata.shard_sizes))
            for each in self._local_shards
        ]

    def __get_tensor_shard__(self, index: MetadataIndex) -> torch.Tensor:
        for each in self._local_shards:
            if torch.Size(each.metadata.shard_offsets) == index.offset:
                return each.tensor
        raise ValueError(f"this process has no piece of {index.fqn} that begins at {index.offset}")

    def gather(self, dst: int = 0, out: torch.Tensor | None = None, dtype: torch.dtype | None = None) -> None:  # type: ignore[override]  # (PyTorch's own signature)
        """Put the pieces of all processes of the group into `out` on process `dst`; all call it. ValueError without `out` there."""
        rank = world.get_rank(self._process_group)
        if rank == dst and out is None:
            raise ValueError("`out` Tensor must be provided on dst rank!")
        mine = [(each.metadata.shard_offsets, each.tensor.detach().cpu()) for each in self._local_shards]
        given: Any = [None] * world.get_world_size(self._process_group) if rank == dst else None
        root = world.get_global_rank(world.resolve(self._process_group), dst)
        objects.gather_object(mine, given, root, self._process_group)
        if rank != dst or out is None:
            return
        for offsets, piece in (each for pieces in given for each in pieces):
            target = out
            for dim, (start, length) in enumerate(zip(offsets, piece.size(), strict=True)):
                target = target.narrow(dim, start, length)
            target.copy_(piece if dtype is None else piece.to(dtype))

    def __repr__(self) -> str:  # type: ignore[override]  # (PyTorch's own signature)
        return f"ShardedTensor({self._metadata})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return ShardedTensor, (self._local_shards, self._metadata, None)

    @classmethod
    def __torch_dispatch__(
        cls, func: Callable, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in (torch.ops.aten.detach.default, torch.ops.aten.alias.default):
            return args[0]
        raise RuntimeError(
            f"{func}: a ShardedTensor has pieces and no operators: compute with local_tensor(), or with a DTensor "
            "(torch.distributed.tensor)"
        )


def init_from_local_shards(
    local_shards: list[Shard], *global_size: Any, process_group: Any = None, init_rrefs: bool = False
) -> ShardedTensor:
    """A tensor of a size from the pieces of all processes of the group; all call it.

    Args:
        local_shards: this process' pieces.
        global_size: the whole's size, numbers or one sequence of them.
        process_group: the group; all processes by default.

    ValueError where the pieces do not hold as many elements as the whole.

    >>> import mindtorch_v2.distributed as dist
    >>> from mindtorch_v2.distributed._shard.sharded_tensor import Shard, init_from_local_shards
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> piece = Shard.from_tensor_and_offsets(torch.arange(6.0).reshape(2, 3), [0, 0], rank=0)
    >>> init_from_local_shards([piece], 2, 3).size()
    torch.Size([2, 3])
    >>> dist.destroy_process_group()
    """
    sizes = global_size[0] if len(global_size) == 1 and not isinstance(global_size[0], int) else global_size
    size = torch.Size(sizes)
    mine = [(each.metadata, TensorProperties.create_from_tensor(each.tensor)) for each in local_shards]
    given: list[Any] = [None] * world.get_world_size(process_group)
    objects.all_gather_object(given, mine, process_group)
    pieces = [each for listed in given for each in listed]
    covered = sum(torch.Size(metadata.shard_sizes).numel() for metadata, _ in pieces)
    if covered != size.numel():
        raise ValueError(
            f"the processes' pieces hold {covered} elements, but a tensor of size {tuple(size)} has {size.numel()}"
        )
    properties = pieces[0][1] if pieces else TensorProperties()
    described = ShardedTensorMetadata([metadata for metadata, _ in pieces], size, properties)
    return ShardedTensor._init_from_local_shards_and_global_metadata(local_shards, described, process_group, init_rrefs)
