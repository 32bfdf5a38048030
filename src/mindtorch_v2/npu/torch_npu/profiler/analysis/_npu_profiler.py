"""Traces, tables and databases of cycles that were recorded, made at once or later."""

from __future__ import annotations

import glob
import os
from typing import Any

from .. import _database, _raw, _tables
from .prof_common_func._constant import Constant
from .prof_common_func._file_manager import FileManager
from .prof_common_func._path_manager import ProfilerPathManager

__all__ = ["NpuProfiler"]


class NpuProfiler:
    """Make traces and tables."""

    @staticmethod
    def analyse(profiler_path: str, export_type: Any = None, **others: Any) -> None:
        """Write the traces, tables and databases of a cycle's folder, or of all such folders within a folder, from their record.

        `export_type` names the kinds of files ("text", "db", or a list of them); where it is none of these, those count that the cycle
        was recorded for. With "text" there is a database too. How many processes do it has no effect.

        Raises:
            FileNotFoundError: there is no such folder.
            RuntimeError: a cycle's folder has no record.
        """
        if not os.path.isdir(profiler_path):
            raise FileNotFoundError(f"analyse(): there is no folder {profiler_path!r}")
        for folder in _cycles(profiler_path):
            output = ProfilerPathManager.get_output_path(folder)
            os.makedirs(output, exist_ok=True)
            cycle, about = _raw.load(folder), _about(folder)
            recorded = about.get("config", {}).get("experimental_config", {}).get("_export_type", [Constant.Text])
            if Constant.Text in (_kinds(export_type) or recorded):
                _tables.write(cycle, output)
            _database.write(cycle, output, about.get("rank_id"))


def _kinds(wanted: Any) -> list[str]:
    kinds = [wanted] if isinstance(wanted, str) else wanted
    known = isinstance(kinds, (list, tuple)) and all(kind in (Constant.Text, Constant.Db) for kind in kinds)
    return list(kinds) if known else []


def _about(folder: str) -> dict[str, Any]:
    """Information beside the record, of how it was made; nothing where the file is missing."""
    found = sorted(glob.glob(os.path.join(glob.escape(folder), "profiler_info*.json")))
    return FileManager.read_json_file(found[0]) if found else {}


def _cycles(path: str) -> list[str]:
    if os.path.isdir(os.path.join(path, Constant.FRAMEWORK_DIR)):
        return [path]
    names = sorted(name for name in os.listdir(path) if name.endswith("_ascend_pt"))
    return [os.path.join(path, name) for name in names]
