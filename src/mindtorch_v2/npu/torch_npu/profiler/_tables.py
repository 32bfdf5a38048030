"""The files that a cycle of the profiler writes: the tables by torch_npu's names and columns, and the trace of host and device.

What was not measured is "N/A". Times are microseconds, in the trace since 1970.
"""

from __future__ import annotations

import bisect
import csv
import json
import os
import statistics
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from mindtorch_v2._backends.npu.timing import Allocation, Work

__all__ = ["Cycle", "Span", "kind_of", "operator_blocks", "stack_lines", "steps_in_microseconds", "trace", "write"]

_UNKNOWN = "N/A"
_STEP = "ProfilerStep#"
_DEVICES, _FLOW = 10_000, "async_npu"  # processes of the trace that are devices; what joins calls and work


def _start(event: Any) -> float:
    return event.time_range.start


class Span(NamedTuple):
    """Something of the host with a name, from and to a moment."""

    name: str
    start: float
    end: float


class Cycle(NamedTuple):
    """A record of operators and ranges of the host, work and allocations of devices.

    `wall` is when it began since 1970, `began` in nanoseconds of the clock that it was made with; `frames` are the calls of the
    thread that made it, `bytes` the host's memory (moment, bytes), `garbage` the collections of garbage.
    """

    events: Sequence[Any]
    work: Sequence[Work]
    allocations: Sequence[Allocation]
    wall: float
    shapes: bool
    stacks: bool
    memory: bool
    calls: bool  # whether the statistics of calls are wanted
    metadata: dict[str, Any]
    began: int = 0
    thread: int = 0
    frames: Sequence[Span] = ()
    bytes: Sequence[tuple[float, int]] = ()
    garbage: Sequence[Span] = ()

    def steps(self) -> list[tuple[str, float, float]]:
        """Number, start and end of the steps that the program named."""
        return [
            (event.trace_name[len(_STEP) :], *event.time_range)
            for event in self.events
            if event.trace_name.startswith(_STEP)
        ]

    def step_of(self, moment: float) -> str:
        """The number of the step at a moment; empty outside of all."""
        return next((number for number, start, end in self.steps() if start <= moment <= end), "")

    def operator_of(self, thread: int | None, moment: float) -> Any:
        """The innermost operator of a thread (of any, for None) at a moment."""
        for event in reversed(self.events[: bisect.bisect_right(self.events, moment, key=_start)]):
            if not event.is_user_annotation and thread in (None, event.thread) and event.time_range.end >= moment:
                return event
        return None


