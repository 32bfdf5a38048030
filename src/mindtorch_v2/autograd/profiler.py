"""`torch.autograd.profiler`: which operators run, how often and how long.

Events are the operators that the thread calls which entered the profile, in forward and backward, the nodes of its
backward, and the ranges that `record_function` marks. Times are those of the CPU, from the call below autograd until it comes back, in Python: a few
microseconds of each are the profiler's own. What other threads call is not seen, nor the parts of an operator that one
kernel computes. With `use_device="npu"` the kernels of NPUs are events too, by the device's own clock.
"""

from __future__ import annotations

import functools
import time
import warnings
from typing import Any

import mindtorch_v2 as torch

from .._core.profiler_config import check_config
from .._core.warn_once import warn_of_caller
from . import _profiler_devices as _devices
from . import _profiler_operators as _operators
from . import _profiler_recorder as _recorder
from . import _profiler_trace as _trace
from .profiler_util import EventList, FunctionEvent, FunctionEventAvg

__all__ = [
    "EnforceUnique",
    "EventList",
    "FunctionEvent",
    "FunctionEventAvg",
    "KinetoStepTracker",
    "emit_itt",
    "emit_nvtx",
    "profile",
    "record_function",
]


class EnforceUnique:
    """Keys that may come once.

    >>> keys = torch.autograd.profiler.EnforceUnique()
    >>> keys.see("forward", 1)
    >>> try:
    ...     keys.see("forward", 1)
    ... except RuntimeError as error:
    ...     print(error)
    duplicate key: ('forward', 1)
    """

    def __init__(self) -> None:
        self.seen: set[tuple] = set()

    def see(self, *key: Any) -> None:
        """Take a key; RuntimeError if it came before."""
        if key in self.seen:
            raise RuntimeError(f"duplicate key: {key!r}")
        self.seen.add(key)


class record_function:
    """Mark a range of the program with `name` for profilers: a context manager or a decorator.

    Where no profiler is on it does nothing but look for one.

    >>> with torch.autograd.profiler.profile() as profile:
    ...     with torch.autograd.profiler.record_function("my step"):
    ...         _ = torch.ones(2) + 1
    >>> "my step" in [event.name for event in profile.function_events]
    True
    """

    def __init__(self, name: str, args: str | tuple[Any, ...] | None = None) -> None:
        self.name = name
        self.args = args
        self._entered: list[tuple[list, int, int]] = []
        self._observed: list[list[tuple[Any, Any]]] = []

    def __enter__(self) -> record_function:
        recorders = list(_recorder.active)
        memory = torch._C._cpu_memory_stats()["allocated_bytes.current"] if recorders else 0
        values = self._values() if _recorder.observers else ()
        self._observed.append([(each, each.enter_range(self.name, values)) for each in _recorder.observers])
        self._entered.append((recorders, memory, time.perf_counter_ns()))
        return self

    def __exit__(self, *exception: Any) -> None:
        end = time.perf_counter_ns()
        recorders, memory, start = self._entered.pop()
        for observer, opened in reversed(self._observed.pop()):
            observer.exit_range(opened)
        if recorders:
            memory = torch._C._cpu_memory_stats()["allocated_bytes.current"] - memory
        for recorder in recorders:
            if recorder in _recorder.active:
                recorder.take(self.name, start, end, memory, values=self._values())

    def _values(self) -> tuple[Any, ...]:
        return () if self.args is None else self.args if isinstance(self.args, tuple) else (self.args,)

    def __call__(self, fn: Any) -> Any:
        @functools.wraps(fn)
        def marked(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return fn(*args, **kwargs)

        return marked


_operators.define(record_function)


class profile:
    """Within this block the operators that this thread calls are taken down.

    `record_shapes`, `with_stack`, `profile_memory` and `with_flops` ask for the shapes of arguments, the Python frames
    of the caller (none of this package's), bytes allocated on the CPU, and operations (see `torch.utils.flop_counter`).
    `use_device="npu"` times what NPUs do: a kernel is an event of its own, and part of the operator that launched it. Each call lies
    between two marks of its stream then, and the host waits for the device at the end. Without `use_cpu` only kernels are
    events. Other devices, and an NPU that is not there, warn.

    >>> with torch.autograd.profiler.profile() as prof:
    ...     _ = torch.ones(2).exp()
    >>> [(event.key, event.count) for event in prof.key_averages()]
    [('aten::ones', 1), ('aten::exp', 1)]
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Any = None,
    ) -> None:
        check_config(experimental_config)
        if use_cuda:
            warn_of_caller(
                "The attribute `use_cuda` will be deprecated soon, please use ``use_device = 'cuda'`` instead.",
                FutureWarning,
            )
        device = "cuda" if use_cuda else use_device
        if device == "cpu" or device is not None and not _devices.can_time(device):
            if device != "cpu":
                warnings.warn(_devices.why_not(device), stacklevel=2)
            device = None
        if enabled and not use_cpu and device is None:
            raise AssertionError("No activities specified for the profiler")
        self.use_cpu, self.use_device = use_cpu, device
        self.enabled = enabled
        self.entered = False
        self.record_shapes = record_shapes or with_flops
        self.with_stack = with_stack
        self.profile_memory = profile_memory
        self.with_flops = with_flops
        self.acc_events = acc_events
        self._recorder: _recorder.Recorder | None = None
        self._timing: Any = None
        self._earlier: list[FunctionEvent] = []
        self._events: EventList | None = None

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        if self.acc_events and self._recorder is not None:
            self._earlier = list(self.function_events)
        self._events = None
        self._recorder = _recorder.Recorder(self.record_shapes, self.with_stack, self.profile_memory, self.with_flops)
        self._recorder.__enter__()
        if self.use_device is not None:
            self._timing = _devices.timing_of(self.use_device, self.record_shapes)
            self._timing.start(self._recorder.began)
        return self

    def __exit__(self, *exception: Any) -> Any:
        if self.enabled and self._recorder is not None:
            if self._timing is not None:
                self._timing.stop()
            self._recorder.__exit__(*exception)
            self.entered = False
        return False

    @property
    def function_events(self) -> EventList:
        """The events, in order of their start. Raises RuntimeError before the profile was run."""
        recorder = self._ran()
        if self._events is None:
            events: list[FunctionEvent] = recorder.events()
            if self._timing is not None:
                events = _devices.with_kernels(recorder.events(), self._timing.work, self.use_device or "")
            if not self.use_cpu:
                events = [event for event in events if event.device_type]
            self._events = EventList([*self._earlier, *events], self.profile_memory, self.with_flops)
        return self._events

    def __repr__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self._recorder is None else repr(self.function_events)

    def __str__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self._recorder is None else str(self.function_events)

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        """The events as a table: see `EventList.table`."""
        return self.function_events.table(sort_by, row_limit, **options)

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Events of one kind taken together: see `EventList.key_averages`."""
        return self.function_events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self) -> FunctionEventAvg:
        """All events taken together."""
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events in microseconds, none counted twice."""
        return self.function_events.self_cpu_time_total

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write stacks and their times: see `EventList.export_stacks`."""
        self.function_events.export_stacks(path, metric)

    def export_chrome_trace(self, path: str, metadata: dict | None = None) -> None:
        """Write the events as a trace that chrome://tracing, Perfetto and TensorBoard read.

        `metadata` are further entries of the file, as JSON texts.
        """
        options = {name: int(getattr(self, name)) for name in ("record_shapes", "profile_memory", "with_stack")}
        work = self._timing.work if self._timing is not None else []
        _trace.write_trace(path, self._ran(), self.function_events, options, metadata or {}, work)

    def export_memory_timeline(self, path: str) -> None:
        """Write the CPU's bytes over time: a picture if `path` ends in .html, else JSON, compressed if it ends in .gz.

        ValueError if the profile was not asked for memory.
        """
        if not self.profile_memory:
            raise ValueError("profile_memory=True required for memory profiling.")
        _trace.write_memory_timeline(path, self._ran())

    def _ran(self) -> _recorder.Recorder:
        if self._recorder is None:
            raise RuntimeError("Profiler didn't finish running")
        return self._recorder


