"""Plans: what each rank writes of a state dictionary, and what it reads into one."""

from __future__ import annotations

import abc
import dataclasses
import enum
import io
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorProperties,
)

__all__ = [
    "BytesIOWriteData",
    "LoadItemType",
    "LoadPlan",
    "LoadPlanner",
    "ReadItem",
    "SavePlan",
    "SavePlanner",
    "TensorWriteData",
    "WriteItem",
    "WriteItemType",
]


class WriteItemType(enum.Enum):
    """Kinds of items that are written.

    >>> from mindtorch_v2.distributed.checkpoint.planner import WriteItemType
    >>> [kind.name for kind in WriteItemType]
    ['TENSOR', 'SHARD', 'BYTE_IO']
    """

    TENSOR = enum.auto()
    SHARD = enum.auto()
    BYTE_IO = enum.auto()


class LoadItemType(enum.Enum):
    """Kinds of items that are read.

    >>> from mindtorch_v2.distributed.checkpoint.planner import LoadItemType
    >>> [kind.name for kind in LoadItemType]
    ['TENSOR', 'BYTE_IO']
    """

    TENSOR = enum.auto()
    BYTE_IO = enum.auto()


@dataclasses.dataclass(frozen=True)
class BytesIOWriteData:
    """The bytes that an object takes.

    >>> from mindtorch_v2.distributed.checkpoint.planner import BytesIOWriteData
    >>> BytesIOWriteData(nbytes=12)
    BytesIOWriteData(nbytes=12)
    """

    nbytes: int


@dataclasses.dataclass(frozen=True)
class TensorWriteData:
    """The piece of a tensor that is written, what the tensor is like, and the size of the whole.

    >>> from mindtorch_v2.distributed.checkpoint.default_planner import create_default_local_save_plan
    >>> plan = create_default_local_save_plan({"weight": torch.ones(2)}, is_coordinator=True)
    >>> plan.items[0].tensor_data.size, plan.items[0].tensor_data.chunk.sizes
    (torch.Size([2]), torch.Size([2]))
    """

    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: torch.Size


@dataclasses.dataclass(frozen=True)
class WriteItem:
    """One piece or object to be written.

    >>> from mindtorch_v2.distributed.checkpoint.metadata import MetadataIndex
    >>> from mindtorch_v2.distributed.checkpoint.planner import WriteItem, WriteItemType
    >>> WriteItem(MetadataIndex("step"), WriteItemType.BYTE_IO).index.fqn
    'step'
    """

    index: MetadataIndex
    type: WriteItemType
    bytes_io_data: BytesIOWriteData | None = None
    tensor_data: TensorWriteData | None = None

    def tensor_storage_size(self) -> int | None:
        """How many bytes the piece has; None for objects."""
        if self.tensor_data is None:
            return None
        return self.tensor_data.chunk.sizes.numel() * self.tensor_data.properties.dtype.itemsize


@dataclasses.dataclass(frozen=True)
class ReadItem:
    """One part of a stored piece, and where in the tensor of this rank it belongs.

    >>> from mindtorch_v2.distributed.checkpoint.metadata import MetadataIndex
    >>> from mindtorch_v2.distributed.checkpoint.planner import LoadItemType, ReadItem
    >>> index, start = MetadataIndex("weight"), torch.Size([0])
    >>> ReadItem(LoadItemType.TENSOR, index, start, index, torch.Size([4]), torch.Size([2])).storage_offsets
    torch.Size([4])
    """

    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: torch.Size
    storage_index: MetadataIndex
    storage_offsets: torch.Size
    lengths: torch.Size


@dataclasses.dataclass(frozen=True)
class SavePlan:
    """Items that a rank writes.

    >>> from mindtorch_v2.distributed.checkpoint.planner import SavePlan
    >>> SavePlan(items=[]).items
    []
    """

    items: list[WriteItem]
    storage_data: Any = None
    planner_data: Any = None


@dataclasses.dataclass
class LoadPlan:
    """Items that a rank reads.

    >>> from mindtorch_v2.distributed.checkpoint.planner import LoadPlan
    >>> LoadPlan(items=[]).items
    []
    """

    items: list[ReadItem]
    storage_data: Any = None
    planner_data: Any = None


class SavePlanner(abc.ABC):
    """Decide what is written. Every rank makes a plan, the coordinator one of all, every rank ends with its part of that.

    >>> import tempfile
    >>> import mindtorch_v2.distributed.checkpoint as dcp
    >>> class Telling(dcp.DefaultSavePlanner):
    ...     def resolve_data(self, write_item):
    ...         print("writes", write_item.index.fqn)
    ...         return super().resolve_data(write_item)
    >>> issubclass(Telling, dcp.SavePlanner)
    True
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = dcp.save({"weight": torch.ones(2)}, checkpoint_id=folder, planner=Telling())
    writes weight
    """

    @abc.abstractmethod
    def set_up_planner(
        self, state_dict: dict[str, Any], storage_meta: Any = None, is_coordinator: bool = False
    ) -> None:
        """Begin with a state dictionary."""

    @abc.abstractmethod
    def create_local_plan(self) -> SavePlan:
        """Plan all that this rank could write."""

    @abc.abstractmethod
    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """Plan each rank's part, and describe the checkpoint; asked of the coordinator."""

    @abc.abstractmethod
    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """This rank's plan, as it is carried out."""

    @abc.abstractmethod
    def resolve_data(self, write_item: WriteItem) -> torch.Tensor | io.BytesIO:
        """The data of an item."""


class LoadPlanner(abc.ABC):
    """Decide what is read into which tensors.

    >>> import tempfile
    >>> import mindtorch_v2.distributed.checkpoint as dcp
    >>> class Telling(dcp.DefaultLoadPlanner):
    ...     def load_bytes(self, read_item, value):
    ...         print("an object:", read_item.dest_index.fqn)
    ...         super().load_bytes(read_item, value)
    >>> issubclass(Telling, dcp.LoadPlanner)
    True
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = dcp.save({"step": 3}, checkpoint_id=folder)
    ...     dcp.load({"step": 0}, checkpoint_id=folder, planner=Telling())
    an object: step
    """

    @abc.abstractmethod
    def set_up_planner(
        self, state_dict: dict[str, Any], metadata: Metadata | None = None, is_coordinator: bool = False
    ) -> None:
        """Begin with a state dictionary, and with what the checkpoint says of itself."""

    @abc.abstractmethod
    def create_local_plan(self) -> LoadPlan:
        """Plan all that this rank needs."""

    @abc.abstractmethod
    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """Plan each rank's part; asked of the coordinator."""

    @abc.abstractmethod
    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """This rank's plan, as it is carried out."""

    @abc.abstractmethod
    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Take an object that was read."""

    @abc.abstractmethod
    def resolve_tensor(self, read_item: ReadItem) -> torch.Tensor:
        """The part of a tensor that is read into."""

    @abc.abstractmethod
    def commit_tensor(self, read_item: ReadItem, tensor: torch.Tensor) -> None:
        """It has been read into."""
