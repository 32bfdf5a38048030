"""`torch.distributed.tensor.debug`: what a program communicates."""

from mindtorch_v2._core.unavailable import unavailable_function
from mindtorch_v2.distributed.tensor.debug._comm_mode import CommDebugMode

__all__ = ["CommDebugMode", "visualize_sharding"]

visualize_sharding = unavailable_function("torch.distributed.tensor.debug.visualize_sharding")