def write(cycle: Cycle, folder: str) -> None:
    """Write all that there is something to write of."""
    tables: dict[str, Any] = {"operator_details": _operators, "step_trace_time": _steps}
    if cycle.work:
        tables |= {"kernel_details": _kernels, "op_statistic": _kinds, "task_time": _tasks}
    if cycle.calls:
        tables["api_statistic"] = _calls
    if cycle.memory:
        tables |= {"memory_record": _records, "operator_memory": _blocks}
    for name, rows in tables.items():
        with open(os.path.join(folder, f"{name}.csv"), "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows(cycle))
    with open(os.path.join(folder, "trace_view.json"), "w", encoding="utf-8") as file:
        json.dump(trace(cycle), file)


def kind_of(work: Work) -> str:
    """The kind of an operator: its function's name without the library's mark."""
    return work.name.removeprefix("aclnn")


def _text(number: float) -> str:
    return f"{number:.3f}"


def _device_times(cycle: Cycle) -> dict[int, float]:
    """The time that each operator's own calls cost the devices, by the number of its event."""
    found: dict[int, float] = {}
    for work in cycle.work:
        event = cycle.operator_of(work.thread, work.called)
        if event is not None:
            found[event.id] = found.get(event.id, 0.0) + work.end - work.start
    return found


def _with_children(event: Any, own: dict[int, float]) -> float:
    return own.get(event.id, 0.0) + sum(_with_children(child, own) for child in event.cpu_children)


def _operators(cycle: Cycle) -> Iterable[list]:
    core = "With AICore(us)"
    stack = ["Call Stack"] if cycle.stacks else []
    yield [
        "Name", "Input Shapes", *stack, "Host Self Duration(us)", "Host Total Duration(us)", "Device Self Duration(us)",
        "Device Total Duration(us)", f"Device Self Duration {core}", f"Device Total Duration {core}",
    ]  # fmt: skip
    own = _device_times(cycle)
    for event in cycle.events:
        if event.is_user_annotation:
            continue
        shapes = ";".join(",".join(map(str, shape)) for shape in event.input_shapes)
        calls = [";\n".join(event.stack)] if cycle.stacks else []
        host = _text(event.self_cpu_time_total), _text(event.cpu_time_total)
        device = _text(own.get(event.id, 0.0)), _text(_with_children(event, own))
        yield [event.name, shapes, *calls, *host, *device, _UNKNOWN, _UNKNOWN]


def stack_lines(cycle: Cycle, device: bool) -> Iterable[str]:
    """The stacks of operators, outermost frame first, and their own microseconds, on the device or on the host."""
    own = _device_times(cycle)
    plain = str.maketrans(" ;\t\n", "____")
    for event in cycle.events:
        weight = int(own.get(event.id, 0.0) if device else event.self_cpu_time_total)
        if event.stack and weight > 0 and not event.is_user_annotation:
            yield ";".join(frame.translate(plain) for frame in reversed(event.stack)) + f" {weight}\n"


def _kernels(cycle: Cycle) -> Iterable[list]:
    step = ["Step Id"] if cycle.steps() else []
    shapes = [
        "Input Shapes",
        "Input Data Types",
        "Input Formats",
        "Output Shapes",
        "Output Data Types",
        "Output Formats",
    ]
    yield [
        *step, "Device_id", "Model ID", "Task ID", "Stream ID", "Name", "Type", "OP State", "Accelerator Core",
        "Start Time(us)", "Duration(us)", "Wait Time(us)", "Block Num", "Mix Block Num", "HF32 Eligible",
        *(shapes if cycle.shapes else ()),
    ]  # fmt: skip
    free: dict[tuple[int, int], float] = {}  # when each stream was done with what came before
    for number, work in enumerate(cycle.work):
        place = work.device, work.stream
        wait = max(0.0, work.start - free[place]) if place in free else 0.0
        free[place] = work.end
        # Outputs are among the tensors of a call, and nobody says which.
        tensors = ";".join(",".join(map(str, sizes)) for sizes, _ in work.inputs), ";".join(t for _, t in work.inputs)
        yield [
            *([cycle.step_of(work.called)] if step else ()), work.device, _UNKNOWN, number, work.stream, work.name,
            kind_of(work), _UNKNOWN, "HCCL" if work.collective else _UNKNOWN, f"{cycle.wall + work.start:.3f}\t",
            _text(work.end - work.start), _text(wait), _UNKNOWN, _UNKNOWN, _UNKNOWN,
            *((*tensors, *[_UNKNOWN] * 4) if cycle.shapes else ()),
        ]  # fmt: skip


def _tasks(cycle: Cycle) -> Iterable[list]:
    yield [
        "Device_id", "kernel_name", "kernel_type", "stream_id", "task_id", "task_time(us)", "task_start(us)",
        "task_stop(us)",
    ]  # fmt: skip
    for number, work in enumerate(cycle.work):
        start, end = (f"{cycle.wall + moment:.3f}\t" for moment in (work.start, work.end))
        kind = "HCCL" if work.collective else _UNKNOWN
        yield [work.device, work.name, kind, work.stream, number, _text(work.end - work.start), start, end]


def _kinds(cycle: Cycle) -> Iterable[list]:
    yield [
        "Device_id", "OP Type", "Core Type", "Count", "Total Time(us)", "Min Time(us)", "Avg Time(us)", "Max Time(us)",
        "Ratio(%)",
    ]  # fmt: skip
    groups: dict[tuple[int, str, str], list[float]] = {}
    for work in cycle.work:
        place = work.device, kind_of(work), "HCCL" if work.collective else _UNKNOWN
        groups.setdefault(place, []).append(work.end - work.start)
    for device in sorted({place[0] for place in groups}):
        mine = {place: times for place, times in groups.items() if place[0] == device}
        whole = sum(map(sum, mine.values())) or 1.0
        for place, times in sorted(mine.items(), key=lambda item: -sum(item[1])):
            numbers = sum(times), min(times), sum(times) / len(times), max(times)
            yield [*place, len(times), *map(_text, numbers), _text(100 * numbers[0] / whole)]


def _calls(cycle: Cycle) -> Iterable[list]:
    yield ["Device_id", "Level", "API Name", "Time(us)", "Count", "Avg(us)", "Min(us)", "Max(us)", "Variance"]
    groups: dict[tuple[str, str], list[float]] = {}
    for work in cycle.work:
        groups.setdefault(("hccl" if work.collective else "acl", work.name), []).append(work.returned - work.called)
    for (level, name), times in sorted(groups.items(), key=lambda item: -sum(item[1])):
        numbers = sum(times) / len(times), min(times), max(times), statistics.pvariance(times)
        yield ["host", level, name, _text(sum(times)), len(times), *map(_text, numbers)]


def _joined(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Spans of time without overlaps."""
    found: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def _length(spans: Iterable[tuple[float, float]]) -> float:
    return sum(end - start for start, end in spans)


def _devices(cycle: Cycle) -> list[Any]:
    return sorted({work.device for work in cycle.work})


def _steps(cycle: Cycle) -> Iterable[list]:
    alone = "Communication(Not Overlapped"
    yield [
        "Device_id", "Step", "Computing", f"{alone})", "Overlapped", "Communication", "Free", "Stage", "Bubble",
        f"{alone} and Exclude Receive)", "Preparing",
    ]  # fmt: skip
    for device, number, *times in steps_in_microseconds(cycle):
        yield [_UNKNOWN if device is None else device, number, *map(_text, times)]


def steps_in_microseconds(cycle: Cycle) -> Iterable[tuple[Any, ...]]:
    """Device (None without any), number and nine times of each step: those of the table's columns, in their order."""
    named = cycle.steps()
    everything = [event.time_range for event in cycle.events]
    last = max([span.end for span in everything] + [work.end for work in cycle.work], default=0.0)
    for device in _devices(cycle) or [None]:
        for number, start, end in named or [("", 0.0, last)]:
            mine = [w for w in cycle.work if w.device == device and start <= w.called <= end]
            computing = _joined((w.start, w.end) for w in mine if not w.collective)
            talking = _joined((w.start, w.end) for w in mine if w.collective)
            either = _joined([*computing, *talking])
            overlapped = _length(computing) + _length(talking) - _length(either)
            stage = max([end, *(w.end for w in mine)]) - start
            apart = _length(talking) - overlapped
            preparing = min((w.start for w in mine), default=start) - start
            yield (
                device, number, _length(computing), apart, overlapped, _length(talking), stage - _length(either), stage, 0.0,
                apart, max(0.0, preparing),
            )  # fmt: skip


def _records(cycle: Cycle) -> Iterable[list]:
    yield [
        "Component", "Timestamp(us)", "Total Allocated(MB)", "Total Reserved(MB)", "Total Active(MB)", "Stream Ptr",
        "Device Type",
    ]  # fmt: skip
    for each in cycle.allocations:
        megabytes = each.allocated / (1 << 20), each.reserved / (1 << 20), each.allocated / (1 << 20)
        yield ["PTA", f"{cycle.wall + each.time:.3f}\t", *map(_text, megabytes), each.stream, f"NPU:{each.device}"]


def _blocks(cycle: Cycle) -> Iterable[list]:
    totals = [f"Total {kind}(MB)" for kind in ("Allocated", "Reserved", "Active")]
    yield [
        "Name", "Size(KB)", "Allocation Time(us)", "Release Time(us)", "Active Release Time(us)", "Duration(us)",
        "Active Duration(us)", *(f"Allocation {each}" for each in totals), *(f"Release {each}" for each in totals),
        "Stream Ptr", "Device Type",
    ]  # fmt: skip
    for name, each, end in operator_blocks(cycle):
        given = [f"{cycle.wall + end.time:.3f}\t"] * 2 + [_text(end.time - each.time)] * 2 if end else [""] * 4
        sums = [
            _text(number / (1 << 20)) if at else ""
            for at in (each, end)
            for number in ((at.allocated, at.reserved, at.allocated) if at else (0, 0, 0))
        ]
        yield [
            name, _text(each.nbytes / 1024), f"{cycle.wall + each.time:.3f}\t", *given, *sums, each.stream,
            f"NPU:{each.device}",
        ]  # fmt: skip


def operator_blocks(cycle: Cycle) -> Iterable[tuple[str, Allocation, Allocation | None]]:
    """The operator that a block was handed out in, where it was, and where it was given back, if it was."""
    ends: dict[tuple[int, int], list[Allocation]] = {}
    for each in cycle.allocations:
        if each.nbytes < 0:
            ends.setdefault((each.device, each.address), []).append(each)
    for each in cycle.allocations:
        if each.nbytes >= 0:
            later = [end for end in ends.get((each.device, each.address), ()) if end.time >= each.time]
            event = cycle.operator_of(None, each.time)
            yield event.name if event else "", each, later[0] if later else None


def trace(cycle: Cycle) -> list[dict]:
    """Chrome's trace events: the host's threads, a process for each device with its streams, and which call made which work."""
    pid = os.getpid()
    rows: list[dict] = [{"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": "Python"}}]
    for device in sorted({work.device for work in cycle.work}):
        rows.append(_named("process_name", _DEVICES + device, 0, f"Ascend Hardware NPU {device}"))
    for device, stream in sorted({(work.device, work.stream) for work in cycle.work}):
        rows.append(_named("thread_name", _DEVICES + device, stream, f"Stream {stream}"))
    for event in cycle.events:
        told: dict[str, Any] = (
            {"Input Dims": event.input_shapes, "Input type": event.input_types} if cycle.shapes else {}
        )
        if event.stack:
            told["Call stack"] = ";\r\n".join(event.stack)
        kind = "user_annotation" if event.is_user_annotation else "cpu_op"
        start, end = event.time_range
        rows.append(_span(cycle, event.trace_name, kind, pid, event.thread, start, end, told))
    for spans, kind in ((cycle.frames, "python_function"), (cycle.garbage, "gc")):
        for name, start, end in spans:
            rows.append(_span(cycle, name, kind, pid, cycle.thread, start, end, {}))
    for number, work in enumerate(cycle.work):
        place = {"pid": _DEVICES + work.device, "tid": work.stream}
        rows.append(_span(cycle, f"AscendCL@{work.name}", "cann", pid, work.thread, work.called, work.returned, {}))
        kind = "hccl" if work.collective else "kernel"
        told = {"Task Id": number}
        rows.append(_span(cycle, work.name, kind, place["pid"], place["tid"], work.start, work.end, told))
        joined = {"name": _FLOW, "cat": _FLOW, "id": number}
        rows.append({**joined, "ph": "s", "pid": pid, "tid": work.thread, "ts": cycle.wall + work.called})
        rows.append({**joined, "ph": "f", "bp": "e", **place, "ts": cycle.wall + work.start})
    return rows


def _named(what: str, pid: int, tid: int, name: Any) -> dict:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def _span(cycle: Cycle, name: str, kind: str, pid: int, tid: int, start: float, end: float, told: dict) -> dict:
    return {
        "ph": "X", "name": name, "cat": kind, "pid": pid, "tid": tid, "ts": cycle.wall + start, "dur": end - start,
        "args": told,
    }  # fmt: skip
