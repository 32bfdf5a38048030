"""The databases that a cycle is written to, by torch_npu's tables and columns, which MindStudio Insight opens.

Names and other texts are numbers that STRING_IDS explains; times are nanoseconds since 1970; what was not measured is NULL.
"""

from __future__ import annotations

import json
import os
import platform
import uuid
from collections.abc import Iterable
from typing import Any

from ._tables import Cycle, kind_of, operator_blocks, steps_in_microseconds
from .analysis.prof_common_func._db_manager import DbManager

__all__ = ["write"]

_NAME = "ascend_pytorch_profiler"
_TEXTS, _WHOLE, _NUMBER = "TEXT", "INTEGER", "NUMERIC"
_OPERATOR, _QUEUE, _FRAME, _MARK = 50001, 50002, 50003, 50004  # of ENUM_API_TYPE
_NODE, _HCCL = 10000, 5500  # levels of CANN's calls: operators, collectives
_FIRST_TEXT = 1 << 28  # those below are CANN's own


def _columns(names: str, kind: str = _WHOLE, **others: str) -> list[tuple[str, str]]:
    return [(name, others.get(name, kind)) for name in names.split()]


_TABLES = {
    "STRING_IDS": _columns("id value", id="INTEGER PRIMARY KEY", value=_TEXTS),
    "ENUM_API_TYPE": _columns("id name", id="INTEGER PRIMARY KEY", name=_TEXTS),
    "PYTORCH_API": _columns(
        "startNs endNs globalTid connectionId name sequenceNumber fwdThreadId inputDtypes inputShapes callchainId type",
    ),
    "CONNECTION_IDS": _columns("id connectionId"),
    "PYTORCH_CALLCHAINS": _columns("id stack stackDepth"),
    "CANN_API": _columns("startNs endNs type globalTid connectionId name"),
    "TASK": _columns(
        "startNs endNs deviceId connectionId globalTaskId globalPid taskType contextId streamId taskId modelId"
    ),
    "COMPUTE_TASK_INFO": _columns(
        "name globalTaskId blockDim mixBlockDim taskType opType inputFormats inputDataTypes inputShapes outputFormats "
        "outputDataTypes outputShapes attrInfo"
    ),
    "COMMUNICATION_OP": _columns(
        "opName startNs endNs connectionId groupName opId relay retry dataType algType count opType deviceId"
    ),
    "MEMORY_RECORD": _columns("component timestamp totalAllocated totalReserved totalActive streamPtr deviceId"),
    "OP_MEMORY": _columns(
        "name size allocationTime releaseTime activeReleaseTime duration activeDuration allocationTotalAllocated "
        "allocationTotalReserved allocationTotalActive releaseTotalAllocated releaseTotalReserved releaseTotalActive "
        "streamPtr deviceId"
    ),
    "STEP_TIME": _columns("id startNs endNs"),
    "GC_RECORD": _columns("startNs endNs globalTid"),
    "RANK_DEVICE_MAP": _columns("rankId deviceId"),
    "HOST_INFO": _columns("hostUid hostName", _TEXTS),
    "META_DATA": _columns("name value", _TEXTS),
    "StepTraceTime": _columns(
        "deviceId step computing communication_not_overlapped overlapped communication free stage bubble "
        "communication_not_overlapped_and_exclude_receive preparing",
        _NUMBER,
        deviceId=_WHOLE,
        step=_TEXTS,
    ),
}


