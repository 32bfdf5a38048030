"""torch_npu's `profile`: operators as the host sees them, and what each call of theirs took on the device.

The files have the names and columns that readers look for (`_tables`). What only the device's own counters could tell (AiCMetrics
and so on) is named by a warning and not written.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.autograd._profiler_trace import write_timeline
from mindtorch_v2.profiler import ProfilerAction, record_function

from ._profiler_action_controller import ProfActionController
from ._profiler_path_creator import ProfPathCreator
from ._recording import (
    NpuProfilerConfig,
    _disable_profiler_in_child_thread,
    _enable_profiler_in_child_thread,
)
from ._tables import stack_lines, trace
from .analysis.prof_common_func._constant import Constant, print_warn_msg
from .experimental_config import _ExperimentalConfig
from .profiler_interface import _ProfInterface

__all__ = ["_KinetoProfile", "profile", "tensorboard_trace_handler"]

_WEIGHTS = (Constant.METRIC_CPU_TIME, Constant.METRIC_NPU_TIME)  # of the stacks that are written


class _KinetoProfile:
    """A recording from `start` to `stop`, without steps.

    Work on the device is timed too, unless `activities` leave NPU out: each call of an ACLNN operator and each collective, of any
    thread, lies between two marks of its stream, and the host waits for the device at the end. What an NPUGraph records is not
    timed. With ASCEND_WORK_PATH in the environment the record is written below that folder.
    """

    def __init__(
        self,
        *,
        activities: Any = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: _ExperimentalConfig | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
    ) -> None:
        self.metadata: dict[str, Any] = {}
        self.prof_if = _ProfInterface(
            activities=activities,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            schedule=schedule,
            metadata=self.metadata,
            experimental_config=experimental_config,
            custom_trace_id_callback=custom_trace_id_callback,
        )

    def start(self) -> None:
        """Begin to record."""
        ProfPathCreator().init(export_only_mode=True)
        self.prof_if.init_trace()
        self.prof_if.warmup_trace()
        self.prof_if.start_trace()

    def stop(self) -> None:
        """End the recording."""
        self.prof_if.stop_trace()
        self.prof_if.finalize_trace()

    def events(self) -> Any:
        """The operators and ranges of the host in the last cycle, in order of their start."""
        return self._recorded("accessing events").events

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> Any:
        """Events of one kind taken together: see `EventList.key_averages`."""
        return self._recorded("getting key averages").host.key_averages(group_by_input_shape, group_by_stack_n)

    def _recorded(self, purpose: str) -> Any:
        if self.prof_if.recording is None:
            raise AssertionError(f"Profiler must be initialized before {purpose}")
        return self.prof_if.recording

    def export_chrome_trace(self, output_path: str) -> None:
        """Write the last cycle's operators, and what the device did, as a trace for Perfetto or chrome://tracing."""
        _make_room(output_path)
        with open(output_path, "w", encoding="utf-8") as file:
            json.dump(trace(self.prof_if.cycle()), file)

    def export_stacks(self, output_path: str, metric: str = Constant.METRIC_CPU_TIME) -> None:
        """Write a line for each operator with a stack: its frames and its weight in microseconds, for flame graphs.

        The weight is the time of the host ("self_cpu_time_total") or of the device ("self_npu_time_total"). ValueError for
        another metric, and where no stacks were recorded.
        """
        if metric not in _WEIGHTS:
            raise ValueError(f"export_stacks(): metric must be one of {', '.join(_WEIGHTS)}, not {metric!r}")
        if not self.prof_if.with_stack:
            raise ValueError("export_stacks(): no stacks were recorded; ask for profile(with_stack=True)")
        _make_room(output_path)
        with open(output_path, "w", encoding="utf-8") as file:
            file.writelines(stack_lines(self.prof_if.cycle(), metric == Constant.METRIC_NPU_TIME))

    def export_memory_timeline(self, output_path: str, device: str | None = None) -> None:
        """Write the bytes of a device over the last cycle: a picture if `output_path` ends in .html, else JSON (.gz: compressed).

        `device` is "cpu" or an NPU, the first if none is named and there are any. All bytes are of the kind "unknown", or, where
        `output_path` ends in .raw.json.gz, a list of (nanoseconds, what was done, bytes). ValueError where no memory was recorded.
        """
        if not self.prof_if.profile_memory:
            raise ValueError("export_memory_timeline(): no memory was recorded; ask for profile(profile_memory=True)")
        place = torch.device(device or ("npu:0" if torch.npu.is_available() else "cpu"))
        cycle = self.prof_if.cycle()
        if place.type == "cpu":
            levels = list(cycle.bytes)
        else:
            index = place.index or 0
            levels = [(each.time, each.allocated) for each in cycle.allocations if each.device == index]
        if output_path.endswith(".raw.json.gz"):
            _write_changes(output_path, cycle.wall, levels)
        else:
            times, held = [int(cycle.wall + time) for time, _ in levels], [level for _, level in levels]
            write_timeline(output_path, times, held, "the CPU" if place.type == "cpu" else str(place))

    def add_metadata(self, key: str, value: str) -> None:
        """Add a text to the cycle's files."""
        if not isinstance(key, str) or not isinstance(value, str):
            print_warn_msg("add_metadata(): key and value must be str; this is left out")
            return
        self.metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Add a value, given as JSON, to the cycle's files."""
        try:
            self.metadata[key] = json.loads(value)
        except (TypeError, ValueError) as error:
            print_warn_msg(f"add_metadata_json(): the value of {key!r} is no JSON ({error}); it is left out")

    @classmethod
    def enable_profiler_in_child_thread(
        cls,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
    ) -> None:
        """Let the operators of the calling thread be recorded too, by the profile that runs."""
        config = NpuProfilerConfig(
            "", record_shapes, profile_memory, with_stack, with_flops, with_modules, _ExperimentalConfig()()
        )
        _enable_profiler_in_child_thread(config)

    @classmethod
    def disable_profiler_in_child_thread(cls) -> None:
        """End what `enable_profiler_in_child_thread` began."""
        _disable_profiler_in_child_thread()


