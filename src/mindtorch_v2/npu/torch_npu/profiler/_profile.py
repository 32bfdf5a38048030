"""torch_npu's profiler by its names, over `torch.profiler`: operators as the host sees them, under the names of the files
that its readers look for. What only the device's own counters could tell (AiCMetrics and so on) is accepted and not written.
"""

from __future__ import annotations

import csv
import datetime
import enum
import json
import os
import socket
from collections.abc import Callable
from typing import Any

from mindtorch_v2.profiler import ProfilerAction, record_function
from mindtorch_v2.profiler import ProfilerActivity as _Activity
from mindtorch_v2.profiler import profile as _profile
from mindtorch_v2.profiler import schedule as _schedule

__all__ = [
    "AiCMetrics",
    "ExportType",
    "ProfilerAction",
    "ProfilerActivity",
    "ProfilerLevel",
    "_ExperimentalConfig",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
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


class _ExperimentalConfig:
    """The wishes for the device's own data. RuntimeError for databases, which are not written."""

    def __init__(
        self,
        profiler_level: Any = ProfilerLevel.Level0,
        aic_metrics: Any = None,
        export_type: Any = ExportType.Text,
        **others: Any,
    ) -> None:
        kinds = export_type if isinstance(export_type, (list, tuple)) else [export_type]
        if any(kind in (ExportType.Db, "db") for kind in kinds):
            raise RuntimeError("_ExperimentalConfig(): databases are not written; ask for export_type=ExportType.Text")
        self.profiler_level = profiler_level
        self.aic_metrics = aic_metrics
        self.export_type = export_type
        self.others = others


def supported_activities() -> set:
    """The activities that can be recorded."""
    return {ProfilerActivity.CPU, ProfilerActivity.NPU}


def schedule(
    wait: int, active: int, warmup: int = 0, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[..., Any]:
    """`torch.profiler.schedule` with torch_npu's order of arguments."""
    return _schedule(
        wait=wait, warmup=warmup, active=active, repeat=repeat, skip_first=skip_first, skip_first_wait=skip_first_wait
    )


class profile(_profile):
    """`torch.profiler.profile`; work on the device is seen by the operators that enqueue it."""

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
        self.experimental_config = experimental_config


def tensorboard_trace_handler(
    dir_name: str | None = None, worker_name: str | None = None, analyse_flag: bool = True, async_mode: bool = False
) -> Callable[..., Any]:
    """A function for `on_trace_ready` that writes a folder for each cycle: a trace, and tables of operators and steps."""

    def write(profiler: Any) -> None:
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        folder = _new_folder(dir_name or os.getcwd(), worker)
        output = os.path.join(folder, "ASCEND_PROFILER_OUTPUT")
        os.makedirs(output)
        with open(os.path.join(folder, "profiler_info.json"), "w", encoding="utf-8") as file:
            json.dump({"worker": worker}, file)
        profiler.export_chrome_trace(os.path.join(output, "trace_view.json"))
        _write_operators(profiler, os.path.join(output, "operator_details.csv"))
        _write_steps(profiler, os.path.join(output, "step_trace_time.csv"))

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


def _write_operators(profiler, path) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["Name", "Input Shapes", "Host Self Duration(us)", "Host Total Duration(us)"])
        for event in profiler.events():
            rows.writerow([event.name, event.input_shapes, event.self_cpu_time_total, event.cpu_time_total])


def _write_steps(profiler, path) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["Step", "Stage"])
        for event in profiler.events():
            if event.name.startswith("ProfilerStep"):
                rows.writerow([event.name.partition("#")[2], event.cpu_time_total])
