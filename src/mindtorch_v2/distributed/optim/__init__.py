"""`torch.distributed.optim`: optimizers of several ranks."""

from mindtorch_v2.distributed.optim.post_localSGD_optimizer import PostLocalSGDOptimizer
from mindtorch_v2.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]
