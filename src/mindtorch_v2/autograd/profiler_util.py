"""`torch.autograd.profiler_util`: the events of a profile, and what is computed from them."""

from __future__ import annotations

import bisect
import enum
import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ._profiler_table import build_table, format_time
from ._profiler_table import format_time as _format_time  # noqa: F401  (PyTorch has it by this name)

__all__ = ["DeviceType", "EventList", "FunctionEvent", "FunctionEventAvg", "Interval", "Kernel", "MemRecordsAcc"]

_METRICS = ["self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total", "self_privateuse1_time_total"]


class DeviceType(enum.IntEnum):
    """Where an event took place, by PyTorch's numbers; `PrivateUse1` is the NPU.

    >>> from mindtorch_v2.autograd import DeviceType
    >>> [(kind.name, kind.value) for kind in (DeviceType.CPU, DeviceType.CUDA)]
    [('CPU', 0), ('CUDA', 1)]
    """

    CPU = 0
    CUDA = 1
    MKLDNN = 2
    OPENGL = 3
    OPENCL = 4
    IDEEP = 5
    HIP = 6
    FPGA = 7
    MAIA = 8
    XLA = 9
    Vulkan = 10
    Metal = 11
    XPU = 12
    MPS = 13
    Meta = 14
    HPU = 15
    VE = 16
    Lazy = 17
    IPU = 18
    MTIA = 19
    PrivateUse1 = 20

    def __str__(self) -> str:
        return f"DeviceType.{self.name}"


class Kernel(NamedTuple):
    """Work on a device: its name, the device's number or name, and how long it took, in microseconds.

    >>> torch.autograd.profiler_util.Kernel("gemm", 0, 12.5).duration
    12.5
    """

    name: str
    device: Any
    duration: float


class MemRecordsAcc:
    """Records of memory, pairs that begin with an event, found by when they were made.

    >>> from types import SimpleNamespace
    >>> record = SimpleNamespace(start_ns=lambda: 3000)
    >>> records = torch.autograd.profiler_util.MemRecordsAcc([(record, False)])
    >>> len(list(records.in_interval(2.0, 4.0))), len(list(records.in_interval(4.0, 5.0)))
    (0, 0)
    """

    def __init__(self, mem_records: Iterable[Any]) -> None:
        self._records = sorted(mem_records, key=lambda record: record[0].start_ns())
        self._starts = [record[0].start_ns() for record in self._records]

    def in_interval(self, start_time: int, end_time: int) -> Iterator[Any]:
        """Those from a time to another, both within, in nanoseconds."""
        first, last = bisect.bisect_left(self._starts, start_time), bisect.bisect_right(self._starts, end_time)
        yield from self._records[first:last]


class Interval(NamedTuple):
    """From `start` to `end`, in microseconds since the profile began.

    >>> torch.autograd.profiler_util.Interval(10.0, 35.0).elapsed_us()
    25.0
    """

    start: float
    end: float

    def elapsed_us(self) -> float:
        """The length of the interval."""
        return self.end - self.start