class _Texts:
    """The numbers of texts; an empty one has none."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __call__(self, text: str) -> int | None:
        return self.numbers.setdefault(text, _FIRST_TEXT + len(self.numbers)) if text else None


def write(cycle: Cycle, folder: str, rank: int | None = None) -> None:
    """Write `ascend_pytorch_profiler.db`, its name with the rank if there is one, and, of what devices did, `analysis.db`."""
    _save(os.path.join(folder, f"{_NAME}.db" if rank is None else f"{_NAME}_{rank}.db"), _rows(cycle, rank))
    if cycle.work:
        _save(
            os.path.join(folder, "analysis.db"), {"StepTraceTime": [list(row) for row in steps_in_microseconds(cycle)]}
        )


def _save(path: str, tables: dict[str, list[list[Any]]]) -> None:
    if os.path.exists(path):
        os.remove(path)
    connection, cursor = DbManager.create_connect_db(path)
    if not connection:
        raise RuntimeError(f"the profiler's database {path} could not be made")
    try:
        for name, rows in tables.items():
            if rows:
                DbManager.create_table_with_headers(connection, cursor, name, _TABLES[name])
                DbManager.insert_data_into_table(connection, name, rows)
    finally:
        DbManager.destroy_db_connect(connection, cursor)


def _rows(cycle: Cycle, rank: int | None) -> dict[str, list[list[Any]]]:
    texts, pid = _Texts(), os.getpid() << 32

    def moment(microseconds: float) -> int:
        return round((cycle.wall + microseconds) * 1000)

    calls, connections, chains = _calls(cycle, texts, moment)
    devices = sorted({work.device for work in cycle.work} | {each.device for each in cycle.allocations})
    tables: dict[str, list[list[Any]]] = {
        "ENUM_API_TYPE": [[_OPERATOR, "op"], [_QUEUE, "queue"], [_FRAME, "trace"], [_MARK, "mstx"]],
        "PYTORCH_API": calls,
        "CONNECTION_IDS": connections,
        "PYTORCH_CALLCHAINS": chains,
        "STEP_TIME": [[int(number), moment(start), moment(end)] for number, start, end in cycle.steps()],
        "GC_RECORD": [[moment(start), moment(end), pid | cycle.thread] for _, start, end in cycle.garbage],
        "RANK_DEVICE_MAP": [[-1 if rank is None else rank, device] for device in devices or [-1]],
        "HOST_INFO": [[str(uuid.getnode()), platform.node()]],
        "META_DATA": [[name, json.dumps(value)] for name, value in cycle.metadata.items()],
        **_work(cycle, texts, moment),
        **_memory(cycle, texts, moment),
    }
    tables["STRING_IDS"] = [[number, text] for text, number in texts.numbers.items()]
    return tables


def _calls(cycle: Cycle, texts: _Texts, moment: Any) -> tuple[list[list[Any]], ...]:
    """Operators and frames of the host; which work they made; the stacks they were called with."""
    calls: list[list[Any]] = []
    connections: list[list[Any]] = []
    chains: list[list[Any]] = []
    made: dict[int, list[int]] = {}  # the work that operators made, by the number of their event
    for number, work in enumerate(cycle.work):
        event = cycle.operator_of(work.thread, work.called)
        if event is not None:
            made.setdefault(event.id, []).append(number)
    pid = os.getpid() << 32
    for place, event in enumerate(cycle.events):
        connections += [[place, number] for number in made.get(event.id, ())]
        chains += [[place, texts(frame), depth] for depth, frame in enumerate(event.stack or ())]
        shapes = ";".join(",".join(map(str, shape)) for shape in event.input_shapes) if cycle.shapes else ""
        calls.append([
            moment(event.time_range.start), moment(event.time_range.end), pid | event.thread,
            place if event.id in made else None, texts(event.trace_name), event.sequence_nr, event.fwd_thread,
            texts(";".join(event.input_types or ()) if cycle.shapes else ""), texts(shapes),
            place if event.stack else None, _OPERATOR,
        ])  # fmt: skip
    for name, start, end in cycle.frames:
        calls.append([moment(start), moment(end), pid | cycle.thread, None, texts(name), *[None] * 5, _FRAME])
    return calls, connections, chains


def _work(cycle: Cycle, texts: _Texts, moment: Any) -> dict[str, list[list[Any]]]:
    """Calls of CANN and the tasks that they made, by their numbers."""
    pid = os.getpid()
    tables: dict[str, list[list[Any]]] = {"CANN_API": [], "TASK": [], "COMPUTE_TASK_INFO": [], "COMMUNICATION_OP": []}
    for number, work in enumerate(cycle.work):
        name, start, end = texts(work.name), moment(work.start), moment(work.end)
        level = _HCCL if work.collective else _NODE
        called = moment(work.called), moment(work.returned)
        tables["CANN_API"].append([*called, level, pid << 32 | work.thread, number, name])
        kind = texts("HCCL" if work.collective else "KERNEL")
        tables["TASK"].append([
            start, end, work.device, number, number, pid, kind, None, work.stream, number, None,
        ])  # fmt: skip
        if work.collective:
            row = [name, start, end, number, None, number, None, None, None, None, None, name, work.device]
            tables["COMMUNICATION_OP"].append(row)
        else:
            shapes = ";".join(",".join(map(str, sizes)) for sizes, _ in work.inputs)
            dtypes = texts(";".join(dtype for _, dtype in work.inputs))
            row = [name, number, None, None, kind, texts(kind_of(work)), None, dtypes, texts(shapes), *[None] * 4]
            tables["COMPUTE_TASK_INFO"].append(row)
    return tables


def _memory(cycle: Cycle, texts: _Texts, moment: Any) -> dict[str, list[list[Any]]]:
    """The allocators' state after each block, and the life of each block."""
    records = [
        [texts("PTA"), moment(each.time), each.allocated, each.reserved, each.allocated, each.stream, each.device]
        for each in cycle.allocations
    ]
    return {"MEMORY_RECORD": records, "OP_MEMORY": list(_lives(cycle, texts, moment))}


def _lives(cycle: Cycle, texts: _Texts, moment: Any) -> Iterable[list[Any]]:
    for name, begin, end in operator_blocks(cycle):
        ends = [moment(end.time)] * 2 + [round((end.time - begin.time) * 1000)] * 2 if end else [None] * 4
        after = [end.allocated, end.reserved, end.allocated] if end else [None] * 3
        before = [begin.allocated, begin.reserved, begin.allocated]
        yield [texts(name), begin.nbytes, moment(begin.time), *ends, *before, *after, begin.stream, begin.device]
