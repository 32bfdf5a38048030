"""`profile`: a profile in steps, and what is done with each cycle of them."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import socket
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from .._core.profiler_config import check_config as _check_config
from ..autograd import profiler as _profiler
from ..autograd._profiler_devices import ACTIVITIES as _ACTIVITIES
from ..autograd._profiler_devices import can_time as _can_time
from ..autograd._profiler_devices import is_used as _is_used
from ..autograd._profiler_devices import why_not as _why_not
from ._execution_trace import ExecutionTraceObserver
from ._schedule import ProfilerAction, ProfilerActivity

__all__ = ["profile", "supported_activities", "tensorboard_trace_handler"]

_STEPS = "ProfilerStep"  # how PyTorch's tracker of steps calls those of profiles
_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def supported_activities() -> set[ProfilerActivity]:
    """The activities that can be recorded: the CPU's, CUDA where there is a GPU, and PrivateUse1 where there is an NPU.

    >>> torch.profiler.ProfilerActivity.CPU in torch.profiler.supported_activities()
    True
    """
    return {ProfilerActivity.CPU, *(ProfilerActivity[name] for kind, name in _ACTIVITIES.items() if _can_time(kind))}


def _by_default() -> set[ProfilerActivity]:
    """The activities that are recorded where none is named: a device's too, once the program uses one."""
    return {ProfilerActivity.CPU, *(ProfilerActivity[name] for kind, name in _ACTIVITIES.items() if _is_used(kind))}


def _always(step: int) -> ProfilerAction:
    return ProfilerAction.RECORD


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """For `on_trace_ready`: write each trace to a file of its own in `dir_name`, where TensorBoard looks for them.

    `worker_name` is the first part of the file's name: host and process by default.

    >>> import os
    >>> import tempfile
    >>> from mindtorch_v2.profiler import profile, tensorboard_trace_handler
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with profile(on_trace_ready=tensorboard_trace_handler(folder, worker_name="first")):
    ...         _ = torch.ones(2) + 1
    ...     [name.split(".")[0] for name in os.listdir(folder)]
    ['first']
    """

    def write(prof: profile) -> None:
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError("Can't create directory: " + dir_name) from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        end = ".gz" if use_gzip else ""
        prof.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}.pt.trace.json{end}"))

    return write


