"""Files of `torch.save` as archives of records, by the names that PyTorch's own code has for them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import IO, Any

from mindtorch_v2._core.storage import UntypedStorage
from mindtorch_v2.serialization._archive import ArchiveReader, ArchiveWriter


def is_path(name_or_buffer: Any) -> bool:
    """Whether it names a file, and is none itself."""
    return isinstance(name_or_buffer, (str, os.PathLike))


def folder_of(name_or_buffer: Any) -> str:
    """The folder inside the archive: the file's name without its last suffix."""
    if not is_path(name_or_buffer):
        return "archive"
    return os.path.splitext(os.path.basename(os.fspath(name_or_buffer)))[0] or "archive"


class PyTorchFileReader:
    """The records of a file that `torch.save` wrote, by their names.

    `name_or_buffer` is a path or a seekable file object, which stays open. RuntimeError for what is no such archive.

    >>> import io
    >>> import mindtorch_v2 as torch
    >>> file = io.BytesIO()
    >>> torch.save(torch.ones(2), file)
    >>> torch.PyTorchFileReader(file).get_record("byteorder")
    b'little'
    """

    def __init__(self, name_or_buffer: Any) -> None:
        self._own: IO[bytes] | None = open(name_or_buffer, "rb") if is_path(name_or_buffer) else None
        try:
            self._archive = ArchiveReader(self._own or name_or_buffer)
        except BaseException:
            self._close()
            raise

    def _close(self) -> None:
        if self._own is not None:
            self._own.close()

    def has_record(self, name: str) -> bool:
        """Whether there is a record of that name."""
        return self._archive.has(name)

    def get_record(self, name: str) -> bytes:
        """The bytes of a record; RuntimeError if there is none of that name."""
        return self._archive.read(name)

    def get_record_offset(self, name: str) -> int:
        """Where in the file the bytes of a record begin."""
        return self._archive.offset(name)

    def get_all_records(self) -> list[str]:
        """The names of all records."""
        return self._archive.names()

    def serialization_id(self) -> str:
        """The text that files of the same contents share; "" of a file without."""
        name = ".data/serialization_id"
        return self.get_record(name).decode() if self.has_record(name) else ""


class PyTorchFileWriter:
    """A file like those of `torch.save`, written record by record; `write_end_of_file` makes it whole.

    `name_or_buffer` is a path or a file object with `write`, which stays open.

    >>> import io
    >>> file = io.BytesIO()
    >>> writer = torch.PyTorchFileWriter(file)
    >>> writer.write_record("notes", b"two words", 9)
    >>> writer.write_end_of_file()
    >>> file.getvalue()[:2]
    b'PK'
    """

    def __init__(self, name_or_buffer: Any, compute_crc32: bool = True) -> None:
        if not is_path(name_or_buffer) and not callable(getattr(name_or_buffer, "write", None)):
            raise AttributeError(f"Buffer {name_or_buffer!r} has no `write` to save records with")
        self._own: IO[bytes] | None = open(name_or_buffer, "wb") if is_path(name_or_buffer) else None
        self._file = self._own or name_or_buffer
        self._folder = folder_of(name_or_buffer)
        self._archive = ArchiveWriter(self._file, self._folder, compute_crc32)

    def archive_name(self) -> str:
        """The folder in the archive that all records lie in."""
        return self._folder

    def write_record(self, name: str, data: str | bytes | memoryview | UntypedStorage, size: int) -> None:
        """Add a record: the first `size` bytes of `data`, ValueError where these are fewer."""
        view = memoryview(data.encode() if isinstance(data, str) else data).cast("B")
        if size > view.nbytes:
            raise ValueError(f"the record {name!r} is said to have {size} bytes, but only {view.nbytes} were given")
        self._archive.write(name, view[:size])

    def write_record_metadata(self, name: str, size: int) -> None:
        """Add a record of `size` zeros without a checksum, to be overwritten in the file later."""
        self._archive.write_blank(name, size)

    def write_end_of_file(self) -> None:
        """Write the directory: the file is whole, and takes no records any more."""
        try:
            self._archive.write("version", VERSION)
            self._archive.close()
            if hasattr(self._file, "flush"):
                self._file.flush()
        finally:
            self._close()

    def _close(self) -> None:
        if self._own is not None:
            self._own.close()


VERSION = b"3\n"  # of the format; PyTorch reads up to 10


@contextlib.contextmanager
def open_reader(name_or_buffer: Any) -> Iterator[PyTorchFileReader]:
    """A reader of the file within the block."""
    reader = PyTorchFileReader(name_or_buffer)
    try:
        yield reader
    finally:
        reader._close()


@contextlib.contextmanager
def open_writer(name_or_buffer: Any) -> Iterator[PyTorchFileWriter]:
    """A writer of the file, which is made whole at the end of the block; after an error it is left as it is."""
    writer = PyTorchFileWriter(name_or_buffer)
    try:
        yield writer
        writer.write_end_of_file()
    finally:
        writer._close()
