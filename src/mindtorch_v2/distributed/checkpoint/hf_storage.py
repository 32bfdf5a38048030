"""Checkpoints as safetensors files, which `from_pretrained` of transformers reads."""

from __future__ import annotations

import json
import math
import os
import pathlib
from collections.abc import Iterator
from typing import Any

import safetensors

import mindtorch_v2 as torch
from mindtorch_v2.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from mindtorch_v2.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from mindtorch_v2.distributed.checkpoint.planner import LoadPlan, LoadPlanner, SavePlan, SavePlanner, WriteItemType
from mindtorch_v2.distributed.checkpoint.storage import WriteResult
from mindtorch_v2.futures import Future

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]

_INDEX = "model.safetensors.index.json"
_SHARDING = "DCP_SHARDING_INFO"
_CODES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
_DTYPES = {code: dtype for dtype, code in _CODES.items()}
_MOST_HEADER = 100_000_000  # bytes of a header, as the format allows


def _described(tensor: torch.Tensor) -> Any:
    """A contiguous tensor of the CPU as the library takes it: since 0.8 by the address of its memory, before by its bytes."""
    about: dict[str, Any] = {"dtype": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape)}
    by_address = getattr(safetensors, "TensorSpec", None)
    if by_address is not None:
        return by_address(**about, data_ptr=tensor.data_ptr(), data_len=tensor.nbytes)
    raw = tensor.reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""
    return {**about, "data": raw}


def write_file(path: pathlib.Path, tensors: dict[str, torch.Tensor], notes: dict[str, str]) -> None:
    """Write a safetensors file, which is there whole or not at all. TypeError for a dtype that the format lacks."""
    described: dict[str, Any] = {}
    kept: list[torch.Tensor] = []  # while their memory is read
    for name, tensor in tensors.items():
        if tensor.dtype not in _CODES:
            raise TypeError(f"{name}: safetensors has no {tensor.dtype}")
        plain = tensor.detach().cpu().contiguous()
        kept.append(plain)
        described[name] = _described(plain)
    part = path.with_name(f"{path.name}.tmp")
    safetensors.serialize_file(described, str(part), notes)
    with open(part, "rb") as stream:
        os.fsync(stream.fileno())
    os.replace(part, path)


