"""`torch.distributed.algorithms.join`: training with uneven inputs."""

from mindtorch_v2.nn.parallel._join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]
