"""`torch.distributed.optim`: optimizers of several ranks."""

from mindtorch_v2.distributed.optim.apply_optimizer_in_backward import (
    _apply_optimizer_in_backward,
    _get_in_backward_optimizers,
)
from mindtorch_v2.distributed.optim.post_localSGD_optimizer import PostLocalSGDOptimizer
from mindtorch_v2.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = [
    "PostLocalSGDOptimizer",
    "ZeroRedundancyOptimizer",
    "_apply_optimizer_in_backward",
    "_get_in_backward_optimizers",
]