def read_header(path: pathlib.Path) -> tuple[dict[str, Any], int]:
    """(what a safetensors file holds, where its data begins). RuntimeError if it is none."""
    size = path.stat().st_size
    with open(path, "rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if size < 8 or length > min(_MOST_HEADER, size - 8):
            raise RuntimeError(f"{path} is no safetensors file: its header is longer than it")
        try:
            header = json.loads(stream.read(length))
        except ValueError as error:
            raise RuntimeError(f"{path} is no safetensors file: {error}") from error
    for name, each in header.items():
        if name == "__metadata__":
            continue
        start, end = each["data_offsets"]
        wanted = math.prod(each["shape"]) * _DTYPES[each["dtype"]].itemsize if each.get("dtype") in _DTYPES else -1
        if not 0 <= start <= end <= size - 8 - length or end - start != wanted:
            raise RuntimeError(f"{path}: {name} does not lie within the file as its size says")
    return header, 8 + length


def read_tensor(path: pathlib.Path, entry: dict[str, Any], begin: int) -> torch.Tensor:
    """A tensor of a file, by its header's entry."""
    start, end = entry["data_offsets"]
    with open(path, "rb") as stream:
        stream.seek(begin + start)
        data = bytearray(stream.read(end - start))
    if len(data) != end - start:
        raise RuntimeError(f"{path} ends within a tensor: it was not written whole")
    if not data:
        return torch.empty(entry["shape"], dtype=_DTYPES[entry["dtype"]])
    return torch.frombuffer(data, dtype=_DTYPES[entry["dtype"]]).view(entry["shape"])


class HuggingFaceStorageWriter(FileSystemWriter):
    """Write safetensors files into a folder.

    Args:
        path: the folder.
        fqn_to_index_mapping: in which file, from 1 on, each tensor is; all in one by default.
        thread_count, thread_count_consolidation: accepted as in PyTorch.
        save_distributed: whether tensors may be distributed, so that ranks write pieces.
        enable_consolidation: whether the pieces, then below `sharded/`, are put together as whole tensors.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        fqn_to_index_mapping: dict[str, int] | None = None,
        thread_count: int = 1,
        save_distributed: bool = False,
        enable_consolidation: bool = False,
        thread_count_consolidation: int = 1,
    ) -> None:
        super().__init__(path)
        self.fqn_to_index_mapping = fqn_to_index_mapping
        self.save_distributed, self.enable_consolidation = save_distributed, enable_consolidation

    @property
    def _pieces(self) -> pathlib.Path:
        return self.path / "sharded" if self.enable_consolidation else self.path

    def _file_of(self, name: str) -> int:
        return self.fqn_to_index_mapping[name] if self.fqn_to_index_mapping else 1

    def _name(self, file: int, rank: int | None = None) -> str:
        last = max(self.fqn_to_index_mapping.values()) if self.fqn_to_index_mapping else 1
        name = f"model-{file:05d}-of-{last:05d}.safetensors"
        return name if rank is None else f"shard-{rank + 1:05d}-{name}"

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        self._pieces.mkdir(parents=True, exist_ok=True)
        return plan

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        rank = int(plan.storage_data.prefix.split("_")[2]) if self.save_distributed else None
        files: dict[int, dict[str, torch.Tensor]] = {}
        notes: dict[int, dict[str, Any]] = {}
        results = []
        for item in plan.items:
            if item.type is WriteItemType.BYTE_IO or item.tensor_data is None:
                raise ValueError(f"{item.index.fqn}: safetensors files hold tensors only")
            whole = item.tensor_data.chunk.sizes == item.tensor_data.size
            if not whole and not self.save_distributed:
                raise ValueError(
                    f"{item.index.fqn} is distributed: HuggingFaceStorageWriter(save_distributed=True) writes pieces"
                )
            data: Any = planner.resolve_data(item)
            file = self._file_of(item.index.fqn)
            files.setdefault(file, {})[item.index.fqn] = data
            notes.setdefault(file, {})[item.index.fqn] = {"saved_offsets": list(item.tensor_data.chunk.offsets)}
            results.append(WriteResult(item.index, item.tensor_storage_size() or 0, self._name(file, rank)))
        for file, tensors in files.items():
            said = {"format": "pt"}
            if self.save_distributed:
                said |= {_SHARDING: json.dumps(notes[file]), "DCP_VERSION": "1.0"}
            write_file(self._pieces / self._name(file, rank), tensors, said)
        future: Future[list[WriteResult]] = Future()
        future.set_result(results)
        return future

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        if self.save_distributed and not self.enable_consolidation:
            return
        where: dict[str, list[str]] = {}
        for listed in results:
            for each in listed:
                where.setdefault(each.index.fqn, []).append(each.storage_data)
        if self.save_distributed:
            self._consolidate(metadata, where)
        total = sum(each.size_in_bytes for listed in results for each in listed)
        index = {
            "metadata": {"total_size": total},
            "weight_map": {name: self._name(self._file_of(name)) for name in sorted(where)},
        }
        (self.path / _INDEX).write_text(json.dumps(index, indent=2))

    def _consolidate(self, metadata: Metadata, where: dict[str, list[str]]) -> None:
        files: dict[int, list[str]] = {}
        for name in where:
            files.setdefault(self._file_of(name), []).append(name)
        for file, names in files.items():
            tensors = {}
            for name in sorted(names):
                entry: Any = metadata.state_dict_metadata[name]
                whole = torch.empty(entry.size, dtype=entry.properties.dtype)
                for piece_of in where[name]:
                    path = self._pieces / piece_of
                    header, begin = read_header(path)
                    offsets = json.loads(header["__metadata__"][_SHARDING])[name]["saved_offsets"]
                    piece = read_tensor(path, header[name], begin)
                    target = whole
                    for dim, (start, length) in enumerate(zip(offsets, piece.shape, strict=True)):
                        target = target.narrow(dim, start, length)
                    target.copy_(piece)
                tensors[name] = whole
            write_file(self.path / self._name(file), tensors, {"format": "pt"})


class HuggingFaceStorageReader(FileSystemReader):
    """Read the safetensors files of a folder, whole tensors or pieces of ranks.

    Args:
        path: the folder.
        thread_count: accepted as in PyTorch.
    """

    def __init__(self, path: str | os.PathLike, thread_count: int = 1) -> None:
        super().__init__(path)

    def _entries(self) -> Iterator[tuple[str, dict[str, Any], list[int], pathlib.Path, int]]:
        for path in sorted(self.path.glob("*.safetensors")):
            header, begin = read_header(path)
            pieces = json.loads(header.get("__metadata__", {}).get(_SHARDING, "{}"))
            for name, entry in header.items():
                if name != "__metadata__":
                    offsets = pieces.get(name, {}).get("saved_offsets", [0] * len(entry["shape"]))
                    yield name, entry, offsets, path, begin

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        found: dict[str, Any] = {}
        storage: dict[MetadataIndex, Any] = {}
        for name, entry, offsets, path, begin in self._entries():
            size = [start + length for start, length in zip(offsets, entry["shape"], strict=True)]
            described = found.setdefault(
                name, TensorStorageMetadata(TensorProperties(_DTYPES[entry["dtype"]]), torch.Size(size), [])
            )
            described.size = torch.Size(map(max, described.size, size))
            described.chunks.append(ChunkStorageMetadata(torch.Size(offsets), torch.Size(entry["shape"])))
            storage[MetadataIndex(name, offsets)] = path, entry, begin
        if not found:
            raise FileNotFoundError(f"no safetensors files in {self.path}")
        return Metadata(found, storage_data=storage)

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        stored: Any = self.storage_data
        for item in plan.items:
            path, entry, begin = stored[item.storage_index]
            tensor = read_tensor(path, entry, begin)
            for dim, (start, length) in enumerate(zip(item.storage_offsets, item.lengths, strict=True)):
                tensor = tensor.narrow(dim, start, length)
            target = planner.resolve_tensor(item).detach()
            target.copy_(tensor)
            planner.commit_tensor(item, target)
        future: Future[None] = Future()
        future.set_result(None)
        return future
