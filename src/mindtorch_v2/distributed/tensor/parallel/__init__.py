"""`torch.distributed.tensor.parallel`: modules that several ranks hold and compute together."""

from mindtorch_v2.distributed.tensor.parallel.api import parallelize_module
from mindtorch_v2.distributed.tensor.parallel.loss import loss_parallel
from mindtorch_v2.distributed.tensor.parallel.style import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    PrepareModuleInputOutput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
)

__all__ = [
    "ColwiseParallel",
    "ParallelStyle",
    "PrepareModuleInput",
    "PrepareModuleInputOutput",
    "PrepareModuleOutput",
    "RowwiseParallel",
    "SequenceParallel",
    "loss_parallel",
    "parallelize_module",
]
