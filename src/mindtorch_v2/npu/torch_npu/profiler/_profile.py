"""torch_npu's profiler by its names: operators as the host sees them, over `torch.profiler`, and what each call of theirs took on the
device, between two marks of its stream. The files have the names and columns that readers look for (`_tables`). What only the
device's own counters could tell (AiCMetrics and so on) is named by a warning and not written.
"""

from __future__ import annotations

import datetime
import enum
import json
import os
import socket
import warnings
from collections.abc import Callable
from typing import Any

from mindtorch_v2._backends.npu.timing import Timing
from mindtorch_v2.npu import is_available
from mindtorch_v2.profiler import ProfilerAction, record_function
from mindtorch_v2.profiler import ProfilerActivity as _Activity
from mindtorch_v2.profiler import profile as _profile
from mindtorch_v2.profiler import schedule as _schedule

from ._tables import Cycle, stack_lines, trace
from ._tables import write as write_tables

__all__ = [
    "AiCMetrics",
    "ExportType",
    "HostSystem",
    "ProfilerAction",
    "ProfilerActivity",
    "ProfilerLevel",
    "_ExperimentalConfig",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "supported_ai_core_metrics",
    "supported_export_type",
    "supported_profiler_level",
    "tensorboard_trace_handler",
]


class ProfilerActivity(enum.Enum):
    """The activities that can be asked for."""

    CPU = 0
    NPU = 1


class ProfilerLevel(enum.Enum):
    """How much of the device's own data is asked for."""

    Level_none = "Level_none"
    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"


class AiCMetrics(enum.Enum):
    """The counters of the device's cores."""

    PipeUtilization = "PipeUtilization"
    ArithmeticUtilization = "ArithmeticUtilization"
    Memory = "Memory"
    MemoryL0 = "MemoryL0"
    MemoryUB = "MemoryUB"
    ResourceConflictRatio = "ResourceConflictRatio"
    L2Cache = "L2Cache"
    MemoryAccess = "MemoryAccess"
    AiCoreNone = "AiCoreNone"


class ExportType(enum.Enum):
    """The kinds of files; only text is written."""

    Text = "text"
    Db = "db"


class HostSystem(enum.Enum):
    """Parts of the host that could be watched; none is."""

    CPU = "cpu"
    MEM = "mem"
    DISK = "disk"
    NETWORK = "network"
    OSRT = "osrt"


# Options of _ExperimentalConfig that ask for data of the device or the host which nothing here takes, with what leaves them out.
_WITHOUT_EFFECT: dict[str, tuple] = {
    "aic_metrics": (None, AiCMetrics.AiCoreNone, AiCMetrics.PipeUtilization),
    "l2_cache": (False,),
    "op_attr": (False,),
    "record_op_args": (False,),
    "gc_detect_threshold": (None,),
    "host_sys": (None, []),
    "sys_io": (False,),
    "sys_interconnection": (False,),
    "mstx_domain_include": (None, []),
    "mstx_domain_exclude": (None, []),
}
_WEIGHTS = ("self_cpu_time_total", "self_npu_time_total")  # of the stacks that are written
_TAKEN = ("data_simplification", "msprof_tx", "mstx")  # ranges of mstx are always there


class _ExperimentalConfig:
    """The wishes for the device's own data: with Level_none none are taken, with Level1 and Level2 statistics of calls too.

    Options that have no effect here are named by a warning.

    Raises:
        RuntimeError: databases are asked for, which are not written.
        TypeError: there is no option of a name.
    """

    def __init__(
        self, profiler_level: Any = ProfilerLevel.Level0, export_type: Any = ExportType.Text, **others: Any
    ) -> None:
        kinds = export_type if isinstance(export_type, (list, tuple)) else [export_type]
        if any(kind in (ExportType.Db, "db") for kind in kinds):
            raise RuntimeError("_ExperimentalConfig(): databases are not written; ask for export_type=ExportType.Text")
        unknown = set(others) - {*_WITHOUT_EFFECT, *_TAKEN}
        if unknown:
            raise TypeError(f"_ExperimentalConfig(): there is no option {', '.join(sorted(unknown))}")
        named = [name for name, value in others.items() if value not in _WITHOUT_EFFECT.get(name, (value,))]
        if named:
            warnings.warn(f"_ExperimentalConfig(): {', '.join(sorted(named))} have no effect here", stacklevel=2)
        self.profiler_level = profiler_level
        self.aic_metrics = others.get("aic_metrics")
        self.export_type = export_type
        self.others = others


def supported_profiler_level() -> set:
    """The levels that can be asked for."""
    return set(ProfilerLevel)


def supported_ai_core_metrics() -> set:
    """The counters that can be named; none are read."""
    return set(AiCMetrics)


def supported_export_type() -> set:
    """The kinds of files that are written."""
    return {ExportType.Text}


def supported_activities() -> set:
    """The activities that can be recorded."""
    return {ProfilerActivity.CPU, ProfilerActivity.NPU}


class schedule:
    """`torch.profiler.schedule` with torch_npu's order of arguments.

    What is no whole number from 0 on (from 1 on: `active`) is taken as 0 (1), as torch_npu does, and named by a warning.
    """

    def __init__(
        self, wait: int, active: int, warmup: int = 0, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
    ) -> None:
        given = {
            "wait": wait, "warmup": warmup, "active": active, "repeat": repeat, "skip_first": skip_first,
            "skip_first_wait": skip_first_wait,
        }  # fmt: skip
        numbers: dict[str, int] = {}
        for name, value in given.items():
            least = int(name == "active")
            numbers[name] = value if isinstance(value, int) and value >= least else least
            if numbers[name] is not value:
                warnings.warn(f"schedule(): {name} must be a whole number from {least} on, not {value!r}", stacklevel=2)
        self.active = numbers["active"]
        self._action = _schedule(**numbers)

    def __call__(self, step: int) -> ProfilerAction:
        return self._action(step)


