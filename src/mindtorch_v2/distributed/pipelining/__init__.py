"""`torch.distributed.pipelining`: parts of a model on ranks one after the other, and batches that go through them in pieces."""

import enum

from mindtorch_v2._core.unavailable import unavailable_class, unavailable_function
from mindtorch_v2.distributed.pipelining.microbatch import TensorChunkSpec
from mindtorch_v2.distributed.pipelining.schedules import (
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleLoopedBFS,
    get_schedule_class,
)
from mindtorch_v2.distributed.pipelining.stage import PipelineStage

__all__ = [
    "Pipe",
    "PipelineStage",
    "Schedule1F1B",
    "ScheduleGPipe",
    "ScheduleInterleaved1F1B",
    "ScheduleInterleavedZeroBubble",
    "ScheduleLoopedBFS",
    "ScheduleZBVZeroBubble",
    "SplitPoint",
    "TensorChunkSpec",
    "build_stage",
    "get_schedule_class",
    "pipe_split",
    "pipeline",
]

_CUT = "cut the model into modules yourself, one PipelineStage each"


class SplitPoint(enum.Enum):
    """Where `pipeline`, which is not there, would cut: before a module, or behind it.

    >>> from mindtorch_v2.distributed import pipelining
    >>> [point.name for point in pipelining.SplitPoint]
    ['BEGINNING', 'END']
    """

    BEGINNING = 1
    END = 2


Pipe = unavailable_class("torch.distributed.pipelining.Pipe", _CUT)
build_stage = unavailable_function("torch.distributed.pipelining.build_stage", _CUT)
pipe_split = unavailable_function("torch.distributed.pipelining.pipe_split", _CUT)
pipeline = unavailable_function("torch.distributed.pipelining.pipeline", _CUT)
_WHOLE = "backward of inputs and of weights are not split: ScheduleInterleaved1F1B is there"
ScheduleInterleavedZeroBubble = unavailable_class("torch.distributed.pipelining.ScheduleInterleavedZeroBubble", _WHOLE)
ScheduleZBVZeroBubble = unavailable_class("torch.distributed.pipelining.ScheduleZBVZeroBubble", _WHOLE)
