"""The recording of profiles, by the names of torch_npu's native part."""

from ..profiler._recording import (
    NpuProfilerConfig,
    ProfilerActivity,
    _disable_profiler_in_child_thread,
    _enable_profiler_in_child_thread,
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
from ..profiler.experimental_config import NativeConfig as _ExperimentalConfig

__all__ = [
    "NpuProfilerConfig",
    "ProfilerActivity",
    "_ExperimentalConfig",
    "_disable_profiler_in_child_thread",
    "_enable_profiler_in_child_thread",
    "_finalize_profiler",
    "_get_freq",
    "_get_monotonic",
    "_get_syscnt",
    "_get_syscnt_enable",
    "_init_profiler",
    "_last_recording",
    "_start_profiler",
    "_stop_profiler",
    "_supported_npu_activities",
    "_warmup_profiler",
]
