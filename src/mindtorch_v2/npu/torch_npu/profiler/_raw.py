"""A recording as files, from which tables are made at once or later: the host's in FRAMEWORK, devices' in PROF_*.

Collections of garbage are in a file of their own, as they are found beside the recording (`_profiler_gc_detect`).
"""

from __future__ import annotations

import datetime
import os
import struct
from collections.abc import Iterable
from typing import Any

from mindtorch_v2._backends.npu.timing import Allocation, Work
from mindtorch_v2.autograd.profiler_util import EventList, FunctionEvent

from ._tables import Cycle, Span
from .analysis.prof_common_func._constant import Constant
from .analysis.prof_common_func._file_manager import FileManager
from .analysis.prof_common_func._path_manager import ProfilerPathManager

__all__ = ["events_with_others", "load", "save"]

_HOST, _DEVICE, _GARBAGE = "torch.host.json", "device.json", "torch.gc_record"
_KEPT = (
    "name", "trace_name", "thread", "input_shapes", "stack", "is_user_annotation", "sequence_nr", "fwd_thread", "scope",
    "cpu_memory_usage", "overload_name", "flops", "input_types",
)  # fmt: skip
_PLAIN = ("wall", "shapes", "stacks", "memory", "calls", "began", "thread", "frames", "bytes")


def _made(fields: Iterable[dict[str, Any]]) -> EventList:
    """Events in order of their start, each with what was called within it."""
    ordered = sorted(fields, key=lambda each: (each["start_us"], -each["end_us"]))
    events = EventList([FunctionEvent(number, **each) for number, each in enumerate(ordered, 1)])
    events._nest()
    return events


def _fields(events: Iterable[Any], later: float = 0.0) -> list[dict[str, Any]]:
    return [
        {"start_us": event.time_range.start + later, "end_us": event.time_range.end + later}
        | {name: getattr(event, name) for name in _KEPT}
        for event in events
    ]


def events_with_others(events: Iterable[Any], recorder: Any, others: Iterable[Any]) -> Any:
    """The events of a recording, and those that profiles of other threads took down meanwhile, on its clock."""
    more = [
        each
        for other in others
        if not other.entered
        for each in _fields(other.function_events, (other._ran().began - recorder.began) / 1000)
        if not each["is_user_annotation"]  # ranges are handed to the recorders of all threads
    ]
    return _made([*_fields(events), *more]) if more else events


def save(cycle: Cycle, folder: str, devices: bool) -> None:
    """Write a cycle into its folder; `devices`: with what devices did, which may be nothing."""
    host = {name: getattr(cycle, name) for name in _PLAIN} | {"events": _fields(cycle.events)}
    FileManager.create_json_file_by_path(os.path.join(ProfilerPathManager.get_fwk_path(folder), _HOST), host)
    if devices:
        stamp = datetime.datetime.now().strftime("%Y%m%d%H%M%S%f")[:-3]
        name = f"PROF_000001_{stamp}_{os.getpid():08X}"
        record = {"work": cycle.work, "allocations": cycle.allocations}
        FileManager.create_json_file_by_path(os.path.join(folder, name, _DEVICE), record)


def load(folder: str) -> Cycle:
    """The cycle that was written into a folder. RuntimeError where its files are missing or no such files."""
    framework = ProfilerPathManager.get_fwk_path(folder)
    host = FileManager.read_json_file(os.path.join(framework, _HOST))
    place = ProfilerPathManager.get_cann_path(folder)
    device = FileManager.read_json_file(os.path.join(place, _DEVICE)) if place else {"work": [], "allocations": []}
    metadata = os.path.join(folder, Constant.PROFILER_META_DATA)
    return Cycle(
        events=_made(host.pop("events")),
        work=[Work(*each) for each in device["work"]],
        allocations=[Allocation(*each) for each in device["allocations"]],
        metadata=FileManager.read_json_file(metadata) if os.path.exists(metadata) else {},
        garbage=_collections(os.path.join(framework, _GARBAGE), host["began"]),
        **{**host, "frames": [Span(*each) for each in host["frames"]]},
    )


def _collections(path: str, began: int) -> list[Span]:
    if not os.path.exists(path):
        return []
    with open(path, "rb") as file:
        records = list(struct.iter_unpack(Constant.GC_RECORD_FORMAT, file.read()))
    return [Span("GC", (start - began) / 1000, (end - began) / 1000) for _, start, end in records]
