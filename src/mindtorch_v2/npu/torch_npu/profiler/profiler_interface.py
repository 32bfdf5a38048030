"""One cycle after the other: its folder, its recording, and the files beside the record."""

from __future__ import annotations

import functools
import os
import time
import uuid
from collections.abc import Callable, Iterable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.npu import Event, is_available
from mindtorch_v2.npu.utils import get_cann_version

from ._flops_hook import FlopsHookManager
from ._profiler_gc_detect import ProfGCDetector
from ._profiler_path_creator import ProfPathCreator
from ._recording import (
    NpuProfilerConfig,
    ProfilerActivity,
    _finalize_profiler,
    _get_freq,
    _get_monotonic,
    _get_syscnt,
    _get_syscnt_enable,
    _init_profiler,
    _last_recording,
    _start_profiler,
    _stop_profiler,
    _supported_npu_activities,
    _warmup_profiler,
)
from .analysis._npu_profiler import NpuProfiler
from .analysis.prof_common_func._constant import Constant, print_warn_msg
from .analysis.prof_common_func._file_manager import FileManager
from .experimental_config import _ExperimentalConfig

__all__ = ["supported_activities"]

_EVENT_METHODS = "record", "wait", "query", "elapsed_time", "synchronize"
_SWITCHES = "record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules"


def supported_activities() -> set[ProfilerActivity]:
    """The activities that can be recorded."""
    return _supported_npu_activities()


def _enable_event_record() -> None:
    """Let calls of events' methods be ranges of the profile."""

    def marked(plain: Any) -> Any:
        @functools.wraps(plain)
        def call(*args: Any, **kwargs: Any) -> Any:
            with torch.autograd.profiler.record_function(f"Event::{plain.__name__}"):
                return plain(*args, **kwargs)

        call.origin_func = plain  # type: ignore[attr-defined]  # (marks the function)
        return call

    for name in _EVENT_METHODS:
        plain = getattr(Event, name)
        if not hasattr(plain, "origin_func"):
            setattr(Event, name, marked(plain))


def _disable_event_record() -> None:
    for name in _EVENT_METHODS:
        method = getattr(Event, name)
        setattr(Event, name, getattr(method, "origin_func", method))


