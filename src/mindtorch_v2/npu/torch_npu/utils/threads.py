"""Cores of the host that the threads of this process run on."""

import os

__all__ = ["reset_thread_affinity", "set_thread_affinity"]

_AT_START = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None


def set_thread_affinity(core_range: list[int] | tuple[int, int] | None = None) -> None:
    """Let this thread run on the cores from the first to the last of a pair; on all that it had for None."""
    if core_range is None:
        reset_thread_affinity()
    elif _AT_START is not None:
        first, last = core_range
        os.sched_setaffinity(0, range(first, last + 1))


def reset_thread_affinity() -> None:
    """Let this thread run on the cores that the process had at its start."""
    if _AT_START is not None:
        os.sched_setaffinity(0, _AT_START)
