"""The analysis of what the profiler wrote."""

from __future__ import annotations

import os

from ._profile import profile, tensorboard_trace_handler

__all__ = ["analyse", "profile", "tensorboard_trace_handler"]


def analyse(profiler_path: str, max_process_number: int = 1, export_type: object = None) -> None:
    """Check that a folder is there: traces and tables are written when a cycle ends, and nothing is left to make of them.

    Raises:
        FileNotFoundError: there is no such folder.
    """
    if not os.path.isdir(profiler_path):
        raise FileNotFoundError(f"analyse(): there is no folder {profiler_path!r}")
