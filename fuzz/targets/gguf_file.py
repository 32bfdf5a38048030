"""GGUF files, read by the package `gguf`, their blocks unpacked here."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import gguf
import numpy

import mindtorch_v2 as torch
from mindtorch_v2.gguf import FORMATS, PackedTensor, read

MODULES = ("mindtorch_v2.gguf", "mindtorch_v2.serialization._gguf_header", "gguf.gguf_reader")
_FOLDER = tempfile.TemporaryDirectory(prefix="fuzz-gguf-")  # on the memory's file system where there is one


def one(data: bytes) -> None:
    """Read a file, and each of its tensors."""
    path = Path(_FOLDER.name) / "input.gguf"
    path.write_bytes(data)
    try:
        tensors = read(path)
    except RuntimeError as error:
        if isinstance(error, RecursionError):
            raise
        return
    for tensor in tensors.values():
        if isinstance(tensor, PackedTensor):
            if tensor.shape[1] >= 1 << 20:  # a matrix without rows may say so
                continue
            torch.ops.mindtorch.packed_linear(torch.ones(1, tensor.shape[1]), tensor.data, tensor.format)
        elif tensor.numel() < 1 << 20:
            tensor.clone()


def seeds() -> Iterator[bytes]:
    """A file with plain tensors, and one with a tensor of each packed format."""
    for packed in (False, True):
        path = Path(_FOLDER.name) / "seed.gguf"
        writer = gguf.GGUFWriter(path, "llama")
        writer.add_block_count(1)
        writer.add_array("names", ["a", "b"])
        if packed:
            for name in FORMATS:
                kind = gguf.GGMLQuantizationType[name]
                size = gguf.GGML_QUANT_SIZES[kind][1]
                data = numpy.arange(2 * size, dtype=numpy.uint8).reshape(2, size)
                writer.add_tensor(name, data, raw_shape=(2, size), raw_dtype=kind)
        else:
            writer.add_tensor("x", numpy.arange(6, dtype=numpy.float32).reshape(2, 3))
            writer.add_tensor("y", numpy.ones(3, numpy.float16))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        yield path.read_bytes()
