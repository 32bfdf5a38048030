"""Descriptions of checkpoints: which tensors it holds, in which pieces, and where these are. PyTorch's form, version 1.0.0."""

from __future__ import annotations

import dataclasses
import enum
import os
from typing import Any

import mindtorch_v2 as torch

__all__ = [
    "BytesStorageMetadata",
    "ChunkStorageMetadata",
    "Metadata",
    "MetadataIndex",
    "STORAGE_TYPES",
    "StorageMeta",
    "TensorProperties",
    "TensorStorageMetadata",
]


STATE_DICT_TYPE = dict[str, Any]


@dataclasses.dataclass
class ChunkStorageMetadata:
    """A piece of a tensor: where it begins, and its size.

    >>> from mindtorch_v2.distributed.checkpoint.metadata import ChunkStorageMetadata
    >>> ChunkStorageMetadata(offsets=torch.Size([4, 0]), sizes=torch.Size([4, 3]))
    ChunkStorageMetadata(offsets=torch.Size([4, 0]), sizes=torch.Size([4, 3]))
    """

    offsets: torch.Size
    sizes: torch.Size


class _MEM_FORMAT_ENCODING(enum.Enum):
    """Memory formats, as files number them."""

    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


_FORMATS = {
    torch.contiguous_format: _MEM_FORMAT_ENCODING.TORCH_CONTIGUOUS_FORMAT,
    torch.channels_last: _MEM_FORMAT_ENCODING.TORCH_CHANNELS_LAST,
    torch.preserve_format: _MEM_FORMAT_ENCODING.TORCH_PRESERVE_FORMAT,
}


@dataclasses.dataclass
class TensorProperties:
    """Properties of a tensor beside its size.

    >>> from mindtorch_v2.distributed.checkpoint.metadata import TensorProperties
    >>> TensorProperties.create_from_tensor(torch.ones(2, dtype=torch.float16)).dtype
    torch.float16
    """

    dtype: torch.dtype = dataclasses.field(default_factory=torch.get_default_dtype)
    layout: torch.layout = torch.strided
    requires_grad: bool = False
    memory_format: torch.memory_format = torch.contiguous_format
    pin_memory: bool = False

    def __getstate__(self) -> tuple:
        return self.dtype, self.layout, self.requires_grad, _FORMATS[self.memory_format], self.pin_memory

    def __setstate__(self, state: tuple) -> None:
        self.dtype, self.layout, self.requires_grad, memory_format, self.pin_memory = state
        self.memory_format = next(each for each, number in _FORMATS.items() if number == memory_format)

    @staticmethod
    def create_from_tensor(tensor: torch.Tensor) -> TensorProperties:
        """Those of a tensor."""
        return TensorProperties(tensor.dtype, tensor.layout, tensor.requires_grad, torch.contiguous_format, False)


@dataclasses.dataclass
class TensorStorageMetadata:
    """A tensor of a checkpoint.

    >>> import tempfile
    >>> import mindtorch_v2.distributed.checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     saved = dcp.save({"weight": torch.ones(2, 3)}, checkpoint_id=folder)
    >>> described = saved.state_dict_metadata["weight"]
    >>> described.size, described.properties.dtype, len(described.chunks)
    (torch.Size([2, 3]), torch.float32, 1)
    """

    properties: TensorProperties
    size: torch.Size
    chunks: list[ChunkStorageMetadata]


@dataclasses.dataclass
class BytesStorageMetadata:
    """An object of a checkpoint that is no tensor.

    >>> from mindtorch_v2.distributed.checkpoint.metadata import BytesStorageMetadata
    >>> BytesStorageMetadata() == BytesStorageMetadata()
    True
    """


STORAGE_TYPES = TensorStorageMetadata | BytesStorageMetadata


@dataclasses.dataclass
class StorageMeta:
    """Where a checkpoint is.

    >>> from mindtorch_v2.distributed.checkpoint.metadata import StorageMeta
    >>> StorageMeta(checkpoint_id="step_100").checkpoint_id
    'step_100'
    """

    checkpoint_id: str | os.PathLike | None = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Metadata:
    """Contents of a checkpoint.

    state_dict_metadata: by name.
    planner_data: the path of each name in the nested dictionary that was saved.
    storage_data: of each piece and object, by its `MetadataIndex`, where the storage put it.

    >>> from mindtorch_v2.distributed.checkpoint.metadata import BytesStorageMetadata, Metadata
    >>> list(Metadata({"step": BytesStorageMetadata()}).state_dict_metadata)
    ['step']
    """

    state_dict_metadata: dict[str, TensorStorageMetadata | BytesStorageMetadata]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None


@dataclasses.dataclass(frozen=True)
class MetadataIndex:
    """A piece of a tensor by its name and offset, or an object by its name; `index` says where to look first.

    >>> from mindtorch_v2.distributed.checkpoint.metadata import MetadataIndex
    >>> MetadataIndex("weight", [4, 0])
    MetadataIndex(fqn='weight', offset=torch.Size([4, 0]), index=None)
    """

    fqn: str
    offset: torch.Size | None = None
    index: int | None = dataclasses.field(hash=False, compare=False, default=None)

    def __init__(self, fqn: str, offset: Any = None, index: int | None = None) -> None:
        object.__setattr__(self, "fqn", fqn)
        object.__setattr__(self, "index", index)
        object.__setattr__(self, "offset", None if offset is None else torch.Size(offset))
