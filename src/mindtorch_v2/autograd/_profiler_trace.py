"""A profile as a trace that chrome://tracing, Perfetto and TensorBoard read, and its memory over time."""

from __future__ import annotations

import gzip
import json
import os
import platform
from collections.abc import Iterable
from typing import Any

from ._profiler_devices import FIRST_SORT_INDEX, launched
from ._profiler_frames import Frame
from ._profiler_recorder import MemoryChange, Recorder
from .profiler_util import DeviceType, FunctionEvent

_CATEGORIES = 9  # columns of PyTorch's memory timeline: nothing, unknown, and seven kinds of tensors
_UNKNOWN = 1


def _us(nanoseconds: int) -> float:
    return nanoseconds / 1000


def _operators(events: Iterable[FunctionEvent], pid: int, shapes: bool) -> list[dict]:
    rows = []
    for event in events:
        if event.device_type != DeviceType.CPU:
            continue
        args: dict[str, Any] = {"External id": event.id}
        if event.sequence_nr >= 0:
            args |= {"Sequence number": event.sequence_nr, "Fwd thread id": event.fwd_thread}
        if shapes and not event.is_user_annotation:
            args |= {"Input Dims": event.input_shapes, "Input type": event.input_types}
        if event.stack:
            args["Call stack"] = ";".join(reversed(event.stack))
        start, end = (round(moment, 3) for moment in event.time_range)
        rows.append(
            {"ph": "X", "cat": "user_annotation" if event.is_user_annotation else "cpu_op", "name": event.trace_name,
             "pid": pid, "tid": event.thread, "ts": start, "dur": round(end - start, 3), "args": args}
        )  # fmt: skip
    return rows


def _arrows(events: Iterable[FunctionEvent], pid: int) -> list[dict]:
    """From the operator that made a node of the graph to the node's run in backward."""
    made: dict[tuple[int, int], FunctionEvent] = {}
    rows = []
    for event in events:
        if event.sequence_nr < 0 or event.is_user_annotation:
            continue
        if not event.fwd_thread:
            made[event.thread, event.sequence_nr] = event
        elif event.scope == 1 and (event.fwd_thread, event.sequence_nr) in made:
            source = made[event.fwd_thread, event.sequence_nr]
            common = {"id": event.id, "pid": pid, "cat": "fwdbwd", "name": "fwdbwd"}
            rows.append({"ph": "s", "tid": source.thread, "ts": round(source.time_range.start, 3), **common})
            rows.append({"ph": "f", "tid": event.thread, "ts": round(event.time_range.start, 3), "bp": "e", **common})
    return rows


def _frames(frames: Iterable[Frame], began: int, pid: int, tid: int) -> list[dict]:
    return [
        {"ph": "X", "cat": "python_function", "name": frame.name, "pid": pid, "tid": tid, "ts": _us(frame.start - began),
         "dur": _us(frame.end - frame.start), "args": {"Python parent id": frame.parent, "Python id": frame.number}}
        for frame in frames
    ]  # fmt: skip


def _memory(changes: Iterable[MemoryChange], began: int, pid: int) -> list[dict]:
    return [
        {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": pid, "tid": change.thread,
         "ts": _us(change.moment - began),
         "args": {"Total Allocated": change.total, "Bytes": change.change, "Device Id": -1, "Device Type": 0}}
        for change in changes
    ]  # fmt: skip


def _lane(pid: int, name: str, label: str, place: int) -> list[dict]:
    """The name of a process of the trace, which may be a device, and its place among them."""
    told = {
        "process_name": {"name": name},
        "process_labels": {"labels": label},
        "process_sort_index": {"sort_index": place},
    }
    return [{"ph": "M", "name": kind, "pid": pid, "tid": 0, "args": args} for kind, args in told.items()]


def _kernels(events: Iterable[FunctionEvent], work: Iterable[Any], pid: int) -> list[dict]:
    """The kernels, each on its stream's lane, and arrows from the operators to the kernels that they launched."""
    rows: list[dict] = []
    places: set[tuple[int, int]] = set()
    begun: set[int] = set()
    events = list(events)
    kind = next((event.use_device for event in events if event.use_device), "npu").upper()
    for each, launcher in launched(events, work):
        lane = {"pid": each.device, "tid": each.stream}
        if all(device != each.device for device, _ in places):
            rows += _lane(each.device, "python", f"{kind} {each.device}", FIRST_SORT_INDEX + each.device)
        if (each.device, each.stream) not in places:
            name = f"stream {each.stream}"
            rows.append({"ph": "M", "name": "thread_name", **lane, "args": {"name": name}})
        places.add((each.device, each.stream))
        args: dict[str, Any] = {
            "type": each.name.removeprefix("aclnn"), "deviceId": each.device, "streamId": each.stream,
        }  # fmt: skip
        start = round(each.start, 3)
        if launcher is not None:
            args["External id"] = launcher.id
            arrow = {"id": launcher.id, "cat": "ac2g", "name": "ac2g"}
            if launcher.id not in begun:
                begun.add(launcher.id)
                first = round(launcher.time_range.start, 3)
                rows.append({"ph": "s", "pid": pid, "tid": launcher.thread, "ts": first, **arrow})
            rows.append({"ph": "f", **lane, "ts": start, "bp": "e", **arrow})
        if each.inputs:
            args["Input Dims"] = [sizes for sizes, _ in each.inputs]
        rows.append(
            {"ph": "X", "cat": "kernel", "name": each.name, **lane, "ts": start,
             "dur": round(each.end - each.start, 3), "args": args}
        )  # fmt: skip
    return rows


