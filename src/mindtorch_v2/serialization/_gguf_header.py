"""Whether the beginning of a GGUF file fits into the file.

The package `gguf` believes every count: one of 2**60 keeps it busy for ever. Here each length is held against what is left of the
file before that package reads it. The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import os
import struct
from typing import IO

__all__ = ["check_header"]

_SIZES = (1, 1, 2, 2, 4, 4, 4, 1, None, None, 8, 8, 8)  # bytes of a value by its type's number
_STRING, _ARRAY = 8, 9
_DEEPEST = 4  # arrays within arrays
_MOST_DIMENSIONS = 4


class _Damaged(ValueError):
    """A length that the file does not hold."""


def check_header(path: str | os.PathLike) -> None:
    """Go through names, settings and descriptions of tensors; ValueError if they do not fit into the file."""
    with open(path, "rb") as stream:
        _Header(stream, os.fstat(stream.fileno()).st_size).check()


class _Header:
    def __init__(self, stream: IO[bytes], size: int) -> None:
        self._stream, self._left, self._order = stream, size, "<"

    def check(self) -> None:
        if self._bytes(4) != b"GGUF":
            raise _Damaged("it does not begin with 'GGUF'")
        version = self._bytes(4)
        if version[:2] == b"\0\0" and version != b"\0\0\0\0":  # written where the high byte comes first
            self._order = ">"
        tensors, settings = self._number("Q"), self._number("Q")
        for count, least in ((settings, 13), (tensors, 24)):
            self._fits(count, least)
        for _ in range(settings):
            self._string()
            self._value(self._number("I"), 0)
        for _ in range(tensors):
            self._string()
            dimensions = self._number("I")
            if dimensions > _MOST_DIMENSIONS:
                raise _Damaged(f"a tensor has {dimensions} dimensions, and GGUF has {_MOST_DIMENSIONS} at most")
            self._skip(8 * dimensions + 12)

    def _fits(self, count: int, size: int) -> None:
        if count * size > self._left:
            raise _Damaged(
                f"{count} parts of at least {size} bytes each are announced where {self._left} bytes are left"
            )

    def _bytes(self, count: int) -> bytes:
        self._fits(count, 1)
        self._left -= count
        return self._stream.read(count)

    def _skip(self, count: int) -> None:
        self._fits(count, 1)
        self._left -= count
        self._stream.seek(count, os.SEEK_CUR)

    def _number(self, code: str) -> int:
        form = self._order + code
        return struct.unpack(form, self._bytes(struct.calcsize(form)))[0]

    def _string(self) -> None:
        self._skip(self._number("Q"))

    def _value(self, kind: int, depth: int) -> None:
        if kind >= len(_SIZES):
            raise _Damaged(f"a setting has the type {kind}, which GGUF has not")
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY:
            return self._skip(_SIZES[kind] or 0)
        if depth == _DEEPEST:
            raise _Damaged(f"arrays are nested more than {_DEEPEST} deep")
        of, count = self._number("I"), self._number("Q")
        size = _SIZES[of] if of < len(_SIZES) else None
        if size is not None:
            self._fits(count, size)
            return self._skip(count * size)
        self._fits(count, 8 if of == _STRING else 12)
        for _ in range(count):
            self._value(of, depth + 1)
        return None