class _ProfInterface:
    """The work of a profile at the edges of its cycles.

    A value that is none of an argument's is set to its default, with a warning, as in torch_npu.
    """

    MAX_TRACE_ID_LEN = 1024

    def __init__(
        self,
        activities: Iterable[ProfilerActivity] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        schedule: Callable[[int], Any] | None = None,
        metadata: dict[str, Any] | None = None,
        experimental_config: _ExperimentalConfig | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
    ) -> None:
        self.activities = set(activities) if activities else supported_activities()
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.with_flops, self.with_modules = with_flops, with_modules
        self.schedule = schedule
        self.metadata = {} if metadata is None else metadata
        self.experimental_config = _ExperimentalConfig() if experimental_config is None else experimental_config
        self.custom_trace_id_callback = custom_trace_id_callback
        self.prof_path = self.trace_id = ""
        self.syscnt_enable, self.freq, self.start_cnt, self.start_monotonic = False, 100.0, 0, 0
        self.recording: Any = None
        self.gc_detector: ProfGCDetector | None = None
        self._written: dict[str, Any] = {}  # the metadata of the last cycle
        self._check_params()

    def _check_params(self) -> None:
        if not self.activities <= supported_activities():
            print_warn_msg(
                f"activities must be of torch_npu.profiler.ProfilerActivity, not {self.activities!r}; all are recorded"
            )
            self.activities = supported_activities()
        for name in _SWITCHES:
            value = getattr(self, name)
            if not isinstance(value, bool):
                if value is not None:
                    print_warn_msg(f"{name} must be bool, not {value!r}; it is taken as False")
                setattr(self, name, False)
        if not isinstance(self.experimental_config, _ExperimentalConfig):
            print_warn_msg(
                f"experimental_config must be an _ExperimentalConfig, not {type(self.experimental_config).__name__}; "
                "it is left out"
            )
            self.experimental_config = _ExperimentalConfig()

    # ---- the edges of a cycle ----

    def init_trace(self) -> None:
        """Make the folder of a cycle."""
        ProfPathCreator().create_prof_dir()
        self.prof_path = ProfPathCreator().get_prof_dir()
        _init_profiler(self.prof_path, self.activities)
        self.trace_id = self.create_trace_id()

    def _config(self) -> NpuProfilerConfig:
        return NpuProfilerConfig(
            self.prof_path, self.record_shapes, self.profile_memory, self.with_stack, self.with_flops, self.with_modules,
            self.experimental_config(),
        )  # fmt: skip

    def warmup_trace(self) -> None:
        """Make ready for the recording."""
        _warmup_profiler(self._config(), self.activities)

    def start_trace(self) -> None:
        """Begin to record."""
        self.syscnt_enable = _get_syscnt_enable()
        if self.syscnt_enable:
            self.freq, self.start_cnt = _get_freq(), _get_syscnt()
        self.start_monotonic = _get_monotonic()
        _start_profiler(self._config(), self.activities)
        self.recording = _last_recording()
        _enable_event_record()
        if self._hooks():
            FlopsHookManager.install()
        if ProfilerActivity.CPU in self.activities and self.experimental_config.with_gc:
            self.gc_detector = ProfGCDetector(self.experimental_config.gc_detect_threshold or 0.0)
            self.gc_detector.start()

    def _hooks(self) -> bool:
        return self.with_flops and self.experimental_config.tx_enabled

    def stop_trace(self) -> None:
        """End the recording, and wait for the device."""
        _disable_event_record()
        if self._hooks():
            FlopsHookManager.uninstall()
        if ProfilerActivity.NPU in self.activities and is_available():
            torch.npu.synchronize()
        _stop_profiler()
        if self.gc_detector is not None:
            self.gc_detector.stop()
            self.gc_detector = None

    def finalize_trace(self) -> None:
        """Write the record, and what belongs to it, into the folder of the cycle."""
        _finalize_profiler()
        if self.prof_path:
            self._dump_profiler_info()
            self._dump_metadata()
        ProfPathCreator().is_prof_inited = False

    def delete_prof_dir(self) -> None:
        """Remove the folder of the cycle."""
        ProfPathCreator().delete_prof_dir()

    def cycle(self) -> Any:
        """The record of the last cycle. AssertionError before anything was."""
        if self.recording is None:
            raise AssertionError("Profiler must be initialized before reading what it recorded")
        return self.recording.cycle({**self._written, **self.metadata})

    def analyse(self, **others: Any) -> None:
        """Write the traces and tables of the cycle."""
        NpuProfiler.analyse(self.prof_path, **others)

    # ---- files beside the record ----

    def create_trace_id(self) -> str:
        """A name for the recording: the program's, where `custom_trace_id_callback` gives one, else 32 digits."""
        callback = self.custom_trace_id_callback
        if callback is None:
            return f"{uuid.uuid4().int:032X}"
        try:
            found = callback()
        except Exception as error:  # noqa: BLE001  (the program's function may raise anything; the profile goes on)
            print_warn_msg(f"custom_trace_id_callback raised {error!r}; the recording has a number for its name")
        else:
            if isinstance(found, str) and len(found) <= self.MAX_TRACE_ID_LEN:
                return found
            print_warn_msg(
                f"custom_trace_id_callback must give a str of at most {self.MAX_TRACE_ID_LEN} characters, not {found!r}"
            )
        return f"{uuid.uuid4().int:032X}"

    def _dump_profiler_info(self) -> None:
        rank = _rank()
        experimental = {name: value for name, value in vars(self.experimental_config).items()}
        numbers = getattr(self.schedule, "numbers", None)
        info: dict[str, Any] = {
            "config": {
                "common_config": {
                    "activities": sorted(map(str, self.activities)),
                    "schedule": numbers,
                    **{name: getattr(self, name) for name in _SWITCHES},
                },
                "experimental_config": experimental,
            },
            "start_info": {
                "syscnt_enable": self.syscnt_enable, "freq": self.freq, "start_cnt": self.start_cnt,
                "start_monotonic": self.start_monotonic,
            },
            "end_info": {"collectionTimeEnd": time.time_ns(), "MonotonicTimeEnd": time.monotonic_ns()},
            "torch_npu_version": torch.__version__,
            "cann_version": get_cann_version(),
        }  # fmt: skip
        if rank is not None:
            info["rank_id"] = rank
        name = "profiler_info.json" if rank is None else f"profiler_info_{rank}.json"
        FileManager.create_json_file_by_path(os.path.join(self.prof_path, name), info, indent=4)

    def _dump_metadata(self) -> None:
        self._written = {**self.metadata, **_groups(), "trace_id": self.trace_id}
        path = os.path.join(self.prof_path, Constant.PROFILER_META_DATA)
        FileManager.create_json_file_by_path(path, self._written)
        self.metadata.clear()


def _rank() -> int | None:
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank()
    text = os.environ.get("RANK", "")
    return int(text) if text.isdigit() else None


def _groups() -> dict[str, Any]:
    """The ranks of the process group of NPUs, by the name that its communicator has."""
    if not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return {}
    if torch.distributed.get_backend() != "hccl":
        return {}
    rank, world = torch.distributed.get_rank(), torch.distributed.group.WORLD
    name = world._get_backend(torch.device("npu")).get_hccl_comm_name(rank)
    ranks = list(range(torch.distributed.get_world_size()))
    found = {"group_name": "default_group", "group_rank": rank, "global_ranks": ranks}
    return {"parallel_group_info": {name: found}}
