"""Checkpoints in a folder: a file of each rank, and `.metadata`, which is written last and makes them one.

The files are PyTorch's: pieces are saved one after the other by `torch.save`, `.metadata` is a pickle of a `Metadata`.
"""

from __future__ import annotations

import collections
import copyreg
import dataclasses
import enum
import io
import itertools
import os
import pathlib
import pickle
import re
import sys
import uuid
from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed.checkpoint._file_systems import FileSystem, FileSystemBase
from mindtorch_v2.distributed.checkpoint.metadata import (
    _MEM_FORMAT_ENCODING,
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from mindtorch_v2.distributed.checkpoint.planner import (
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    SavePlan,
    SavePlanner,
    TensorWriteData,
    WriteItem,
    WriteItemType,
)
from mindtorch_v2.distributed.checkpoint.storage import StorageReader, StorageWriter, WriteResult
from mindtorch_v2.futures import Future
from mindtorch_v2.serialization import _get_layout
from mindtorch_v2.serialization._pickler import Pickler
from mindtorch_v2.serialization._replacing import replacing

__all__ = ["FileSystem", "FileSystemBase", "FileSystemReader", "FileSystemWriter"]

_METADATA = ".metadata"
DEFAULT_SUFFIX = ".distcp"
_metadata_fn = _METADATA
_PIECES = re.compile(r"__\d+_((?P<turn>\d+)_)?\d+\.distcp")


@dataclasses.dataclass
class _StorageInfo:
    """Where a piece is: which file, from which byte on, how many bytes."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Sequence[str] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if value is not None}


@dataclasses.dataclass
class _StoragePrefix:
    """How a rank's files begin."""

    prefix: str


def _member(kind: Any, name: str) -> enum.Enum:
    """A member of an enumeration: Python 3.11.0 to 3.11.3 write `getattr` and the name for it."""
    if not isinstance(kind, enum.EnumMeta) or name not in kind.__members__:
        raise pickle.UnpicklingError(f"a checkpoint's {_METADATA} asks for an attribute {name!r}: it is damaged")
    return kind[name]


_KNOWN: dict[str, dict[str, Any]] = {
    "torch.distributed.checkpoint.metadata": {
        each.__name__: each
        for each in (
            _MEM_FORMAT_ENCODING,
            BytesStorageMetadata,
            ChunkStorageMetadata,
            Metadata,
            MetadataIndex,
            StorageMeta,
            TensorProperties,
            TensorStorageMetadata,
        )
    },
    "torch.distributed.checkpoint.filesystem": {"_StorageInfo": _StorageInfo, "_StoragePrefix": _StoragePrefix},
    "torch.serialization": {"_get_layout": _get_layout},
    "collections": {"OrderedDict": collections.OrderedDict},
    "pathlib": {
        name: pathlib.PurePosixPath for name in ("PosixPath", "PurePosixPath", "WindowsPath", "PureWindowsPath")
    },
}
_KNOWN["pathlib._local"] = _KNOWN["pathlib"]  # from Python 3.13 on
_KNOWN["builtins"] = {"set": set, "dict": dict, "list": list, "tuple": tuple, "getattr": _member}
_KNOWN["__builtin__"] = _KNOWN["builtins"]  # as old protocols call it


_KNOWN["torch.distributed.checkpoint.planner"] = {
    each.__name__: each for each in (SavePlan, TensorWriteData, WriteItem, WriteItemType)
}
_KNOWN["copyreg"] = {"_reconstructor": copyreg._reconstructor}  # type: ignore[attr-defined]  # (of the standard library)
_KNOWN["builtins"]["object"] = object


def _extends_a_plan(module: str, name: str) -> type | None:
    """A class by which a library that is already imported extends `SavePlan`: Megatron keeps its plans in the metadata."""
    found = getattr(sys.modules.get(module), name, None)
    return found if isinstance(found, type) and issubclass(found, SavePlan) else None


class _MetadataUnpickler(pickle.Unpickler):
    """Make what metadata consists of, and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        found = _KNOWN.get(module, {}).get(name)
        if found is None and module == "torch":
            value = getattr(torch, name, None)
            found = value if isinstance(value, torch.dtype) or value is torch.Size else None
        if found is None:
            found = _extends_a_plan(module, name)
        if found is None:
            raise pickle.UnpicklingError(
                f"a checkpoint's {_METADATA} has no {module}.{name}: it is damaged, or none of PyTorch's"
            )
        return found


def _nobody(storage: Any) -> None:
    return None


def _turn(name: str) -> int | None:
    """Which of the names for one piece of data a file has: 0 is PyTorch's; None if the file is none of a checkpoint's."""
    match = _PIECES.fullmatch(name)
    return None if match is None else int(match["turn"] or 0)


class SerializationFormat(enum.Enum):
    """Forms of the pieces in a file; this package writes the first.

    >>> from mindtorch_v2.distributed.checkpoint.filesystem import SerializationFormat
    >>> SerializationFormat("torch_save") is SerializationFormat.TORCH_SAVE
    True
    """

    TORCH_SAVE = "torch_save"
    SAFETENSORS = "safetensors"


class _StorageWriterTransforms:
    """Changes of what is written on its way to the file, none here; libraries hand it on to `_write_item`."""

    def __init__(self, extensions: Sequence[Any] | None = None) -> None:
        if extensions:
            raise NotImplementedError("FileSystemWriter writes streams as they are: leave `_extensions` out")
        self.extensions: Sequence[Any] = ()


def _write_item(
    transforms: _StorageWriterTransforms,
    stream: Any,
    data: io.BytesIO | torch.Tensor,
    write_item: WriteItem,
    storage_key: str,
    serialization_format: SerializationFormat = SerializationFormat.TORCH_SAVE,
) -> WriteResult:
    """Write one piece where the stream stands: where it is, and how long."""
    if serialization_format is not SerializationFormat.TORCH_SAVE:
        raise NotImplementedError(f"pieces are written by torch.save, not as {serialization_format.value}")
    offset = stream.tell()
    if isinstance(data, torch.Tensor):
        data = data.detach().cpu()
        if data.untyped_storage().nbytes() != data.numel() * data.element_size():
            data = data.clone(memory_format=torch.contiguous_format)  # a piece of a larger tensor
        buffer = io.BytesIO()
        torch.save(data, buffer)
        stream.write(buffer.getbuffer())
    else:
        stream.write(data.getbuffer())
    length = stream.tell() - offset
    return WriteResult(write_item.index, length, _StorageInfo(storage_key, offset, length))


class FileSystemWriter(StorageWriter):
    """Write a checkpoint into a folder, which it makes.

    A checkpoint that is there stays whole until the new one is: the new files lie beside the old ones, `.metadata` is
    then replaced at once, and the old files are removed. So there must be room for both.

    Args:
        path: the folder.
        single_file_per_rank: whether a rank writes one file, and not one for each piece.
        sync_files: whether files are on the disk before the checkpoint counts as written.
        thread_count, per_thread_copy_ahead, cache_staged_state_dict: accepted as in PyTorch.
        overwrite: whether a checkpoint that is there may be written over.
        serialization_format: `TORCH_SAVE`. NotImplementedError for the other, and for `_extensions`.

    >>> import tempfile
    >>> import mindtorch_v2.distributed.checkpoint as dcp
    >>> import os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = dcp.save({"weight": torch.ones(2)}, storage_writer=dcp.FileSystemWriter(folder))
    ...     sorted(os.listdir(folder))
    ['.metadata', '__0_0.distcp']
    """

    def __init__(
        self,
        path: str | os.PathLike,
        single_file_per_rank: bool = True,
        sync_files: bool = True,
        thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000,
        cache_staged_state_dict: bool = False,
        overwrite: bool = True,
        _extensions: Sequence[Any] | None = None,
        serialization_format: SerializationFormat = SerializationFormat.TORCH_SAVE,
    ) -> None:
        self.transforms, self.serialization_format = _StorageWriterTransforms(_extensions), serialization_format
        self.thread_count, self.per_thread_copy_ahead = (
            thread_count,
            per_thread_copy_ahead,
        )  # read by writers that extend this
        self.single_file_per_rank, self.sync_files, self.overwrite = single_file_per_rank, sync_files, overwrite
        self.reset(path)

    def reset(self, checkpoint_id: str | os.PathLike | None = None) -> None:
        if checkpoint_id is not None:
            self.path = pathlib.Path(checkpoint_id)
        self.save_id = str(uuid.uuid4())

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        self.is_coordinator = is_coordinator

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        self.path.mkdir(parents=True, exist_ok=True)
        if (self.path / _METADATA).exists() and not self.overwrite:
            raise RuntimeError(f"Checkpoint already exists at {self.path} and overwrite is False.")
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        taken = set(map(_turn, os.listdir(self.path))) if (self.path / _METADATA).exists() else set()
        turn = next(each for each in itertools.count() if each not in taken)
        ending = f"{turn}_" if turn else ""
        return [
            dataclasses.replace(plan, storage_data=_StoragePrefix(f"__{rank}_{ending}"))
            for rank, plan in enumerate(plans)
        ]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        batches = [list(plan.items)] if self.single_file_per_rank else [[item] for item in plan.items]
        results: list[WriteResult] = []
        for number, items in enumerate(batch for batch in batches if batch):
            name = f"{plan.storage_data.prefix}{number}{DEFAULT_SUFFIX}"
            with replacing(self.path / name, sync=self.sync_files) as stream:
                results += [
                    _write_item(
                        self.transforms, stream, planner.resolve_data(item), item, name, self.serialization_format
                    )
                    for item in items
                ]
        future: Future[list[WriteResult]] = Future()
        future.set_result(results)
        return future

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        metadata.storage_data = {each.index: each.storage_data for listed in results for each in listed}
        metadata.storage_meta = self.storage_meta()
        stream = io.BytesIO()
        Pickler(stream, 2, _nobody).dump(metadata)
        with replacing(self.path / _METADATA, sync=self.sync_files) as file:
            file.write(stream.getbuffer())
        named = {info.relative_path for info in metadata.storage_data.values()}
        for name in os.listdir(self.path):
            if _turn(name) is not None and name not in named:
                (self.path / name).unlink(missing_ok=True)

    def storage_meta(self) -> StorageMeta | None:
        return StorageMeta(checkpoint_id=str(self.path), save_id=self.save_id)

    @property
    def checkpoint_id(self) -> str | os.PathLike:
        """The folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike) -> bool:
        return isinstance(checkpoint_id, pathlib.Path) or "://" not in str(checkpoint_id)


