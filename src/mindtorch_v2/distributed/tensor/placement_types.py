"""How a distributed tensor would lie on a mesh, by the classes' names."""

from mindtorch_v2._core.unavailable import unavailable_class

__all__ = ["Partial", "Placement", "Replicate", "Shard"]

Placement = unavailable_class("torch.distributed.tensor.Placement")
Partial = unavailable_class("torch.distributed.tensor.Partial", bases=(Placement,))
Replicate = unavailable_class("torch.distributed.tensor.Replicate", bases=(Placement,))
Shard = unavailable_class("torch.distributed.tensor.Shard", bases=(Placement,))
