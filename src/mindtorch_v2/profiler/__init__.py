"""`torch.profiler`: which operators run, how often and how long. `torch.autograd.profiler` says what is seen."""

from mindtorch_v2._core.unavailable import unavailable_class

from ..autograd.profiler import record_function
from . import itt
from ._profile import profile, supported_activities, tensorboard_trace_handler
from ._schedule import ProfilerAction, ProfilerActivity, schedule

__all__ = [
    "ExecutionTraceObserver",
    "ProfilerAction",
    "ProfilerActivity",
    "itt",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]

ExecutionTraceObserver = unavailable_class("torch.profiler.ExecutionTraceObserver")


def kineto_available() -> bool:
    """Whether `profile` works, with schedules and traces: True, though without PyTorch's library of that name."""
    return True
