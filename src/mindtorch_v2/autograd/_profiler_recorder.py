"""Take down the operators that a thread calls, the nodes of its backward, and the ranges that programs mark."""

from __future__ import annotations

import sys
import threading
import time
from types import FrameType
from typing import Any, NamedTuple

import mindtorch_v2 as torch

from ..utils._python_dispatch import TorchDispatchMode
from ._profiler_frames import Frame, Frames
from .profiler_util import EventList, FunctionEvent

_HERE = __name__.rpartition(".")[0].rpartition(".")[0]  # frames of the package itself are no place in a program

active: list[Recorder] = []
"""The recorders that are on, in any thread: ranges are handed to all."""


observers: list[Any] = []
"""Other listeners, which are told of marked ranges by `enter_range` and `exit_range`, with the values that they were marked with."""


class MemoryChange(NamedTuple):
    """At a moment in nanoseconds, the bytes that the CPU's allocator has given out, and how many more than before."""

    moment: int
    total: int
    change: int
    thread: int


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


ELEMENTS = {  # of tensors, as a trace of PyTorch's calls them
    torch.float32: "float", torch.float64: "double", torch.float16: "c10::Half", torch.bfloat16: "c10::BFloat16",
    torch.int64: "long int", torch.int32: "int", torch.int16: "short int", torch.int8: "signed char",
    torch.uint8: "unsigned char", torch.bool: "bool", torch.complex64: "c10::complex<float>",
    torch.complex128: "c10::complex<double>",
}  # fmt: skip


def _type(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return ELEMENTS.get(value.dtype, str(value.dtype).removeprefix("torch."))
    if isinstance(value, (bool, int, float, complex)):
        return "Scalar"
    if isinstance(value, (list, tuple)) and value:
        kinds = {_type(each) for each in value}
        if kinds == {"Scalar"}:
            return "ScalarList"
        if all(isinstance(each, torch.Tensor) for each in value):
            return "TensorList"
    return ""


class Recorder(TorchDispatchMode):
    """While entered, every operator call of this thread becomes an event, and every node of its backward two."""

    _following: int  # the number of the next node, when the last operator was called
    began: int
    wall_began: int
    thread: int  # which entered it
    sees_parts = False

    def __init__(self, shapes: bool = False, stacks: bool = False, memory: bool = False, flops: bool = False) -> None:
        super().__init__()
        self._take_shapes, self._take_stacks, self._take_memory, self._count_flops = shapes, stacks, memory, flops
        self._taken: list[dict] = []
        self._nodes: list[tuple[dict[str, Any], int]] = []  # those that run, and the bytes when they began
        self._frames = Frames() if stacks else None
        self._memory: list[MemoryChange] = []
        self._watch_before: Any = None

    def __enter__(self) -> Recorder:
        import mindtorch_v2._ops  # noqa: F401  (loaded here, it is not put down to the first operator)

        self.began, self.wall_began = time.perf_counter_ns(), time.time_ns()
        self.thread = threading.get_native_id()
        active.append(self)
        torch._C._set_recorders(len(active))
        self._watch_before = torch._C._watch_nodes(self._node)
        self._following = torch._C._next_sequence_nr()
        self._bytes()
        entered = super().__enter__()
        if self._frames is not None:
            self._frames.start(self.began)
        return entered

    def __exit__(self, *exception: Any) -> Any:
        if self._frames is not None:
            self._frames.stop()
        self._bytes()
        torch._C._watch_nodes(self._watch_before)
        active.remove(self)
        torch._C._set_recorders(len(active))
        return super().__exit__(*exception)

    @property
    def frames(self) -> list[Frame]:
        """Python's calls, in order of their end; none without `stacks`."""
        return [] if self._frames is None else self._frames.taken

    @property
    def memory(self) -> list[MemoryChange]:
        """When memory was taken and given back, as seen at the edges of events; none without `memory`."""
        return self._memory

    def _bytes(self) -> int:
        if not self._take_memory:
            return 0
        total = torch._C._cpu_memory_stats()["allocated_bytes.current"]
        before = self._memory[-1].total if self._memory else 0
        if total != before or not self._memory:
            self._memory.append(MemoryChange(time.perf_counter_ns(), total, total - before, threading.get_native_id()))
        return total

    def _number_of_its_node(self) -> int:
        """The number of the node that was made for the operator being called; -1 if none was."""
        following = torch._C._next_sequence_nr()
        before, self._following = self._following, following
        return following - 1 if following > before else -1

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        event: dict[str, Any] = {
            "name": func._schema.name,
            "overload_name": func._overloadname.replace("default", ""),
            "sequence_nr": self._number_of_its_node(),
            "thread": threading.get_native_id(),
        }
        if self._take_shapes:
            event["input_shapes"] = _shapes(args)
            event["input_types"] = [_type(value) for value in args]
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

    def _node(self, node: Any, inner: bool, begins: bool) -> None:
        """A node of this thread's backward begins or ends: the node itself, or all that the engine does for it."""
        if self._watch_before is not None:
            self._watch_before(node, inner, begins)
        if begins:
            name = node.name()
            leaf = name == "torch::autograd::AccumulateGrad"
            thread = threading.get_native_id()
            event = {
                "name": name if inner else f"autograd::engine::evaluate_function: {name}",
                "sequence_nr": -1 if leaf else node._sequence_nr(),
                "fwd_thread": 0 if leaf else thread,
                "scope": int(inner),
                "thread": thread,
            }
            before = self._bytes()
            event["start"] = time.perf_counter_ns()
            self._nodes.append((event, before))
        elif self._nodes:
            event, before = self._nodes.pop()
            event["end"] = time.perf_counter_ns()
            event["cpu_memory_usage"] = self._bytes() - before
            self._taken.append(event)

    def take(
        self, name: str, start: int, end: int, memory: int, annotation: bool = True, values: tuple[Any, ...] = ()
    ) -> None:
        """A marked range of this thread, from and to a moment in nanoseconds; `annotation`: the user's own mark, of `values`."""
        shown = "ProfilerStep*" if name.startswith("ProfilerStep#") else name
        event: dict[str, Any] = {
            "name": shown, "trace_name": name, "start": max(start, self.began), "end": end,
            "thread": threading.get_native_id(), "is_user_annotation": annotation, "cpu_memory_usage": memory,
        }  # fmt: skip
        if self._take_shapes and values:
            event["input_shapes"] = _shapes(values)
        self._taken.append(event)

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


def take_range(name: str, start: int, end: int, annotation: bool) -> None:
    """A range that a compiled library marked, for every recorder that is on."""
    for recorder in list(active):
        recorder.take(name, start, end, 0, annotation)


def _operations(func: Any, args: Any, kwargs: Any, out: Any) -> int:
    from ..utils._flop_formulas import FUSED, flop_registry, stated  # only profiles that count operations need it

    packet = func.overloadpacket
    if packet in flop_registry:
        return flop_registry[packet](*args, **kwargs, out_val=out)
    counted = FUSED[packet](*args, **kwargs) if packet in FUSED else stated(func, args, kwargs)
    return counted[1] if counted else 0