class _Times:
    """Averages, and times as text. What devices spent is 0 where no device was timed."""

    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    device_time_total: float
    self_device_time_total: float

    use_device: str | None = None
    device_type = DeviceType.CPU
    node_id = -1
    is_async = is_remote = is_legacy = False
    device_memory_usage = self_device_memory_usage = 0

    @property
    def cpu_time(self) -> float:
        """The time of one call, on average."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        """The time that a device spent for one call, on average."""
        return self.device_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        return format_time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        return format_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        return format_time(self.self_cpu_time_total)

    @property
    def device_time_str(self) -> str:
        return format_time(self.device_time)

    @property
    def device_time_total_str(self) -> str:
        return format_time(self.device_time_total)

    @property
    def self_device_time_total_str(self) -> str:
        return format_time(self.self_device_time_total)


class FunctionEvent(_Times):
    """One call of an operator, one range marked by `record_function`, or one kernel of a device that is timed.

    `time_range` says when, `thread` where; `cpu_parent` and `cpu_children` what it lies within and what within it;
    `scope` is 1 for a node of backward. `sequence_nr` joins it to the operator that made it, on the thread `fwd_thread`, and
    is -1 where there is none. `input_shapes`, `input_types`, `stack` and memory are there if the profile was asked for them. `kernels` are
    those that an operator itself launched; a kernel's `device_type`, `device_index` and `device_resource_id` (its stream) say
    where it ran.

    >>> from mindtorch_v2.autograd.profiler_util import FunctionEvent
    >>> event = FunctionEvent(id=0, name="my step", thread=0, start_us=10.0, end_us=35.0)
    >>> event.time_range.elapsed_us()
    25.0
    """

    def __init__(
        self,
        id: int,
        name: str,
        thread: int,
        start_us: float,
        end_us: float,
        overload_name: str = "",
        input_shapes: list | None = None,
        stack: list | None = None,
        scope: int = 0,
        sequence_nr: int = -1,
        fwd_thread: int = 0,
        cpu_memory_usage: int = 0,
        flops: int = 0,
        is_user_annotation: bool = False,
        trace_name: str | None = None,
        is_async: bool = False,
        is_remote: bool = False,
        node_id: int = -1,
        use_device: str | None = None,
        device_type: DeviceType = DeviceType.CPU,
        device_index: int = 0,
        device_resource_id: int | None = None,
        input_types: list[str] | None = None,
    ) -> None:
        self.id = id
        self.is_async, self.is_remote, self.node_id = is_async, is_remote, node_id
        self.name = self.key = name
        self.trace_name = name if trace_name is None else trace_name
        self.thread = thread
        self.time_range = Interval(start_us, end_us)
        self.overload_name = overload_name
        self.input_shapes = [] if input_shapes is None else input_shapes
        self.input_types = [] if input_types is None else input_types
        self.stack = [] if stack is None else stack
        self.scope = scope
        self.sequence_nr = sequence_nr
        self.fwd_thread = fwd_thread
        self.cpu_memory_usage = cpu_memory_usage
        self.flops = flops
        self.is_user_annotation = is_user_annotation
        self.count = 1
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []
        self.kernels: list[Kernel] = []
        self.use_device = use_device
        self.device_type, self.device_index = device_type, device_index
        self.device_resource_id = thread if device_resource_id is None else device_resource_id

    def append_kernel(self, name: str, device: Any, duration: float) -> None:
        """Add a kernel that this operator launched; AssertionError for what is a kernel itself."""
        if self.device_type != DeviceType.CPU:
            raise AssertionError("Expected device_type to be CPU")
        self.kernels.append(Kernel(name, device, duration))

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]  # (computed, where the base holds a value)
        """From start to end, in microseconds; 0 for a kernel."""
        return self.time_range.elapsed_us() if self.device_type == DeviceType.CPU else 0.0

    @property
    def device_time_total(self) -> float:  # type: ignore[override]  # (computed, where the base holds a value)
        """The time of the kernels that were launched within, or of the kernel itself; 0 where no device is timed."""
        if not self.use_device:
            return 0.0
        if self.device_type != DeviceType.CPU:
            return self.time_range.elapsed_us()
        own = sum(kernel.duration for kernel in self.kernels)
        return own + sum(child.device_time_total for child in self.cpu_children)

    @property
    def self_device_time_total(self) -> float:  # type: ignore[override]  # (computed, where the base holds a value)
        """The time of the kernels outside of the events within this one."""
        return self.device_time_total - sum(child.device_time_total for child in self.cpu_children)

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]  # (computed, where the base holds a value)
        """The time outside of the events within this one."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:
        """Bytes allocated (freed: negative) outside of the events within this one."""
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} "
            f"device_type={self.device_type} cpu_time={self.cpu_time_str} start_us={self.time_range.start} "
            f"end_us={self.time_range.end} cpu_children={[child.id for child in self.cpu_children]} "
            f"thread={self.thread} input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage}>"
        )


class FunctionEventAvg(_Times):
    """Several events taken together: their times, memory and operations are added up in `count` calls.

    >>> from mindtorch_v2.autograd.profiler_util import FunctionEvent, FunctionEventAvg
    >>> average = FunctionEventAvg()
    >>> for end in (20.0, 40.0):
    ...     _ = average.add(FunctionEvent(id=0, name="my step", thread=0, start_us=10.0, end_us=end))
    >>> average.count, average.cpu_time_total
    (2, 40.0)
    """

    key: str | None = None
    overload_name: Any = None
    input_shapes: Any = None
    stack: Any = None
    scope: int | None = None
    is_user_annotation = False
    cpu_parent: FunctionEvent | None = None

    def __init__(self) -> None:
        self.count = self.flops = self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.cpu_time_total = self.self_cpu_time_total = self.device_time_total = self.self_device_time_total = 0.0
        self.cpu_children: list[FunctionEvent] = []

    def add(self, other: Any) -> FunctionEventAvg:
        """Add an event, or several, of the same key."""
        if self.key is None:
            for name in (
                "key overload_name input_shapes stack scope is_user_annotation cpu_parent cpu_children use_device device_type"
            ).split():
                setattr(self, name, getattr(other, name))
        if self.key != other.key:
            raise AssertionError(f"Expected keys to match, but got {other.key} vs {self.key}")
        return self._add(other)

    __iadd__ = add

    def _add(self, other: Any) -> FunctionEventAvg:
        for name in (
            "count flops cpu_memory_usage self_cpu_memory_usage cpu_time_total self_cpu_time_total "
            "device_time_total self_device_time_total"
        ).split():
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage}>"
        )


