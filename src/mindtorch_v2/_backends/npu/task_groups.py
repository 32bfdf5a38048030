"""Parts of a recorded graph that can be replaced: `graph_task_group_begin` and its kin."""

from __future__ import annotations

import ctypes
from typing import Any

from ..common.graph_pools import GraphPool, pool_of
from . import state
from .stream import Stream, current_stream


class TaskGroup:
    """Tasks of a recording, from `graph_task_group_end`, that `graph_task_update_begin` replaces."""

    def __init__(self, handle: int, pool: GraphPool | None) -> None:
        self.handle, self.pool = handle, pool


def _raw(stream: Stream | None) -> tuple[Any, int]:
    runtime = state.get().runtime
    stream = current_stream() if stream is None else stream
    runtime.activate(stream.device_index)
    return runtime, stream.npu_stream


def graph_task_group_begin(stream: Stream | None = None) -> None:
    """From here to `graph_task_group_end` the work of a stream that is captured is a group, which can be replaced later."""
    runtime, handle = _raw(stream)
    runtime.check("aclmdlRICaptureTaskGrpBegin", runtime.aclmdlRICaptureTaskGrpBegin(handle or None))


def graph_task_group_end(stream: Stream | None = None) -> TaskGroup:
    """End a group of tasks; it is given to `graph_task_update_begin`."""
    runtime, handle = _raw(stream)
    group = ctypes.c_void_p()
    code = runtime.aclmdlRICaptureTaskGrpEnd(handle or None, ctypes.byref(group))
    runtime.check("aclmdlRICaptureTaskGrpEnd", code)
    recorded = pool_of(runtime.thread.pool or 0)
    return TaskGroup(group.value or 0, recorded.of_updates(handle) if recorded is not None else None)


def graph_task_update_begin(stream: Stream, group: TaskGroup) -> None:
    """From here to `graph_task_update_end` the operators that a stream is given are not run: they take the group's place, one by one.

    They must be those of the group, in their order, on memory that stays; numbers, and tensors of the same sizes, may be others.
    """
    runtime, handle = _raw(stream)
    code = runtime.aclmdlRICaptureTaskUpdateBegin(handle or None, group.handle)
    runtime.check("aclmdlRICaptureTaskUpdateBegin", code)
    runtime.thread.pool = group.pool.number if group.pool is not None else 0


def graph_task_update_end(stream: Stream) -> None:
    """End a replacement. Replays after the stream has come here do the new work."""
    runtime, handle = _raw(stream)
    runtime.thread.pool = None
    runtime.check("aclmdlRICaptureTaskUpdateEnd", runtime.aclmdlRICaptureTaskUpdateEnd(handle or None))
