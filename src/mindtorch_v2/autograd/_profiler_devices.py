"""Kernels of devices in a profile: who times them, and which operator launched which."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mindtorch_v2 import cuda

from .profiler_util import DeviceType, EventList, FunctionEvent

if TYPE_CHECKING:
    from mindtorch_v2._backends.common.timing import Timing, Work

FIRST_SORT_INDEX = (
    1 << 24
)  # of the devices' lanes in a trace: below those of processes, whose number is at most 1 << 22


ACTIVITIES = {"cuda": "CUDA", "npu": "PrivateUse1"}
"""Kinds of devices whose kernels can be timed -> how profiles call them."""


def can_time(device: str) -> bool:
    """Whether kernels of a kind of device can be timed: those of GPUs and of NPUs, where there is one."""
    if device == "cuda":
        return cuda.is_available()
    if device != "npu":
        return False
    from mindtorch_v2._backends.npu import libraries, runtime  # only profiles of a device need them

    if libraries.find("libascendcl.so")[0] is None:
        return False
    try:
        return runtime.get().device_count > 0
    except (RuntimeError, OSError):
        return False


def why_not(device: str) -> str:
    """The text for a device that was asked for and is not timed."""
    name = device if device == "PrivateUse1" else device.upper()
    return f"{name} is not available, disabling {name} profiling"


def is_used(device: str) -> bool:
    """Whether the program uses a kind of device that can be timed."""
    backend = sys.modules.get(f"{__name__.partition('.')[0]}._backends.{device}")
    return backend is not None and backend.is_loaded()


def timing_of(device: str, shapes: bool) -> Timing:
    """A clock for a kind of device, which is not started yet."""
    if device == "cuda":  # only profiles of a device need its part
        from mindtorch_v2._backends.cuda import timing as of_cuda

        return of_cuda.Timing(shapes)
    from mindtorch_v2._backends.npu import timing as of_npu

    assert device == "npu", device
    return of_npu.Timing(shapes)


def with_kernels(events: EventList, work: Iterable[Work], device: str) -> list[FunctionEvent]:
    """The events and the kernels, in order of their start; each kernel is told to the innermost operator that launched it."""
    kernels: list[FunctionEvent] = []
    for event in events:
        event.use_device = device
    for each, launcher in launched(events, work):
        if launcher is not None:
            launcher.append_kernel(each.name, each.device, each.end - each.start)
        kernels.append(
            FunctionEvent(
                len(events) + len(kernels) + 1, each.name, each.thread, each.start, each.end,
                input_shapes=[sizes for sizes, _ in each.inputs], use_device=device, device_type=DeviceType[ACTIVITIES[device]],
                device_index=each.device, device_resource_id=each.stream,
            )
        )  # fmt: skip
    return sorted([*events, *kernels], key=lambda event: event.time_range.start)


def launched(events: Iterable[FunctionEvent], work: Iterable[Work]) -> Iterable[tuple[Work, FunctionEvent | None]]:
    """Each piece of work with the innermost operator, on the thread that called for it, at that moment; None without one."""
    operators = (e for e in events if e.device_type == DeviceType.CPU and not e.is_user_annotation)
    waiting = sorted(operators, key=lambda e: (e.time_range.start, -e.time_range.end), reverse=True)
    running: dict[int, list[FunctionEvent]] = {}  # by thread, outermost first
    for each in sorted(work, key=lambda each: each.called):
        while waiting and waiting[-1].time_range.start <= each.called:
            event = waiting.pop()
            running.setdefault(event.thread, []).append(event)
        mine = running.get(each.thread, [])
        while mine and mine[-1].time_range.end < each.called:
            mine.pop()
        yield each, mine[-1] if mine else None
