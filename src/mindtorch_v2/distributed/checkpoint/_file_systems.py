"""Files of checkpoints by the few operations that they need, so that other places than folders can have them."""

from __future__ import annotations

import abc
import contextlib
import os
import pathlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import IO, Any

__all__ = ["FileSystem", "FileSystemBase"]

Path = str | os.PathLike[str]


class FileSystemBase(abc.ABC):
    """The operations; a class that has them all can be made.

    >>> from mindtorch_v2.distributed.checkpoint.filesystem import FileSystem, FileSystemBase
    >>> issubclass(FileSystem, FileSystemBase)
    True
    """

    @abc.abstractmethod
    def create_stream(self, path: Path, mode: str) -> AbstractContextManager[IO[Any]]:
        """A context with the open file."""

    @abc.abstractmethod
    def concat_path(self, path: Path, suffix: str) -> Path:
        """The path of a file in a folder."""

    @abc.abstractmethod
    def rename(self, path: Path, new_path: Path) -> None:
        """Give a file another path."""

    @abc.abstractmethod
    def init_path(self, path: Path) -> Path:
        """The path in the form of this file system."""

    @abc.abstractmethod
    def mkdir(self, path: Path) -> None:
        """Make a folder and those above it."""

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: Path) -> bool:
        """Whether a checkpoint of this name could be here."""

    @abc.abstractmethod
    def exists(self, path: Path) -> bool:
        """Whether there is such a file or folder."""

    @abc.abstractmethod
    def rm_file(self, path: Path) -> None:
        """Remove a file."""


class FileSystem(FileSystemBase):
    """The files of this machine.

    >>> import tempfile
    >>> from mindtorch_v2.distributed.checkpoint.filesystem import FileSystem
    >>> files = FileSystem()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = files.concat_path(folder, "note")
    ...     with files.create_stream(path, "w") as stream:
    ...         _ = stream.write("two words")
    ...     files.exists(path), len(files.ls(folder))
    (True, 1)
    """

    @contextlib.contextmanager
    def create_stream(self, path: Path, mode: str) -> Iterator[IO[Any]]:
        with pathlib.Path(path).open(mode) as stream:
            yield stream

    def concat_path(self, path: Path, suffix: str) -> Path:
        return pathlib.Path(path) / suffix

    def init_path(self, path: Path) -> Path:
        return pathlib.Path(path)

    def rename(self, path: Path, new_path: Path) -> None:
        pathlib.Path(path).rename(new_path)

    def mkdir(self, path: Path) -> None:
        pathlib.Path(path).mkdir(parents=True, exist_ok=True)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Path) -> bool:
        if isinstance(checkpoint_id, pathlib.Path):
            return True
        if "://" in str(checkpoint_id):
            return False
        return any(each.exists() and os.access(each, os.W_OK) for each in pathlib.Path(checkpoint_id).parents)

    def exists(self, path: Path) -> bool:
        return pathlib.Path(path).exists()

    def rm_file(self, path: Path) -> None:
        pathlib.Path(path).unlink()

    def ls(self, path: Path) -> list[str]:
        """The paths of what is in a folder."""
        return [str(each) for each in pathlib.Path(path).iterdir()]
