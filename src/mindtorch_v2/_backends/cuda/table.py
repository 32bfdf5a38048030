"""Kernels of rows that are no single element-wise loop, and launches from Python.

    @kernel("tril", "triu")
    def triangle(self, diagonal, out): ...

A kernel fills outputs that the operator's shape rule has made, so functional, in-place and `out=` form share it; without a shape
rule it returns the results. `aten` of the table does the work where several operators follow each other.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

from ... import _C
from ..common.rows import CONTIGUOUS as CONTIGUOUS
from ..common.rows import MAY_ALIAS as MAY_ALIAS
from ..common.rows import stating
from . import compiler
from .pointwise import ELEMENTS

WORDS = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t", 16: "c128"}
"""Types that move elements of so many bytes, where no arithmetic is done."""
NAMES: list[str] = []
"""The rows with a kernel of this kind."""


_state = stating("CUDA")


def kernel(*names: str, flags: int = 0) -> Callable[[Callable], Callable]:
    """State a Python function as the kernel of rows; `flags` are CONTIGUOUS and MAY_ALIAS."""
    NAMES.extend(names)
    return _state(*names, flags=flags)


def element(dtype: Any) -> str:
    """The type of a dtype's elements in kernels. NotImplementedError for one that they have not."""
    name = _BY_NAME.get(str(dtype).rpartition(".")[2])
    if name is None:
        raise NotImplementedError(f"CUDA kernels have no elements of {dtype}")
    return name


_BY_NAME = {
    "uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int32": "int32_t", "int64": "int64_t", "float16": "f16",
    "float32": "float", "float64": "double", "complex64": "c64", "complex128": "c128", "bool": "b8", "bfloat16": "bf16",
    "uint16": "uint16_t", "uint32": "uint32_t", "uint64": "uint64_t",
}  # fmt: skip
assert set(_BY_NAME.values()) == set(ELEMENTS.values())


class Source:
    """A kernel's source with words to fill in, and the layout of its struct.

    Args:
        header: the file of `kernels/` that has the kernel.
        entry: the name that KERNEL gives.
    """

    def __init__(self, header: str, entry: str) -> None:
        self.header, self.entry = header, entry
        self._functions: dict[tuple, int] = {}

    def launch(
        self,
        device: int | None,
        words: tuple[tuple[str, str], ...],
        grid: Sequence[int],
        block: Sequence[int],
        arguments: bytes,
        shared: int = 0,
        functions: dict[int, int] | None = None,
    ) -> None:
        """Enqueue the kernel on the current stream.

        Args:
            device: index of the device; tensors of CUDA have one.
            words: what the source is compiled with, as `#define`s: (("IN", "float"), ...).
            grid, block: up to three numbers each.
            arguments: the struct's bytes (`pack`).
            shared: bytes of dynamic shared memory.
            functions: where the caller keeps the function of these words, by device: it is found there faster.
        """
        assert device is not None
        function = functions.get(device) if functions is not None else None
        if function is None:
            function = self._function(device, words, shared)
            if functions is not None:
                functions[device] = function
        _C._cuda_launch(function, _three(grid), _three(block), shared, device, arguments)

    def _function(self, device: int, words: tuple[tuple[str, str], ...], shared: int) -> int:
        function = self._functions.get((device, words))
        if function is None:
            defines = "".join(f"#define {name} {text}\n" for name, text in words)
            source = f'#include "base.cuh"\n#include "functions.cuh"\n{defines}#include "{self.header}"\n'
            function = compiler.function(source, self.entry, device, f"{self.header}:{self.entry}")
            if shared > 48 << 10:
                compiler.allow_shared(function, shared)
            self._functions[device, words] = function
        return function


def _three(sizes: Sequence[int]) -> tuple[int, int, int]:
    a, b, c = (*sizes, 1, 1, 1)[:3]
    return int(a), int(b), int(c)


def pack(*values: Any) -> bytes:
    """Bytes of a struct of 64-bit members: tensors and addresses as pointers, integers, floats as doubles, sequences flat."""
    parts: list[bytes] = []
    for value in values:
        if isinstance(value, _C.TensorBase):
            parts.append(struct.pack("<q", value.data_ptr()))
        elif isinstance(value, float):
            parts.append(struct.pack("<d", value))
        elif isinstance(value, (list, tuple)):
            parts.append(pack(*value))
        elif value is None:
            parts.append(struct.pack("<q", 0))
        else:
            parts.append(struct.pack("<q", int(value)))
    return b"".join(parts)


def blocks(n: int, per_block: int) -> int:
    """How many blocks n items take."""
    return max(1, -(-n // per_block))