class profile:
    """Within this block the operators that this thread calls are taken down, all or those of some steps.

    Without `schedule` all are; with it, `step()` ends a step, and the schedule says what to do in the next. When a cycle
    ends, `on_trace_ready` is called with the profile, which then holds the events of this cycle (with `acc_events`,
    those of the earlier ones too). The other arguments are those of `torch.autograd.profiler.profile`. With
    the activity CUDA the kernels of GPUs are timed, with PrivateUse1 those of NPUs; without `activities` they are where the program
    uses such a device already. Others warn. Most settings of `experimental_config` raise NotImplementedError. An `execution_trace_observer`, or the one that
    the environment asks for, takes down what is recorded, and writes its file at the end.

    >>> from mindtorch_v2.profiler import profile, schedule
    >>> def ready(prof):
    ...     print(prof.step_num, [event.name for event in prof.events()])
    >>> with profile(schedule=schedule(wait=1, warmup=1, active=1, repeat=1), on_trace_ready=ready) as prof:
    ...     for _ in range(5):
    ...         _ = torch.ones(2)
    ...         prof.step()
    3 ['ProfilerStep*', 'aten::ones']
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Any = None,
    ) -> None:
        _check_config(experimental_config)
        self.activities = _by_default() if activities is None else set(activities)
        if use_cuda:
            self.activities.add(ProfilerActivity.CUDA)
        for activity in self.activities:
            if not isinstance(activity, ProfilerActivity):
                raise TypeError(f"Expected ProfilerActivity or dict, got {type(activity)}")
        if not self.activities:
            raise AssertionError("No valid profiler activities found")
        self.use_device = next(
            (k for k, name in _ACTIVITIES.items() if ProfilerActivity[name] in self.activities and _can_time(k)), None
        )
        there = {ProfilerActivity.CPU}
        if self.use_device is not None:
            there.add(ProfilerActivity[_ACTIVITIES[self.use_device]])
        for activity in sorted(self.activities - there, key=lambda a: a.value):
            warnings.warn(
                _why_not(activity.name if activity.name == "PrivateUse1" else activity.name.lower()), stacklevel=2
            )
        self.schedule = schedule or _always
        self.on_trace_ready = on_trace_ready
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.with_modules = with_modules
        self.acc_events = acc_events
        _profiler.KinetoStepTracker.init_step_count(_STEPS)
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.profiler: _profiler.profile | None = None
        self._record_steps = schedule is not None
        self._step: _profiler.record_function | None = None
        self._metadata: dict[str, str] = {}
        self.execution_trace_observer = (
            execution_trace_observer or ExecutionTraceObserver.build_execution_trace_obs_from_env()
        )

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.stop()
        if self.execution_trace_observer is not None:
            self.execution_trace_observer.cleanup()

    def start(self) -> None:
        """Begin with the first step."""
        self._move(ProfilerAction.NONE, self.current_action)
        self._begin_step()

    def stop(self) -> None:
        """End the last step; what was recorded of its cycle is ready."""
        self._end_step()
        self._move(self.current_action, ProfilerAction.NONE, last=True)

    def step(self) -> None:
        """End a step and begin the next."""
        self._end_step()
        _profiler.KinetoStepTracker.increment_step(_STEPS)
        before, self.step_num = self.current_action, self.step_num + 1
        self.current_action = self.schedule(self.step_num)
        self._move(before, self.current_action)
        self._begin_step()

    def _begin_step(self) -> None:
        if self._record_steps:
            self._step = _profiler.record_function(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()

    def _end_step(self) -> None:
        if self._step is not None:
            self._step.__exit__(None, None, None)
            self._step = None

    def _move(self, before: ProfilerAction, after: ProfilerAction, last: bool = False) -> None:
        """From what the last step did to what the next does."""
        ends = before is ProfilerAction.RECORD_AND_SAVE or after not in _RECORDING
        if before in _RECORDING and ends:
            if before is ProfilerAction.RECORD and not last:
                warnings.warn(f"Incorrect schedule: RECORD followed by {after.name}", stacklevel=3)
            if self.execution_trace_observer is not None:
                self.execution_trace_observer.stop()
            self.profiler.__exit__(None, None, None)  # type: ignore[union-attr]  # (it has been entered)
            if (before is ProfilerAction.RECORD_AND_SAVE or last) and self.on_trace_ready is not None:
                self.on_trace_ready(self)
        if after in _RECORDING and (ends or before not in _RECORDING):
            if self.profiler is None or not self.acc_events:
                self.profiler = _profiler.profile(
                    use_cpu=ProfilerActivity.CPU in self.activities,
                    use_device=self.use_device,
                    record_shapes=self.record_shapes,
                    with_flops=self.with_flops,
                    profile_memory=self.profile_memory,
                    with_stack=self.with_stack,
                    acc_events=self.acc_events,
                )
            self.profiler.__enter__()
            if self.execution_trace_observer is not None:
                self.execution_trace_observer.start()

    def _of(self, purpose: str) -> _profiler.profile:
        if self.profiler is None:
            raise AssertionError(f"Profiler must be initialized before {purpose}")
        return self.profiler

    def events(self) -> Any:
        """The events of the last cycle, in order of their start."""
        return self._of("accessing events").function_events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> Any:
        """Events of one kind taken together: see `EventList.key_averages`."""
        inner = self._of("getting key averages")
        return inner.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write stacks and their times: see `EventList.export_stacks`."""
        self._of("exporting stacks").export_stacks(path, metric)

    def export_chrome_trace(self, path: str) -> None:
        """Write the last cycle as a trace for chrome://tracing, Perfetto or TensorBoard; compressed if `path` ends in .gz."""
        inner = self._of("exporting chrome trace")
        if not path.endswith(".gz"):
            inner.export_chrome_trace(path, self._metadata)
            return
        with tempfile.TemporaryDirectory() as folder:
            plain = os.path.join(folder, "trace.json")
            inner.export_chrome_trace(plain, self._metadata)
            with open(plain, "rb") as source, gzip.open(path, "wb") as target:
                shutil.copyfileobj(source, target)

    def export_memory_timeline(self, path: str, device: str | None = None) -> None:
        """Write the CPU's bytes over the last cycle: a picture if `path` ends in .html, else JSON (.gz: compressed).

        NotImplementedError for another device than the CPU, ValueError if the profile was not asked for memory.
        """
        if device not in (None, "cpu"):
            raise NotImplementedError(f"export_memory_timeline: memory of {device} is not recorded, that of the CPU is")
        self._of("exporting memory timeline").export_memory_timeline(path)

    def add_metadata(self, key: str, value: str) -> None:
        """Add a text to the traces that are written."""
        self._metadata[key] = json.dumps(value)

    def add_metadata_json(self, key: str, value: str) -> None:
        """Add a value, given as JSON, to the traces that are written."""
        self._metadata[key] = value

    preset_metadata_json = add_metadata_json
