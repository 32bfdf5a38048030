"""`profile` by the module that programs take it from, and the analysis of what it wrote."""

from __future__ import annotations

from ._profile import _KinetoProfile, profile, tensorboard_trace_handler
from .analysis._npu_profiler import NpuProfiler

__all__ = ["_KinetoProfile", "analyse", "profile", "tensorboard_trace_handler"]


def analyse(profiler_path: str, max_process_number: int = 1, export_type: object = None) -> None:
    """Write the traces, tables and databases of the cycles in a folder, or of one cycle's folder, from their record.

    `export_type` is "text" (all of these), "db" (databases alone), or a list of them; else what the cycle was recorded for is written.
    One process does it, whatever is asked for.

    Raises:
        FileNotFoundError: there is no such folder.
        RuntimeError: a cycle's folder has no record.
    """
    NpuProfiler.analyse(profiler_path, max_process_number=max_process_number, export_type=export_type)
