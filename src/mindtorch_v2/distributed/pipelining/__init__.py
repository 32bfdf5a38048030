"""`torch.distributed.pipelining`: parts of a model on ranks one after the other, and batches that go through them in pieces."""

from mindtorch_v2.distributed.pipelining._IR import Pipe, SplitPoint, pipe_split, pipeline
from mindtorch_v2.distributed.pipelining.microbatch import TensorChunkSpec
from mindtorch_v2.distributed.pipelining.schedules import (
    Schedule1F1B,
    ScheduleDualPipeV,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
    ScheduleLoopedBFS,
    ScheduleZBVZeroBubble,
    get_schedule_class,
)
from mindtorch_v2.distributed.pipelining.stage import PipelineStage, build_stage

__all__ = [
    "Pipe",
    "PipelineStage",
    "Schedule1F1B",
    "ScheduleDualPipeV",
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