class FileSystemReader(StorageReader):
    """Read a checkpoint of a folder.

    Args:
        path: the folder.

    >>> import tempfile
    >>> import mindtorch_v2.distributed.checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = dcp.save({"weight": torch.tensor([1.0, 2.0])}, checkpoint_id=folder)
    ...     dcp.FileSystemReader(folder).read_metadata().state_dict_metadata["weight"].size
    torch.Size([2])
    """

    def __init__(self, path: str | os.PathLike, **extensions: Any) -> None:
        self.path = pathlib.Path(path)
        self.storage_data: dict[MetadataIndex, _StorageInfo] = {}

    def reset(self, checkpoint_id: str | os.PathLike | None = None) -> None:
        self.storage_data = {}
        if checkpoint_id is not None:
            self.path = pathlib.Path(checkpoint_id)

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        with open(self.path / _METADATA, "rb") as stream:
            metadata = _MetadataUnpickler(stream).load()
        if not isinstance(metadata, Metadata):
            raise pickle.UnpicklingError(
                f"{self.path / _METADATA} holds a {type(metadata).__name__} and not the metadata of a checkpoint"
            )
        return metadata

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        self.storage_data = metadata.storage_data

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        by_file: dict[str, list[Any]] = {}
        for item in plan.items:
            info = self.storage_data.get(item.storage_index)
            if info is None:
                raise RuntimeError(f"the checkpoint does not say where {item.storage_index} is")
            by_file.setdefault(info.relative_path, []).append((info, item))
        for name, wanted in by_file.items():
            path = self.path / name
            if pathlib.Path(name).is_absolute() or ".." in pathlib.Path(name).parts:
                raise RuntimeError(f"the checkpoint's file {name!r} is not in its folder")
            with open(path, "rb") as stream:
                self._read(stream, sorted(wanted, key=lambda each: each[0].offset), planner)
        future: Future[None] = Future()
        future.set_result(None)
        return future

    def _read(self, stream: Any, wanted: list[Any], planner: LoadPlanner) -> None:
        last: tuple[int, Any] = (-1, None)  # a stored piece that several parts come from is read once
        for info, item in wanted:
            if info.offset != last[0]:
                stream.seek(info.offset)
                data = stream.read(info.length)
                if len(data) != info.length:
                    raise RuntimeError(f"{stream.name} ends within {item.storage_index.fqn}: it was not written whole")
                if item.type is LoadItemType.TENSOR:
                    last = info.offset, torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
                else:
                    last = info.offset, data
            if item.type is LoadItemType.BYTE_IO:
                planner.load_bytes(item, io.BytesIO(last[1]))
                continue
            tensor = last[1]
            for dim, (start, length) in enumerate(zip(item.storage_offsets, item.lengths, strict=True)):
                tensor = tensor.narrow(dim, start, length)
            target = planner.resolve_tensor(item).detach()
            if target.size() != tensor.size():
                raise RuntimeError(
                    f"{item.storage_index.fqn}: a part of size {tuple(tensor.size())} is read into one of {tuple(target.size())}"
                )
            target.copy_(tensor)
            planner.commit_tensor(item, target)

    @property
    def checkpoint_id(self) -> str | os.PathLike:
        """The folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike) -> bool:
        return FileSystemWriter.validate_checkpoint_id(checkpoint_id)
