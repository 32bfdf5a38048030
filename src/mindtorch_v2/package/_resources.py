"""The files of a package's folder, as `importlib.resources` asks for them."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ._directory_reader import DirectoryReader

if TYPE_CHECKING:
    from .package_importer import PackageImporter


class PackageResourceReader:
    """The interface `importlib.abc.ResourceReader` over the records of one folder in a package."""

    def __init__(self, importer: PackageImporter, fullname: str) -> None:
        self.importer = importer
        self.fullname = fullname

    def _record(self, name: str) -> str:
        return f"{self.fullname.replace('.', '/')}/{name}"

    def open_resource(self, resource: str) -> io.BytesIO:
        """A file object over a copy of a record."""
        return io.BytesIO(self.importer.load_binary(self.fullname, resource))

    def resource_path(self, resource: str) -> str:
        """The path of a record's file in an unpacked package; FileNotFoundError for an archive."""
        reader = self.importer.zip_reader
        if isinstance(reader, DirectoryReader) and reader.has_record(self._record(resource)):
            return os.path.join(reader.directory, self._record(resource))
        raise FileNotFoundError(resource)

    def is_resource(self, name: str) -> bool:
        """Whether there is a record of that name in the folder."""
        return self.importer.zip_reader.has_record(self._record(name))

    def contents(self) -> Iterator[str]:
        """The names of the records and folders in the folder."""
        folder = self._record("")
        names = (
            each.removeprefix(folder) for each in self.importer.zip_reader.get_all_records() if each.startswith(folder)
        )
        yield from dict.fromkeys(name.partition("/")[0] for name in names)