class profile(_profile):
    """`torch.profiler.profile`, which times work on the device too, unless `activities` leave NPU out.

    While a cycle is recorded each call of an ACLNN operator and each collective, of any thread, lies between two marks of its stream,
    and the host waits for the device when the cycle ends. What an NPUGraph records is not timed.
    """

    def __init__(
        self,
        *,
        activities: Any = None,
        schedule: Callable[..., Any] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        **others: Any,
    ) -> None:
        for activity in activities or ():
            if not isinstance(activity, ProfilerActivity):
                raise TypeError(f"activities must be of torch_npu.profiler.ProfilerActivity, not {activity!r}")
        if experimental_config is not None and not isinstance(experimental_config, _ExperimentalConfig):
            raise TypeError(
                f"experimental_config must be an _ExperimentalConfig, not {type(experimental_config).__name__}"
            )
        super().__init__(
            activities=[_Activity.CPU],
            schedule=schedule,
            on_trace_ready=on_trace_ready,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            **others,
        )
        self.experimental_config = experimental_config or _ExperimentalConfig()
        self.wanted = set(activities or ProfilerActivity)
        self._timing: Timing | None = None

    def _move(self, before: ProfilerAction, after: ProfilerAction, last: bool = False) -> None:
        recording = ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE
        ends = before is ProfilerAction.RECORD_AND_SAVE or after not in recording
        if before in recording and ends and self._timing is not None and self._timing.running:
            self._timing.stop()
        super()._move(before, after, last)
        if after in recording and (ends or before not in recording):
            self._timing = self._new_timing()

    def _new_timing(self) -> Timing | None:
        wanted = ProfilerActivity.NPU in self.wanted
        if not wanted or self.experimental_config.profiler_level is ProfilerLevel.Level_none or not is_available():
            return None
        timing = Timing(self.record_shapes, self.profile_memory)
        timing.start(self._recorder().began)
        return timing

    def _recorder(self) -> Any:
        return self._of("reading its times")._recorder

    def cycle(self) -> Cycle:
        """The last cycle's events, work and allocations, for the tables."""
        timing, recorder = self._timing, self._recorder()
        level = self.experimental_config.profiler_level
        return Cycle(
            self.events() if ProfilerActivity.CPU in self.wanted else [],
            timing.work if timing else [],
            timing.allocations if timing else [],
            recorder.wall_began / 1000,
            self.record_shapes,
            self.with_stack,
            self.profile_memory,
            timing is not None and level in (ProfilerLevel.Level1, ProfilerLevel.Level2),
            {name: json.loads(text) for name, text in self._metadata.items()},
        )

    def export_stacks(self, output_path: str, metric: str = "self_cpu_time_total") -> None:
        """Write a line for each operator with a stack: its frames and its weight in microseconds, for flame graphs.

        The weight is the time of the host ("self_cpu_time_total") or of the device ("self_npu_time_total"). ValueError for
        another metric, and where no stacks were recorded.
        """
        if metric not in _WEIGHTS:
            raise ValueError(f"export_stacks(): metric must be one of {', '.join(_WEIGHTS)}, not {metric!r}")
        if not self.with_stack:
            raise ValueError("export_stacks(): no stacks were recorded; ask for profile(with_stack=True)")
        with open(output_path, "w", encoding="utf-8") as file:
            file.writelines(stack_lines(self.cycle(), metric == "self_npu_time_total"))

    def export_chrome_trace(self, output_path: str) -> None:
        """Write the last cycle's operators, and what the device did, as a trace for Perfetto or chrome://tracing."""
        with open(output_path, "w", encoding="utf-8") as file:
            json.dump(trace(self.cycle()), file)


def tensorboard_trace_handler(
    dir_name: str | None = None, worker_name: str | None = None, analyse_flag: bool = True, async_mode: bool = False
) -> Callable[..., Any]:
    """A function for `on_trace_ready` that writes a folder for each cycle: a trace, and tables (docs/profiling.md)."""

    def write(profiler: Any) -> None:
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        folder = _new_folder(dir_name or os.getcwd(), worker)
        output = os.path.join(folder, "ASCEND_PROFILER_OUTPUT")
        os.makedirs(output)
        with open(os.path.join(folder, "profiler_info.json"), "w", encoding="utf-8") as file:
            json.dump({"worker": worker}, file)
        with open(os.path.join(folder, "profiler_metadata.json"), "w", encoding="utf-8") as file:
            json.dump(profiler.cycle().metadata, file)
        write_tables(profiler.cycle(), output)

    return write


def _new_folder(parent, worker):
    """A folder named for a worker and a time in milliseconds: the first after now that nobody has."""
    time = datetime.datetime.now(datetime.UTC)
    while True:
        folder = os.path.join(parent, f"{worker}_{time.strftime('%Y%m%d%H%M%S%f')[:-3]}_ascend_pt")
        try:
            os.makedirs(folder)
            return folder
        except FileExistsError:
            time += datetime.timedelta(milliseconds=1)