def write_trace(
    path: str,
    recorder: Recorder,
    events: list[FunctionEvent],
    options: dict[str, int],
    metadata: dict[str, str],
    work: Iterable[Any] = (),
) -> None:
    """Write the trace to `path`; `options` are what the profile was asked for, `metadata` further entries as JSON texts.

    `work` is what devices did. A device's lanes have its number for their process, and stand below those of the CPU.
    """
    pid = os.getpid()
    tids = sorted({event.thread for event in events} | {recorder.thread})
    rows = _lane(pid, "python", "CPU", pid)
    rows += [
        {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": f"thread {tid} (python)"}}
        for tid in tids
    ]
    began = recorder.began
    rows += _operators(events, pid, bool(options.get("record_shapes")))
    rows += _frames(recorder.frames, began, pid, recorder.thread)
    rows += _arrows(events, pid)
    rows += _memory(recorder.memory, began, pid)
    rows += _kernels(events, work, pid)
    trace = {
        "schemaVersion": 1,
        "deviceProperties": [],
        "trace_id": os.urandom(16).hex().upper(),
        "host_name": platform.node(),
        "displayTimeUnit": "ms",
        **options,
        "baseTimeNanoseconds": recorder.wall_began,
        **{name: json.loads(text) for name, text in metadata.items()},
        "traceEvents": rows,
        "traceName": path,
    }
    with open(path, "w", encoding="utf-8") as file:
        json.dump(trace, file)


def write_memory_timeline(path: str, recorder: Recorder) -> None:
    """Write the CPU's bytes over time: see `write_timeline`."""
    times = [(recorder.wall_began + change.moment - recorder.began) // 1000 for change in recorder.memory]
    write_timeline(path, times, [change.total for change in recorder.memory])


def write_timeline(path: str, times: list[int], totals: list[int], owner: str = "the CPU") -> None:
    """Write the bytes of a device over time: a picture for ".html", else JSON, compressed for ".gz".

    The JSON is `[times, sizes]` as PyTorch writes it: microseconds since 1970, and for each a list with the bytes of each
    kind of tensor. All bytes stand under the kind "unknown", as the allocator does not know what a block is for.
    """
    if path.endswith(".html"):
        text = _picture(times, totals, owner)
    else:
        rows = [[total if place == _UNKNOWN else 0 for place in range(_CATEGORIES)] for total in totals]
        text = json.dumps([times, rows])
    if path.endswith(".gz"):
        with gzip.open(path, "wt", encoding="utf-8") as file:
            file.write(text)
    else:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def _picture(times: list[int], totals: list[int], owner: str = "the CPU") -> str:
    """A page with the bytes over time, as steps."""
    width, height, left, top = 900, 320, 90, 40
    times, totals = times or [0], totals or [0]
    span, most = max(times[-1] - times[0], 1), max([*totals, 1])
    unit, scale = next((u, s) for u, s in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)) if most >= s)
    points = []
    level: float = height
    for moment, total in zip(times, totals):
        x = left + (moment - times[0]) / span * width
        points.append(f"{x:.1f},{top + level:.1f}")
        level = height - total / most * height
        points.append(f"{x:.1f},{top + level:.1f}")
    points.append(f"{left + width},{top + level:.1f}")
    base = top + height
    marks = []
    for part in range(5):
        y = base - part / 4 * height
        marks.append(f'<line x1="{left}" x2="{left + width}" y1="{y:.0f}" y2="{y:.0f}" stroke="#ddd"/>')
        marks.append(
            f'<text x="{left - 8}" y="{y + 4:.0f}" text-anchor="end">{most * part / 4 / scale:.1f} {unit}</text>'
        )
        x = left + part / 4 * width
        marks.append(f'<text x="{x:.0f}" y="{base + 20}" text-anchor="middle">{span * part / 4000:.1f} ms</text>')
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Memory over time</title></head><body>'
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 40}" height="{base + 40}" '
        'font-family="sans-serif" font-size="12">'
        f'<text x="{left}" y="22" font-size="15">Memory of {owner}, highest {most / scale:.1f} {unit}</text>{"".join(marks)}'
        f'<polygon points="{left},{base} {" ".join(points)} {left + width},{base}" fill="#9ec5e8" stroke="#2a6ca8"/>'
        "</svg></body></html>\n"
    )
