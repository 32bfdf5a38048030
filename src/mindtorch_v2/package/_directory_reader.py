"""A package whose archive was unpacked into a folder."""

from __future__ import annotations

import os
from pathlib import Path

from mindtorch_v2.serialization._archive import read_some


class DirectoryReader:
    """The records of an unpacked package, read as those of an archive are. RuntimeError for a record that is not there.

    >>> import pathlib
    >>> import tempfile
    >>> from mindtorch_v2.package.package_importer import DirectoryReader
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "notes.txt").write_text("two words")
    ...     DirectoryReader(folder).get_record("notes.txt")
    b'two words'
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = str(directory)

    def _path(self, name: str) -> Path:
        return Path(self.directory, name)

    def has_record(self, path: str) -> bool:
        """Whether there is a file of that name below the folder."""
        return self._path(path).is_file()

    def get_record(self, name: str) -> bytes:
        """The bytes of a file below the folder."""
        if not self.has_record(name):
            raise RuntimeError(f"there is no record {name!r} in the folder {self.directory}")
        return self._path(name).read_bytes()

    def get_all_records(self) -> list[str]:
        """The names of all files below the folder, with / between the parts."""
        top = Path(self.directory)
        return sorted(path.relative_to(top).as_posix() for path in top.rglob("*") if path.is_file())

    def serialization_id(self) -> str:
        """The text that packages of the same contents share; "" of a package without."""
        name = ".data/serialization_id"
        return self.get_record(name).decode() if self.has_record(name) else ""

    # As the reader of storages asks an archive.
    has = has_record
    read = get_record

    def size(self, name: str) -> int:
        """The length of a file in bytes."""
        return self._path(name).stat().st_size

    def check_extent(self, name: str) -> int:
        """Where in its file a record begins."""
        return 0

    def read_into(self, name: str, memory: bytearray | memoryview) -> None:
        """Fill memory of a file's length with what is in it."""
        with self._path(name).open("rb") as file:
            read_some(file, memoryview(memory))
