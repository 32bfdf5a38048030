"""The recording: operators of the host over `torch.autograd.profiler`, work of devices between two marks of its stream.

One at a time; where it is written to, and what is made of it, is others' business (`profiler_interface`, `_tables`).
"""

from __future__ import annotations

import enum
import threading
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from mindtorch_v2._backends.npu.timing import Timing
from mindtorch_v2.autograd import profiler as _host
from mindtorch_v2.npu import is_available

from . import _raw
from ._tables import Cycle, Span
from .analysis.prof_common_func._constant import Constant
from .experimental_config import NativeConfig

__all__ = ["NpuProfilerConfig", "ProfilerActivity", "Recording"]


class ProfilerActivity(enum.Enum):
    """The activities that can be asked for."""

    CPU = 0
    NPU = 1


class NpuProfilerConfig(NamedTuple):
    """The wishes for a recording, and the folder that it is written to; none is written without one."""

    path: str
    record_shapes: bool
    profile_memory: bool
    with_stack: bool
    with_flops: bool
    with_modules: bool
    experimental_config: NativeConfig


class Recording:
    """Operators, ranges, work of devices and allocations between `start` and `stop`."""

    def __init__(self, config: NpuProfilerConfig, activities: Iterable[ProfilerActivity]) -> None:
        self.config = config
        self.activities = set(activities)
        self.level = config.experimental_config.trace_level
        self.running = False
        self.host = self._of_thread(config)
        self.timing: Timing | None = None
        self._threads: dict[int, Any] = {}  # profiles of other threads that take part
        self._lock = threading.Lock()

    @staticmethod
    def _of_thread(config: NpuProfilerConfig) -> Any:
        return _host.profile(
            record_shapes=config.record_shapes,
            with_flops=config.with_flops,
            profile_memory=config.profile_memory,
            with_stack=config.with_stack,
        )

    def start(self) -> None:
        """Begin: what this thread calls, and what all threads enqueue, is taken down."""
        self.host.__enter__()
        self.running = True
        if ProfilerActivity.NPU in self.activities and self.level != Constant.LEVEL_NONE and is_available():
            self.timing = Timing(self.config.record_shapes, self.config.profile_memory)
            self.timing.start(self._recorder.began)

    def stop(self) -> None:
        """End, and wait for the devices."""
        if not self.running:
            return
        self.running = False
        if self.timing is not None:
            self.timing.stop()
        self.host.__exit__(None, None, None)

    @property
    def _recorder(self) -> Any:
        return self.host._ran()

    def enter_thread(self, config: NpuProfilerConfig) -> None:
        """Take down what the calling thread does too, until `leave_thread`."""
        mine = self._of_thread(config)
        mine.__enter__()
        with self._lock:
            self._threads[threading.get_ident()] = mine

    def leave_thread(self) -> None:
        """End what `enter_thread` began."""
        with self._lock:
            mine = self._threads.get(threading.get_ident())
        if mine is not None and mine.entered:
            mine.__exit__(None, None, None)

    @property
    def events(self) -> Any:
        """The operators and ranges of the host."""
        return self.host.function_events

    def cycle(self, metadata: dict[str, Any]) -> Cycle:
        """All that was recorded."""
        recorder, timing, config = self._recorder, self.timing, self.config
        cpu = ProfilerActivity.CPU in self.activities

        def span(frame: Any) -> Span:
            return Span(frame.name, (frame.start - recorder.began) / 1000, (frame.end - recorder.began) / 1000)

        return Cycle(
            _raw.events_with_others(self.events, recorder, self._threads.values()) if cpu else [],
            timing.work if timing else [],
            timing.allocations if timing else [],
            recorder.wall_began / 1000,
            config.record_shapes,
            config.with_stack,
            config.profile_memory,
            timing is not None and self.level in (Constant.LEVEL1, Constant.LEVEL2),
            dict(metadata),
            recorder.began,
            recorder.thread,
            [span(frame) for frame in recorder.frames] if cpu else [],
            [((change.moment - recorder.began) / 1000, change.total) for change in recorder.memory] if cpu else [],
        )


_now: Recording | None = None


def _init_profiler(path: str, activities: Iterable[ProfilerActivity]) -> None:
    """Make ready for a recording; there is nothing to do before it begins."""


def _warmup_profiler(config: NpuProfilerConfig, activities: Iterable[ProfilerActivity]) -> None:
    """Let a recording begin without delay; there is nothing to do before it begins."""


def _start_profiler(config: NpuProfilerConfig, activities: Iterable[ProfilerActivity]) -> None:
    """Begin to record. RuntimeError while a recording runs."""
    global _now
    if _now is not None and _now.running:
        raise RuntimeError("torch_npu.profiler: a recording is running already; stop it before another is started")
    recording = Recording(config, activities)
    recording.start()
    _now = recording


def _stop_profiler() -> None:
    """End the recording, and wait for the devices."""
    if _now is not None:
        _now.stop()


def _finalize_profiler() -> None:
    """Write what was recorded to the folder that it was begun with."""
    if _now is not None and _now.config.path:
        _raw.save(_now.cycle({}), _now.config.path, ProfilerActivity.NPU in _now.activities)


def _last_recording() -> Recording | None:
    """The recording that runs, or ran last."""
    return _now


def _enable_profiler_in_child_thread(config: NpuProfilerConfig) -> None:
    """Let the calling thread take part in the recording that runs."""
    if _now is not None and _now.running:
        _now.enter_thread(config)


def _disable_profiler_in_child_thread() -> None:
    """End the part of the calling thread."""
    if _now is not None:
        _now.leave_thread()


def _supported_npu_activities() -> set[ProfilerActivity]:
    return set(ProfilerActivity)


def _get_monotonic() -> int:
    """Nanoseconds of the clock that recordings are made with."""
    return time.perf_counter_ns()


def _get_syscnt_enable() -> bool:
    """Whether the processor's counter is read for the time; the clock of the system is."""
    return False


def _get_syscnt() -> int:
    return _get_monotonic()


def _get_freq() -> float:
    """Ticks of that clock in a microsecond."""
    return 1000.0
