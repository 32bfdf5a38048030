"""Interfaces of storages of checkpoints: `save` and `load` call these in the order in which they stand."""

from __future__ import annotations

import abc
import dataclasses
import os
from typing import Any

from mindtorch_v2.distributed.checkpoint.metadata import Metadata, MetadataIndex, StorageMeta
from mindtorch_v2.distributed.checkpoint.planner import LoadPlan, LoadPlanner, SavePlan, SavePlanner
from mindtorch_v2.futures import Future

__all__ = ["StorageReader", "StorageWriter", "WriteResult"]


@dataclasses.dataclass(frozen=True)
class WriteResult:
    """A piece that was written, its bytes, and where it is.

    >>> from mindtorch_v2.distributed.checkpoint.metadata import MetadataIndex
    >>> from mindtorch_v2.distributed.checkpoint.storage import WriteResult
    >>> WriteResult(MetadataIndex("weight"), size_in_bytes=8, storage_data=None).size_in_bytes
    8
    """

    index: MetadataIndex
    size_in_bytes: int
    storage_data: Any


class StorageWriter(abc.ABC):
    """Write checkpoints.

    >>> import tempfile
    >>> import mindtorch_v2.distributed.checkpoint as dcp
    >>> issubclass(dcp.FileSystemWriter, dcp.StorageWriter)
    True
    """

    @abc.abstractmethod
    def reset(self, checkpoint_id: str | os.PathLike | None = None) -> None:
        """Begin a new checkpoint."""

    @abc.abstractmethod
    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Learn whether this rank coordinates the others."""

    @abc.abstractmethod
    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """This rank's plan, with what the storage wants to say in it."""

    @abc.abstractmethod
    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """All ranks' plans, with what the storage wants to say in them; asked of the coordinator."""

    @abc.abstractmethod
    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """Write what a plan says."""

    @abc.abstractmethod
    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Make the checkpoint one; asked of the coordinator when all ranks have written."""

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike) -> bool:
        """Whether such a storage can be at that place."""

    def storage_meta(self) -> StorageMeta | None:
        """Where the checkpoint is."""
        return None


class StorageReader(abc.ABC):
    """Read checkpoints.

    >>> import tempfile
    >>> import mindtorch_v2.distributed.checkpoint as dcp
    >>> issubclass(dcp.FileSystemReader, dcp.StorageReader)
    True
    """

    @abc.abstractmethod
    def reset(self, checkpoint_id: str | os.PathLike | None = None) -> None:
        """Begin with another checkpoint."""

    @abc.abstractmethod
    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """The checkpoint's description of itself."""

    @abc.abstractmethod
    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Learn what there is, and whether this rank coordinates the others."""

    @abc.abstractmethod
    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """This rank's plan, with what the storage wants to say in it."""

    @abc.abstractmethod
    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """All ranks' plans, with what the storage wants to say in them; asked of the coordinator."""

    @abc.abstractmethod
    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """Read what a plan says, into what the planner names."""

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike) -> bool:
        """Whether such a storage can be at that place."""
