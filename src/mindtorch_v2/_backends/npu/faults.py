"""Work that fails on the device, after its call returned: which operator it was, and which line of the program enqueued it.

Every call that enqueues work is noted with the number of its last task and the program's frame (`_C._note_call`, the last few
thousand calls). When a task fails the runtime tells its number by a callback; the next error that is raised says whose it was.
"""

from __future__ import annotations

import ctypes
import linecache
import pathlib
from collections import deque
from collections.abc import Callable
from ctypes import c_void_p
from types import CodeType
from typing import NamedTuple

from ... import _C

_PACKAGE = str(pathlib.Path(__file__).parents[2]) + "/"
_CALLBACK = ctypes.CFUNCTYPE(None, c_void_p)
_NEAR = 64  # tasks that one operator may have, at most
FILE = f"{_PACKAGE}_backends/npu/<{{}}>"  # of code that is written at run time: not the program's


class Origin(NamedTuple):
    """Where failed work was enqueued: the operator, and file, line and function of the program."""

    operator: str
    filename: str
    line: int
    function: str

    def __str__(self) -> str:
        text = f'{self.operator} was enqueued by "{self.filename}", line {self.line}, in {self.function}'
        source = linecache.getline(self.filename, self.line).strip()
        return f"{text}\n    {source}" if source else text


class Faults:
    """The tasks that failed and that no error has told of yet."""

    def __init__(self, told: list[Callable[[int], int]], stream_id: Callable[[int, int], int]) -> None:
        self.told = told  # functions of what the callback is given: device, stream and task
        self.stream_id = stream_id  # (device, handle) -> the number that the runtime gives the stream
        self.failed: deque[tuple[int, int, int]] = deque(maxlen=64)  # (device, stream, task)
        self.callback = _CALLBACK(self._note)  # kept: the runtime calls it from threads of its own
        _C._note_calls_outside(_PACKAGE)

    def _note(self, info: int) -> None:
        device, stream, task = (function(info) for function in self.told)
        self.failed.append((device, stream, task))

    def origin(self) -> Origin | None:
        """Where the first of the failed tasks was enqueued, if that is known; forgets them all."""
        failed = list(self.failed)
        self.failed.clear()
        if not failed:
            return None
        device, stream, task = failed[0]
        ids: dict[int, int] = {}
        best: tuple[int, str, CodeType, int] | None = None
        for what, code, instruction, on_device, handle, last in _C._noted_calls():
            if on_device != device or code is None:
                continue
            if handle not in ids:
                ids[handle] = self.stream_id(device, handle)
            after = (last - task) % (1 << 32)
            if ids[handle] == stream and after < (_NEAR if best is None else best[0]):
                best = after, what, code, instruction
        if best is None:
            return None
        _, what, code, instruction = best
        line = next((n for begin, end, n in code.co_lines() if begin <= instruction < end), None)
        return Origin(what, code.co_filename, line or code.co_firstlineno, code.co_qualname)
