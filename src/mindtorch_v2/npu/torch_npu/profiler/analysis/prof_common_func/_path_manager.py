"""The folders of a cycle."""

from __future__ import annotations

import glob
import os

from ._constant import Constant

__all__ = ["ProfilerPathManager"]


class ProfilerPathManager:
    """Folders within that of a cycle."""

    @staticmethod
    def get_fwk_path(profiler_path: str) -> str:
        """The folder of the host's record."""
        return os.path.join(profiler_path, Constant.FRAMEWORK_DIR)

    @staticmethod
    def get_cann_path(profiler_path: str) -> str:
        """The folder of the device's record; empty where none was made."""
        return next(iter(sorted(glob.glob(os.path.join(glob.escape(profiler_path), "PROF_*")))), "")

    @staticmethod
    def get_output_path(profiler_path: str) -> str:
        """The folder of traces and tables."""
        return os.path.join(profiler_path, Constant.OUTPUT_DIR)
