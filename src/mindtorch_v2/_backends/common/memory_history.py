"""Allocations as they came, for a device's `memory._record_memory_history` and `_snapshot`: PyTorch's viewer of memory reads them."""

from __future__ import annotations

import sys
import time
from collections import deque
from typing import Any

_DEPTH = 40  # frames of the program that are kept of a place


class History:
    """The last events of one device's allocator."""

    def __init__(self, most: int, frames: bool) -> None:
        self.events: deque[dict[str, Any]] = deque(maxlen=most)
        self.frames = frames

    def add(self, action: str, address: int, size: int, stream: int) -> None:
        """Note that memory was given out, asked back, or taken from the device or given back to it."""
        event: dict[str, Any] = {
            "action": action, "addr": address, "size": size, "stream": stream, "time_us": time.time_ns() // 1000,
        }  # fmt: skip
        if self.frames:
            event["frames"] = _frames()
        self.events.append(event)


def _frames() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    frame: Any = sys._getframe(3)  # who called the allocator
    while frame is not None and len(found) < _DEPTH:
        code = frame.f_code
        found.append({"filename": code.co_filename, "line": frame.f_lineno, "name": code.co_name})
        frame = frame.f_back
    return found
