"""Files that the profiler reads and writes."""

from __future__ import annotations

import json
import os
from typing import Any

__all__ = ["FileManager"]


class FileManager:
    """Files for the owner and his group; folders that are missing are made."""

    @staticmethod
    def create_bin_file_by_path(path: str, data: bytes) -> None:
        """Write bytes in the place of what is there."""
        with _open_to_write(path) as file:
            file.write(data)

    @classmethod
    def create_json_file_by_path(cls, path: str, data: Any, indent: int | None = None) -> None:
        """Write a value as JSON in the place of what is there."""
        cls.create_bin_file_by_path(path, json.dumps(data, indent=indent, ensure_ascii=False).encode())

    @staticmethod
    def read_json_file(path: str) -> Any:
        """The value of a file of JSON; RuntimeError where there is none, or it is no JSON."""
        try:
            with open(path, encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError) as error:
            raise RuntimeError(f"Failed to read json file {path}: {error}") from error


def _open_to_write(path: str) -> Any:
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, 0o750, exist_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o640), "wb")
