"""Takes down the operators that a thread calls, and the ranges that programs mark."""

from __future__ import annotations

import sys
import threading
import time
from types import FrameType
from typing import Any

import mindtorch_v2 as torch

from ..utils._python_dispatch import TorchDispatchMode
from .profiler_util import EventList, FunctionEvent

_HERE = __name__.rpartition(".")[0].rpartition(".")[0]  # frames of the package itself are no place in a program

active: list[Recorder] = []
"""The recorders that are on, in any thread: ranges are handed to all."""


def _stack() -> list[str]:
    """The Python frames outside of this package, innermost first."""
    found: list[str] = []
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] != _HERE:
            found.append(f"{frame.f_code.co_filename}({frame.f_lineno}): {frame.f_code.co_name}")
        frame = frame.f_back
    return found


def _shapes(values: Any) -> list:
    return [list(value.shape) if isinstance(value, torch.Tensor) else [] for value in values]


class Recorder(TorchDispatchMode):
    """While entered, every operator call of this thread becomes an event."""

    def __init__(self, shapes: bool = False, stacks: bool = False, memory: bool = False, flops: bool = False) -> None:
        super().__init__()
        self._take_shapes, self._take_stacks, self._take_memory, self._count_flops = shapes, stacks, memory, flops
        self._taken: list[dict] = []
        self.began = 0
        self.wall_began = 0

    def __enter__(self) -> Recorder:
        import mindtorch_v2._ops  # noqa: F401  (loaded here, it is not put down to the first operator)

        self.began, self.wall_began = time.perf_counter_ns(), time.time_ns()
        active.append(self)
        return super().__enter__()

    def __exit__(self, *exception: Any) -> Any:
        active.remove(self)
        return super().__exit__(*exception)

    def _bytes(self) -> int:
        return torch._C._cpu_memory_stats()["allocated_bytes.current"] if self._take_memory else 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        event: dict[str, Any] = {
            "name": func._schema.name,
            "overload_name": func._overloadname.replace("default", ""),
            "scope": int(torch._C._current_graph_task_id() != -1),
            "thread": threading.get_native_id(),
        }
        if self._take_shapes:
            event["input_shapes"] = _shapes(args)
        if self._take_stacks:
            event["stack"] = _stack()
        before = self._bytes()
        start = time.perf_counter_ns()
        try:
            out = func(*args, **kwargs)
        finally:
            event["end"], event["start"] = time.perf_counter_ns(), start
            event["cpu_memory_usage"] = self._bytes() - before
            self._taken.append(event)
        if self._count_flops:
            event["flops"] = _operations(func, args, kwargs, out)
        return out

    def take(self, name: str, start: int, end: int, memory: int) -> None:
        """A marked range of this thread, from and to a moment in nanoseconds."""
        shown = "ProfilerStep*" if name.startswith("ProfilerStep#") else name
        self._taken.append(
            {"name": shown, "trace_name": name, "start": max(start, self.began), "end": end,
             "thread": threading.get_native_id(), "is_user_annotation": True, "cpu_memory_usage": memory}
        )  # fmt: skip

    def events(self) -> EventList:
        """The events, in order of their start."""
        taken = sorted(self._taken, key=lambda event: (event["start"], -event["end"]))
        events = []
        for number, fields in enumerate(taken, 1):
            fields = dict(fields)
            start, end = ((fields.pop(name) - self.began) / 1000 for name in ("start", "end"))
            events.append(FunctionEvent(number, start_us=start, end_us=end, **fields))
        found = EventList(events, self._take_memory, self._count_flops)
        found._nest()
        return found


def _operations(func: Any, args: Any, kwargs: Any, out: Any) -> int:
    from ..utils._flop_formulas import FUSED, flop_registry  # only profiles that count operations need it

    packet = func.overloadpacket
    if packet in flop_registry:
        return flop_registry[packet](*args, **kwargs, out_val=out)
    counted = FUSED[packet](*args, **kwargs) if packet in FUSED else None
    return counted[1] if counted else 0
