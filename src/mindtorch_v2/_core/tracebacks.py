"""Stacks of Python frames as data, under the names of PyTorch's profiler: taken now, named later."""

from __future__ import annotations

import sys
import types
from collections.abc import Sequence
from typing import Any

__all__ = ["CapturedFrames", "gather_traceback", "symbolize_tracebacks"]


class CapturedFrames:
    """The frames of one moment, innermost first: each a code object and a line."""

    def __init__(self, frames: list[tuple[types.CodeType, int]]) -> None:
        self.frames = frames


def gather_traceback(python: bool = True, script: bool = True, cpp: bool = False) -> CapturedFrames:
    """Take the calls that are under way. Scripted programs are Python here; C++ frames are not seen.

    >>> frames = gather_traceback()
    >>> symbolize_tracebacks([frames])[0][0]["name"]
    '<module>'
    """
    frames: list[tuple[types.CodeType, int]] = []
    frame = sys._getframe(1) if python else None
    while frame is not None:
        frames.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back
    return CapturedFrames(frames)


def symbolize_tracebacks(tracebacks: Sequence[CapturedFrames]) -> list[list[dict[str, Any]]]:
    """The frames of each as `{"filename", "line", "name"}`."""
    return [
        [{"filename": code.co_filename, "line": line, "name": code.co_name} for code, line in each.frames]
        for each in tracebacks
    ]
