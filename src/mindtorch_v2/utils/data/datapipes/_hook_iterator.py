"""Where a pipe is between a snapshot of it and its elements."""

from __future__ import annotations

import enum

__all__ = ["_SnapshotState"]


class _SnapshotState(enum.Enum):
    NotStarted = 0
    Restored = 1
    Iterating = 2
