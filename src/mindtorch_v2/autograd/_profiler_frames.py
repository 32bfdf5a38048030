"""The functions that a thread calls in Python while it is profiled, Python's and compiled ones, as spans for a trace."""

from __future__ import annotations

import os
import sys
import time
import warnings
from types import CodeType, FrameType
from typing import Any, NamedTuple

import mindtorch_v2 as torch

_OWN = {os.path.join(os.path.dirname(__file__), name) for name in ("profiler.py", "_profiler_recorder.py", __file__)}
_OWN.add(os.path.join(os.path.dirname(os.path.dirname(__file__)), "profiler", "_profile.py"))


class Frame(NamedTuple):
    """A call, from and to a moment in nanoseconds: "file.py(line): name", "nn.Module: Linear_0", "<built-in function print>"."""

    name: str
    start: int
    end: int
    number: int
    parent: int | None


class Frames:
    """While started, the Python calls of this thread are taken down; those under way at the start begin there.

    A profile function that is there already (cProfile's) stays, with a warning, and no call is seen.
    """

    def __init__(self) -> None:
        self.taken: list[Frame] = []
        self._open: list[tuple[Any, str, int, int]] = []  # a frame, or a compiled function that was called
        self._names: dict[tuple[CodeType, int], str] = {}
        self._modules: dict[str, dict[int, int]] = {}
        self._kept: list[Any] = []  # modules: their ids are not given away before the end
        self._count = 0
        self._on = False
        # Folders before those that they are in: what is inside of several is named from the innermost.
        self._roots = sorted((os.path.join(path, "") for path in sys.path if path), reverse=True)

    def start(self, began: int) -> None:
        """Begin; `began` is the moment at which frames that are there already begin."""
        if sys.getprofile() is not None:
            warnings.warn(
                "with_stack: another profile function is set, so that Python's calls are not seen", stacklevel=4
            )
            return
        around: list[FrameType] = []
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            around.append(frame)
            frame = frame.f_back
        for frame in reversed(around):
            if frame.f_code.co_filename not in _OWN:
                self._enter(frame, began)
        self._on = True
        sys.setprofile(self._see)

    def stop(self) -> None:
        """End, and with it all calls that are under way."""
        if not self._on:
            return
        sys.setprofile(None)
        self._on = False
        end = time.perf_counter_ns()
        while self._open:
            self._leave(end)
        self._kept.clear()

    def _see(self, frame: FrameType, event: str, argument: Any) -> None:
        if frame.f_code.co_filename in _OWN:
            return
        if event == "call":
            self._enter(frame, time.perf_counter_ns())
        elif event == "return" and any(each[0] is frame for each in self._open):
            end = time.perf_counter_ns()
            while self._open and self._open[-1][0] is not frame:  # what ended unseen
                self._leave(end)
            self._leave(end)
        elif event == "c_call":
            self._begin(argument, repr(argument), time.perf_counter_ns())
        elif event in ("c_return", "c_exception") and self._open and self._open[-1][0] is argument:
            self._leave(time.perf_counter_ns())

    def _enter(self, frame: FrameType, start: int) -> None:
        self._begin(frame, self._name(frame), start)

    def _begin(self, called: Any, name: str, start: int) -> None:
        self._count += 1
        self._open.append((called, name, start, self._count))

    def _leave(self, end: int) -> None:
        _, name, start, number = self._open.pop()
        parent = self._open[-1][3] if self._open else None
        self.taken.append(Frame(name, start, end, number, parent))

    def _name(self, frame: FrameType) -> str:
        code = frame.f_code
        if code is torch.nn.Module.__call__.__code__:
            module = frame.f_locals["self"]
            numbers = self._modules.setdefault(type(module).__name__, {})
            if id(module) not in numbers:
                self._kept.append(module)
            return f"nn.Module: {type(module).__name__}_{numbers.setdefault(id(module), len(numbers))}"
        key = code, code.co_firstlineno
        if key not in self._names:
            path = next(
                (code.co_filename[len(root) :] for root in self._roots if code.co_filename.startswith(root)), ""
            )
            self._names[key] = f"{path or code.co_filename}({code.co_firstlineno}): {code.co_name}"
        return self._names[key]