class EventList(list):
    """Events, or averages of them, as a list that can be shown and written to files.

    >>> with torch.autograd.profiler.profile() as profile:
    ...     _ = torch.ones(2) + 1
    >>> type(profile.function_events).__name__, profile.key_averages()[-1].count >= 1
    ('EventList', True)
    """

    def __init__(self, events: Any = (), profile_memory: bool = False, with_flops: bool = False) -> None:
        super().__init__(events)
        self._profile_memory = profile_memory
        self._with_flops = with_flops

    def __str__(self) -> str:
        return self.table()

    def _nest(self) -> None:
        """Find for each event the innermost one of its thread that it lies within."""
        open_events: dict[int, list[FunctionEvent]] = {}
        here = [event for event in self if event.device_type == DeviceType.CPU]
        for event in sorted(here, key=lambda e: (e.time_range.start, -e.time_range.end)):
            outer = open_events.setdefault(event.thread, [])
            while outer and event.time_range.end > outer[-1].time_range.end:
                outer.pop()
            if outer:
                event.cpu_parent = outer[-1]
                outer[-1].cpu_children.append(event)
            outer.append(event)

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events, none counted twice."""
        return sum(event.self_cpu_time_total for event in self)

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """A table with a line for each event, at most `row_limit` (-1: all), the largest `sort_by` first.

        `sort_by` is an attribute: "cpu_time", "cpu_time_total", "self_cpu_time_total", "cpu_memory_usage",
        "self_cpu_memory_usage", "count". `time_unit` is "s", "ms" or "us" for all times, else the one that suits each.
        """
        return build_table(
            self, sort_by, header, row_limit, max_src_column_width, max_name_column_width, max_shapes_column_width,
            self._with_flops, self._profile_memory, top_level_events_only, time_unit,
        )  # fmt: skip

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Events of the same name (and shapes, innermost frames, overload, where asked for) taken together."""
        groups: dict[tuple, FunctionEventAvg] = {}
        for event in self:
            key = (
                event.key,
                event.device_type,
                event.is_user_annotation,
                event.overload_name if group_by_overload_name else None,
                str(event.input_shapes) if group_by_input_shapes else None,
                *event.stack[:group_by_stack_n],
            )
            groups.setdefault(key, FunctionEventAvg()).add(event)
        for average in groups.values():
            average.stack = average.stack[:group_by_stack_n]
            average.input_shapes = average.input_shapes if group_by_input_shapes else ""
            average.overload_name = average.overload_name if group_by_overload_name else ""
        return EventList(groups.values(), self._profile_memory, self._with_flops)

    def total_average(self) -> FunctionEventAvg:
        """All events taken together."""
        total = FunctionEventAvg()
        for event in self:
            total._add(event)
        total.key = "Total"
        return total

    def supported_export_stacks_metrics(self) -> list[str]:
        """The figures that `export_stacks` can weigh stacks by."""
        return list(_METRICS)

    def export_stacks(self, path: str, metric: str) -> None:
        """Write one line for each event with a stack, its frames and its weight in microseconds: for flame graphs."""
        if metric not in _METRICS:
            raise ValueError(f"metric should be one of: {_METRICS}")
        plain = str.maketrans(" ;\t\n", "____")
        name = metric if metric == "self_cpu_time_total" else "self_device_time_total"
        with open(path, "w") as file:
            for event in self:
                weight = int(getattr(event, name))
                if event.stack and weight > 0:
                    print(";".join(entry.translate(plain) for entry in reversed(event.stack)), weight, file=file)

    def export_chrome_trace(self, path: str) -> None:
        """Write the events for chrome://tracing or Perfetto."""
        with open(path, "w") as file:
            json.dump(
                [
                    {"name": e.trace_name, "ph": "X", "ts": e.time_range.start, "dur": e.time_range.elapsed_us(),
                     "tid": e.thread, "pid": "CPU functions", "args": {}}
                    for e in self
                ],
                file,
            )  # fmt: skip
