"""Training with uneven inputs, by the names: ranks have to take the same number of steps here."""

from mindtorch_v2._core.unavailable import unavailable_class

__all__ = ["Join", "JoinHook", "Joinable"]

Join = unavailable_class("torch.distributed.algorithms.Join", "give all ranks the same number of batches")
JoinHook = unavailable_class("torch.distributed.algorithms.JoinHook")
Joinable = unavailable_class("torch.distributed.algorithms.Joinable")
