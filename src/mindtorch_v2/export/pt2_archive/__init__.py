"""Archives of the format "pt2": records with a format's name and a version beside them, in files as `torch.save` writes them."""

from __future__ import annotations

import io
import pathlib
import zipfile
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self

from mindtorch_v2.export.pt2_archive import constants
from mindtorch_v2.serialization._records import PyTorchFileReader, PyTorchFileWriter

if TYPE_CHECKING:
    import os

    Place = str | os.PathLike[str] | IO[bytes]

__all__ = ["PT2ArchiveReader", "PT2ArchiveWriter", "is_pt2_package"]


class PT2ArchiveWriter:
    """A context in which records are written to such an archive, at a path or into a file object that stays open.

    >>> import io
    >>> from mindtorch_v2.export.pt2_archive import PT2ArchiveReader, PT2ArchiveWriter
    >>> file = io.BytesIO()
    >>> with PT2ArchiveWriter(file) as archive:
    ...     archive.write_string("extra/notes", "two words")
    >>> PT2ArchiveReader(file).read_string("extra/notes")
    'two words'
    """

    def __init__(self, archive_path_or_buffer: Place) -> None:
        self.archive_file = PyTorchFileWriter(archive_path_or_buffer)
        self._names: set[str] = set()
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._closed:
            self.close()

    def has_record(self, name: str) -> bool:
        """Whether a record of that name was written."""
        return name in self._names

    def count_prefix(self, prefix: str) -> int:
        """The number of records whose names begin so."""
        return sum(name.startswith(prefix) for name in self._names)

    def write_bytes(self, name: str, data: bytes) -> None:
        """Add a record of bytes; AssertionError for another type."""
        if not isinstance(data, bytes):
            raise AssertionError(f"Expected bytes but got {type(data)}")
        self._names.add(name)
        self.archive_file.write_record(name, data, len(data))

    def write_string(self, name: str, data: str) -> None:
        """Add a record of text; AssertionError for another type."""
        if not isinstance(data, str):
            raise AssertionError(f"Expected string but got {type(data)}")
        self.write_bytes(name, data.encode())

    def write_file(self, name: str, file_path: str) -> None:
        """Add a record with the contents of a file; AssertionError if it is none."""
        if not pathlib.Path(file_path).is_file():
            raise AssertionError(f"{file_path} is not a valid file path")
        self.write_bytes(name, pathlib.Path(file_path).read_bytes())

    def write_folder(self, archive_dir: str, folder_dir: str) -> None:
        """Add the files in a folder and below it, under `archive_dir`; AssertionError if it is none."""
        folder = pathlib.Path(folder_dir)
        if not folder.is_dir():
            raise AssertionError(f"{folder_dir} is not a valid directory path")
        for path in filter(pathlib.Path.is_file, folder.rglob("*")):
            self.write_file(str(pathlib.PurePosixPath(archive_dir) / path.relative_to(folder)), str(path))

    def close(self) -> None:
        """Write the format and the version, and end the archive."""
        for name, value in (
            (constants.ARCHIVE_FORMAT_PATH, constants.ARCHIVE_FORMAT_VALUE),
            (constants.ARCHIVE_VERSION_PATH, constants.ARCHIVE_VERSION_VALUE),
        ):
            if not self.has_record(name):
                self.write_string(name, value)
        self.archive_file.write_end_of_file()
        self._closed = True


class PT2ArchiveReader:
    """The records of such an archive, at a path or in a file object. RuntimeError for what is none.

    >>> import io
    >>> from mindtorch_v2.export.pt2_archive import PT2ArchiveReader, PT2ArchiveWriter
    >>> file = io.BytesIO()
    >>> with PT2ArchiveWriter(file) as archive:
    ...     archive.write_bytes("data", b"1")
    >>> PT2ArchiveReader(file).get_file_names()[:2]
    ['data', 'archive_format']
    """

    def __init__(self, archive_path_or_buffer: Place) -> None:
        self.archive_file = PyTorchFileReader(archive_path_or_buffer)
        if self.read_string(constants.ARCHIVE_FORMAT_PATH) != constants.ARCHIVE_FORMAT_VALUE:
            raise AssertionError("Invalid archive format")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        """Leave the context; the file stays as it is."""

    def read_bytes(self, name: str) -> bytes:
        """The bytes of a record; RuntimeError if there is none of that name."""
        return self.archive_file.get_record(name)

    def read_string(self, name: str) -> str:
        """The text of a record; RuntimeError if there is none of that name."""
        return self.read_bytes(name).decode()

    def archive_version(self) -> int:
        """The version that stands in the archive, 0 if none does."""
        name = constants.ARCHIVE_VERSION_PATH
        return int(self.read_string(name)) if name in self.get_file_names() else 0

    def get_file_names(self) -> list[str]:
        """The names of all records."""
        return self.archive_file.get_all_records()


def is_pt2_package(serialized_model: bytes | Place) -> bool:
    """Whether a file, or its contents, is an archive of this format.

    >>> from mindtorch_v2.export.pt2_archive import is_pt2_package
    >>> is_pt2_package(b"something else")
    False
    """
    file: Any = io.BytesIO(serialized_model) if isinstance(serialized_model, bytes) else serialized_model
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
            folder = names[0].partition("/")[0] if names else ""
            name = f"{folder}/{constants.ARCHIVE_FORMAT_PATH}"
            return name in names and archive.read(name).decode() == constants.ARCHIVE_FORMAT_VALUE
    except (OSError, zipfile.BadZipFile):
        return False