class KinetoStepTracker:
    """The steps of a program, by who counts them: the latest step is the largest number that any of them has reached.

    >>> tracker = torch.autograd.profiler.KinetoStepTracker
    >>> tracker.init_step_count("mine")
    >>> tracker.increment_step("mine") - tracker.current_step()
    0
    >>> tracker.erase_step_count("mine")
    True
    """

    _current_step = 0
    _step_dict: dict[str, int] = {}

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Let a requester count from the latest step on."""
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Forget a requester; whether there was one. The latest step stays."""
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """Count one step of a requester; returns the latest step, with a warning if that grew by more than one."""
        if requester not in cls._step_dict:
            cls.init_step_count(requester)
        cls._step_dict[requester] += 1
        latest = max(cls._step_dict.values())
        if latest > cls._current_step + 1:
            warnings.warn(
                "Profiler step count has increased more than 1 - "
                f"current_step = {cls._current_step} step dict =  {cls._step_dict}",
                stacklevel=2,
            )
        cls._current_step = max(cls._current_step, latest)
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """The latest step of any requester."""
        return cls._current_step


class emit_nvtx:
    """Ranges for NVIDIA's tools; raises AssertionError when entered: there is no CUDA.

    >>> try:
    ...     with torch.autograd.profiler.emit_nvtx():
    ...         pass
    ... except AssertionError as error:
    ...     print(error)
    Torch not compiled with CUDA enabled
    """

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled

    def __enter__(self) -> Any:
        if self.enabled:
            raise AssertionError("Torch not compiled with CUDA enabled")
        return None

    def __exit__(self, *exception: Any) -> Any:
        return False


class emit_itt(emit_nvtx):
    """Ranges for Intel's VTune; raises NotImplementedError when entered: they are not sent.

    >>> try:
    ...     with torch.autograd.profiler.emit_itt():
    ...         pass
    ... except NotImplementedError as error:
    ...     print(error)
    torch.autograd.profiler.emit_itt is not implemented in mindtorch_v2
    """

    def __enter__(self) -> Any:
        if self.enabled:
            raise NotImplementedError("torch.autograd.profiler.emit_itt is not implemented in mindtorch_v2")
        return None
