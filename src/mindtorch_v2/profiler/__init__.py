"""`torch.profiler`: which operators run, how often and how long. `torch.autograd.profiler` says what is seen."""

from ..autograd.profiler import record_function
from ..autograd.profiler_util import DeviceType
from . import itt
from ._execution_trace import ExecutionTraceObserver
from ._profile import profile, supported_activities, tensorboard_trace_handler
from ._schedule import ProfilerAction, ProfilerActivity, schedule

__all__ = [
    "DeviceType",
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


def kineto_available() -> bool:
    """Whether `profile` works, with schedules and traces: True, though without PyTorch's library of that name.

    >>> torch.profiler.kineto_available()
    True
    """
    return True
