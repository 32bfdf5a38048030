"""Traces and tables of cycles that were recorded, made at once or later."""

from __future__ import annotations

import os
from typing import Any

from .. import _raw, _tables
from .prof_common_func._constant import Constant
from .prof_common_func._path_manager import ProfilerPathManager

__all__ = ["NpuProfiler"]


class NpuProfiler:
    """Make traces and tables."""

    @staticmethod
    def analyse(profiler_path: str, **others: Any) -> None:
        """Write the traces and tables of a cycle's folder, or of all such folders within a folder, from their record.

        Other arguments of torch_npu's (how many processes do it, kinds of files) have no effect.

        Raises:
            FileNotFoundError: there is no such folder.
            RuntimeError: a cycle's folder has no record.
        """
        if not os.path.isdir(profiler_path):
            raise FileNotFoundError(f"analyse(): there is no folder {profiler_path!r}")
        for folder in _cycles(profiler_path):
            output = ProfilerPathManager.get_output_path(folder)
            os.makedirs(output, exist_ok=True)
            _tables.write(_raw.load(folder), output)


def _cycles(path: str) -> list[str]:
    if os.path.isdir(os.path.join(path, Constant.FRAMEWORK_DIR)):
        return [path]
    names = sorted(name for name in os.listdir(path) if name.endswith("_ascend_pt"))
    return [os.path.join(path, name) for name in names]