def _make_room(path: str) -> None:
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)


def _write_changes(path: str, wall: float, levels: list[tuple[float, int]]) -> None:
    rows, before = [], 0
    for time, held in levels:
        rows.append((int((wall + time) * 1000), "create" if held >= before else "destroy", abs(held - before)))
        before = held
    with gzip.open(path, "wt", encoding="utf-8") as file:
        json.dump(rows, file)


def _always(step: int) -> ProfilerAction:
    return ProfilerAction.RECORD


class profile(_KinetoProfile):
    """A profile in steps: `schedule` says which are recorded, and `on_trace_ready` is called when a cycle of them ends."""

    def __init__(
        self,
        *,
        activities: Any = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: _ExperimentalConfig | None = None,
        execution_trace_observer: Any = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        use_cuda: bool | None = None,
    ) -> None:
        if use_cuda is not None:
            print_warn_msg("torch_npu.profiler.profile: use_cuda has no effect here")
        for name, function in (("schedule", schedule), ("on_trace_ready", on_trace_ready)):
            if function is not None and not callable(function):
                raise TypeError(f"torch_npu.profiler.profile: {name} must be callable, not {type(function).__name__}")
        super().__init__(
            activities=activities,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            experimental_config=experimental_config,
            custom_trace_id_callback=custom_trace_id_callback,
            schedule=schedule,
        )
        self.execution_trace_observer = execution_trace_observer
        self.schedule = schedule or _always
        self.on_trace_ready = on_trace_ready
        self.record_steps = schedule is not None
        self.step_num = self._offset = 0
        self.current_action = self.schedule(0)
        self.stopped = False
        self.action_controller = ProfActionController(self, self.prof_if, on_trace_ready)
        self._step: record_function | None = None

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.stop()

    def _set_step_num_offset_for_dynamic_prof(self, step: int) -> None:
        """Let steps have the numbers of a program that has come to `step` already."""
        self._offset = step

    def start(self) -> None:
        """Begin with the first step."""
        self.stopped = False
        if self.execution_trace_observer is not None:
            self.execution_trace_observer.start()
        if self.on_trace_ready is None:
            ProfPathCreator().init(export_only_mode=True)
        else:
            ProfPathCreator().init(**getattr(self.on_trace_ready, "place", {}))
        self.action_controller.transit_action(ProfilerAction.NONE, self.current_action)
        self._begin_step()

    def stop(self) -> None:
        """End the last step; what was recorded of its cycle is ready."""
        if self.stopped:
            return
        self._end_step()
        self.stopped = True
        self.action_controller.transit_action(self.current_action, None)
        if self.execution_trace_observer is not None:
            self.execution_trace_observer.stop()

    def step(self) -> None:
        """End a step and begin the next."""
        if self.stopped:
            print_warn_msg("torch_npu.profiler.profile: step() has no effect, as the profile has ended")
            return
        self._end_step()
        before, self.step_num = self.current_action, self.step_num + 1
        self.current_action = self.schedule(self.step_num)
        self.action_controller.transit_action(before, self.current_action)
        self._begin_step()

    def _begin_step(self) -> None:
        if self.record_steps:
            self._step = record_function(f"ProfilerStep#{self.step_num + self._offset}")
            self._step.__enter__()

    def _end_step(self) -> None:
        if self._step is not None:
            self._step.__exit__(None, None, None)
            self._step = None

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """Let the next cycles have the names that `callback` gives."""
        self.prof_if.custom_trace_id_callback = callback

    def get_trace_id(self) -> str:
        """The name of the last cycle."""
        return self.prof_if.trace_id


def tensorboard_trace_handler(
    dir_name: str | None = None, worker_name: str | None = None, analyse_flag: bool = True, async_mode: bool = False
) -> Callable[..., Any]:
    """For `on_trace_ready`: the folders of cycles are made in `dir_name`, each with a trace and tables (docs/profiling.md).

    Without `analyse_flag` only the record is written, of which `torch_npu.profiler.profiler.analyse` makes them later. With
    `async_mode` they are written at once all the same.
    """
    if not isinstance(analyse_flag, bool):
        print_warn_msg(f"tensorboard_trace_handler(): analyse_flag must be bool, not {analyse_flag!r}")
        analyse_flag = True

    def write(prof: Any) -> None:
        if analyse_flag:
            prof.prof_if.analyse()

    write.place = {"dir_name": dir_name, "worker_name": worker_name}  # type: ignore[attr-defined]  # (for `start`)
    return write
