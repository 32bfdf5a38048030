"""`torch.distributed.algorithms`: what stands on the collectives."""

from mindtorch_v2.distributed.algorithms import ddp_comm_hooks
from mindtorch_v2.distributed.algorithms.join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable", "ddp_comm_hooks"]
