"""torch_npu's profiler by its names."""

from . import dynamic_profile, profiler
from ._profile import (
    AiCMetrics,
    ExportType,
    HostSystem,
    ProfilerAction,
    ProfilerActivity,
    ProfilerLevel,
    _ExperimentalConfig,
    profile,
    record_function,
    schedule,
    supported_activities,
    supported_ai_core_metrics,
    supported_export_type,
    supported_profiler_level,
    tensorboard_trace_handler,
)

__all__ = [
    "AiCMetrics",
    "ExportType",
    "HostSystem",
    "ProfilerAction",
    "ProfilerActivity",
    "ProfilerLevel",
    "_ExperimentalConfig",
    "dynamic_profile",
    "profile",
    "profiler",
    "record_function",
    "schedule",
    "supported_activities",
    "supported_ai_core_metrics",
    "supported_export_type",
    "supported_profiler_level",
    "tensorboard_trace_handler",
]
