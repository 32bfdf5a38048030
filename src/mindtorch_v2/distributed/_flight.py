"""The flight recorder: the last collectives that this process began, and how far they came, written to a file when a job hangs.

The file is what PyTorch's `python -m torch.distributed.flight_recorder.fr_trace` reads. TORCH_FR_BUFFER_SIZE is how many entries
are kept (2,000; 0 keeps none). When a collective fails, they are written to the path of TORCH_FR_DUMP_TEMP_FILE with the rank behind
it, if that is set or TORCH_FR_DUMP_ON_TIMEOUT is 1. PyTorch's older names of these variables, TORCH_NCCL_..., do the same.
"""

from __future__ import annotations

import collections
import contextlib
import itertools
import json
import os
import pickle
import sys
import tempfile
import threading
import time
import types
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mindtorch_v2._operators.table.writing import class_name

if TYPE_CHECKING:
    from mindtorch_v2._tensor import Tensor

__all__ = ["Entry", "Recorder", "dump", "dump_on_failure", "names_of_group", "recorder", "trace"]

_VERSION = "2.10"  # of the form
_MOST_FRAMES = 8
_HERE = os.path.dirname(__file__)
_DEFAULT_FILE = os.path.expanduser("~/.cache/torch/comm_lib_trace_rank_")


def _setting(*names: str) -> str | None:
    return next((os.environ[name] for name in names if name in os.environ), None)


class Entry:
    """One collective: what it is, and when it was asked for, begun, and done (nanoseconds of the clock)."""

    __slots__ = ("begun", "created", "done", "frames", "group", "inputs", "name", "number", "outputs", "record")

    def __init__(self, record: int, group: Any, number: int, name: str, inputs: Any, outputs: Any) -> None:
        self.record, self.group, self.number, self.name = record, group, number, name
        self.inputs, self.outputs = inputs, outputs
        self.created, self.begun, self.done = time.time_ns(), 0, 0
        self.frames = _callers()

    @property
    def state(self) -> str:
        """How far it came, in PyTorch's words."""
        return "completed" if self.done else "started" if self.begun else "scheduled"

    def as_dict(self) -> dict[str, Any]:
        """The entry as PyTorch writes it."""
        direct = self.name.startswith(("send", "recv"))
        return {
            "record_id": self.record,
            "pg_id": self.group.index,
            "process_group": (self.group.name, self.group.description),
            "collective_seq_id": 0 if direct else self.number + 1,
            "p2p_seq_id": self.number + 1 if direct else 0,
            "op_id": self.record + 1,
            "profiling_name": f"gloo:{self.name}",
            "time_created_ns": self.created,
            "input_sizes": [list(shape) for shape, _ in self.inputs],
            "input_dtypes": [class_name(dtype) for _, dtype in self.inputs],
            "output_sizes": [list(shape) for shape, _ in self.outputs],
            "output_dtypes": [class_name(dtype) for _, dtype in self.outputs],
            "state": self.state,
            "time_discovered_started_ns": self.begun or None,
            "time_discovered_completed_ns": self.done or None,
            "duration_ms": (self.done - self.begun) / 1e6 if self.done else None,
            "retired": bool(self.done),
            "timeout_ms": round(self.group.seconds * 1000),
            "is_p2p": direct,
            "frames": [
                {"name": code.co_name, "filename": code.co_filename, "line": _line(code, place)}
                for code, place in self.frames
            ],
        }


class _Group:
    """The group that entries belong to, as the dump calls it."""

    def __init__(self, index: int, seconds: float) -> None:
        self.index, self.seconds = index, seconds
        self.name, self.description, self.ranks = str(index), "undefined", "[]"
        self.asked = self.finished = -1  # numbers of its last collectives


class Recorder:
    """The entries of this process, of all groups; the oldest go first."""

    def __init__(self) -> None:
        kept = int(_setting("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE") or 2000)
        self.entries: collections.deque[Entry] = collections.deque(maxlen=kept)
        # Those that are in use or have entries left: a program may make and leave groups without end.
        self._groups: weakref.WeakValueDictionary[int, _Group] = weakref.WeakValueDictionary()
        self._numbers = itertools.count()
        self._records = itertools.count()
        self._written = threading.Lock()

    def group(self, seconds: float) -> _Group:
        """A new group, to record under."""
        made = _Group(next(self._numbers), seconds)
        self._groups[made.index] = made
        return made

    @property
    def groups(self) -> list[_Group]:
        """The groups, in the order in which they were made."""
        return [group for _, group in sorted(self._groups.items())]

    def begin(
        self, group: _Group, number: int, name: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor]
    ) -> Entry:
        """Record a collective that was asked for; the caller fills in `begun` and `done`."""
        entry = Entry(next(self._records), group, number, name, _described(inputs), _described(outputs))
        self.entries.append(entry)
        return entry


def _described(tensors: Sequence[Tensor]) -> list[tuple[Any, Any]]:
    return [(tensor.shape, tensor.dtype) for tensor in tensors]


def _callers() -> list[tuple[types.CodeType, int]]:
    """(code, place in it) of the functions that led to a collective, the nearest first; those of this package's folder are left out."""
    found: list[tuple[types.CodeType, int]] = []
    frame: types.FrameType | None = sys._getframe(3)
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    for _ in range(_MOST_FRAMES):
        if frame is None:
            break
        found.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return found


def _line(code: types.CodeType, place: int) -> int:
    """The line of an instruction: looked up when entries are written, as that takes longer than to note the instruction."""
    return next((line for start, end, line in code.co_lines() if start <= place < end and line), code.co_firstlineno)


recorder = Recorder()


def names_of_group(group: Any, name: str, description: str, ranks: Sequence[int]) -> None:
    """Give a recorded group the name, the purpose and the ranks that the program knows it by."""
    group.name, group.description, group.ranks = name, description, str(list(ranks))


def trace() -> dict[str, Any]:
    """The entries, with the groups that they belong to: what the file holds."""
    return {
        "version": _VERSION,
        "entries": [entry.as_dict() for entry in list(recorder.entries)],
        "pg_config": {
            group.name: {"name": group.name, "desc": group.description, "ranks": group.ranks}
            for group in recorder.groups
        },
        "pg_status": {
            group.name: {
                "last_enqueued_collective": group.asked + 1,
                "last_started_collective": group.asked + 1,
                "last_completed_collective": group.finished + 1,
            }
            for group in recorder.groups
        },
    }


def dump(path: str, as_json: bool = False) -> None:
    """Write the entries to a file, which has no name until it is whole."""
    found = trace()
    content = json.dumps(found).encode() if as_json else pickle.dumps(found, protocol=4)
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    descriptor, draft = tempfile.mkstemp(prefix=os.path.basename(path), dir=os.path.dirname(os.path.abspath(path)))
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise


def dump_on_failure(rank: int) -> str | None:
    """Write the entries where the environment asks for it; the path."""
    base = _setting("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")
    if base is None and _setting("TORCH_FR_DUMP_ON_TIMEOUT", "TORCH_NCCL_DUMP_ON_TIMEOUT") != "1":
        return None
    if not recorder.entries:
        return None
    path = f"{base or _DEFAULT_FILE}{rank}"
    with recorder._written, contextlib.suppress(OSError):  # the failure itself matters more
        dump(path)
        return path
    return None
